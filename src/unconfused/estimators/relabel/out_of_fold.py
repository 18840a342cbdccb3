"""Out-of-fold posteriors of the rows, and how well they explain the evidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from unconfused._typing import FloatArray
from unconfused.confusion.estimation.calibration import Calibration
from unconfused.estimators.relabel.evidence import Evidence
from unconfused.estimators.relabel.weighted_mean import mean_and_error


@dataclass(frozen=True)
class OutOfFold:
    """Out-of-fold predictions, calibrated and combined with the evidence of each row."""

    evidence: Evidence
    """Evidence on the rows, through the matrix at that time."""

    calibration: Calibration
    """Calibration of the predictions on the evidence."""

    log_likelihood: FloatArray
    """Log-likelihood of the evidence under the calibrated predictions, (n,); 0 if mistakes depend
    on the rows, as labels cannot tell then which model is better."""

    posterior: FloatArray
    """P(true class | row, evidence), (n, Q)."""

    logs: FloatArray
    """Log-probabilities before calibration, (n, Q)."""

    @property
    def weight(self) -> FloatArray:
        """Weight of the evidence of every row, (n,)."""
        return self.evidence.trust * self.evidence.sample_weight

    @property
    def mean_log_likelihood(self) -> float:
        """Mean log-likelihood of the evidence."""
        return mean_and_error(self.log_likelihood, self.weight)[0]

    def is_less_likely_than(self, other: OutOfFold) -> bool:
        """Whether the evidence is less likely than under `other`."""
        return self.mean_log_likelihood < other.mean_log_likelihood


def power_matching(logs: FloatArray, target: FloatArray, weight: FloatArray) -> float:
    """Return the exponent that makes probabilities as certain as those of a target.

    Used where the evidence cannot calibrate the probabilities: a held-out truth has influenced the
    classes of similar rows in earlier rounds, so it looks easier to predict than it is. The
    posterior of the first round is free of this leak.
    """

    def loss(log_power: float) -> float:
        own = log_softmax(np.exp(log_power) * logs, axis=1)
        return -float(weight @ np.einsum("iq,iq->i", target, own))

    return float(np.exp(minimize_scalar(loss, bounds=(-3.0, 3.0), method="bounded").x))
