"""A confusion matrix from noisy labels alone, where held-out labels support it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

from unconfused._matrix import GuessedConfusionWarning, LabelNoiseWarning
from unconfused._typing import FloatArray, IntArray
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.confusion.estimation.label_noise import NoiseEvidence, noise_evidence
from unconfused.confusion.estimation.sharpness import best_power, sharpen
from unconfused.confusion.noisy import from_noisy
from unconfused.estimators._array_input import rows_at, to_numpy
from unconfused.estimators._noisy import NoisyData
from unconfused.estimators.automatic.search import Search

ROWS_TO_GUESS_FROM = 10_000
"""More rows make a guess slower, but hardly better."""

CLEAR_ENOUGH_TO_USE, CLEAR_ENOUGH_TO_WARN = 2.0, 3.0
"""Standard errors of the evidence of noise above which a guess is used, or the user is warned. On
clean Digits, Reuters and Music it is at most 0.5; with 20 % of the labels wrong, 1.7 and more."""

KNOW_MORE = (
    "To do better, check a few rows of every class and pass their true labels as `y_true`, or pass "
    "a known matrix as `confusion`."
)


def evidence_of_noise(search: Search, observed: IntArray) -> NoiseEvidence:
    """Test the out-of-fold predictions of a search that believed the labels.

    Parameters
    ----------
    search : whose chosen candidate is tested
    observed : labels of all rows that can be held out, as codes
    """
    assert search.chosen is not None
    rows = search.rows
    labels = observed[rows.places]
    probability = softmax(search.scores[search.chosen], axis=1)
    probability = sharpen(probability, best_power(probability, rows.evidence, rows.weight))
    return noise_evidence(probability, labels, rows.fold % 2 == 0, rows.weight)


def guess_confusion(data: NoisyData, seed: int) -> ConfusionEstimate:
    """Estimate C from features and labels, on a sample if there are many rows."""
    weight = data.sample_weight
    rows = np.arange(data.X.shape[0]) if weight is None else np.flatnonzero(weight)
    if len(rows) > ROWS_TO_GUESS_FROM:
        rows = np.random.RandomState(seed).choice(rows, ROWS_TO_GUESS_FROM, replace=False)
        rows.sort()
    X, y = to_numpy(rows_at(data.X, rows)), data.labels.observed[rows]
    found = _from_noisy(X, y, len(data.labels.classes), seed)
    return ConfusionEstimate(found.matrix, found.counts, data.labels.classes, caveat=found.caveat)


def _from_noisy(X: Any, y: IntArray, n_classes: int, seed: int) -> ConfusionEstimate:
    given: dict[str, Any] = {
        "classes": np.arange(n_classes),
        "random_state": seed,
        "missing_label": None,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a guess need not be exact
        try:
            return from_noisy(X, y, **given)
        except ValueError:  # a class without a single confident row
            return from_noisy(X, y, smoothing=1.0, **given)


def wrong_share(matrix: FloatArray, counts: FloatArray) -> float:
    """Return the share of labels that are wrong, given how many rows each class has."""
    shares = counts.sum(axis=1)
    return float(shares @ (1.0 - np.diag(matrix)) / max(float(shares.sum()), 1e-12))


def warn_of_guess(guess: ConfusionEstimate) -> None:
    """Say that the matrix in use is a guess."""
    share = wrong_share(guess.matrix, guess.counts)
    warnings.warn(
        f"The confusion matrix was estimated from features and labels alone: about {share:.0%} of "
        f"the labels seem wrong. Probabilities are only as good as this guess. {KNOW_MORE}",
        GuessedConfusionWarning,
        stacklevel=7,
    )


def warn_of_noise(found: NoiseEvidence) -> None:
    """Say that labels taken as right look noisy."""
    warnings.warn(
        f"About {found.rate:.0%} of the labels seem wrong, but were taken as right: a model with "
        "an estimated confusion matrix predicts held-out labels better. Pass confusion='auto' to "
        f"use one. {KNOW_MORE}",
        LabelNoiseWarning,
        stacklevel=7,
    )
