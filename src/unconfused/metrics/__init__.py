"""Evaluate classifiers when the test labels are noisy, and measure confusion between classes."""

from unconfused.metrics._confusion_rate import confusion_rate, off_diagonal_norm
from unconfused.metrics._corrected import corrected_accuracy
from unconfused.metrics._evaluation import NoisyEvaluation, ScoreInterval
from unconfused.metrics._scorers import (
    corrected_accuracy_scorer,
    noisy_log_likelihood,
    noisy_log_likelihood_scorer,
    trusted_accuracy,
    trusted_accuracy_scorer,
    trusted_log_loss,
    trusted_log_loss_scorer,
)

__all__ = [
    "NoisyEvaluation",
    "ScoreInterval",
    "confusion_rate",
    "corrected_accuracy",
    "corrected_accuracy_scorer",
    "noisy_log_likelihood",
    "noisy_log_likelihood_scorer",
    "off_diagonal_norm",
    "trusted_accuracy",
    "trusted_accuracy_scorer",
    "trusted_log_loss",
    "trusted_log_loss_scorer",
]
