"""A confusion matrix from noisy labels alone, where held-out labels support it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import softmax

from unconfused._matrix import GuessedConfusionWarning, LabelNoiseWarning
from unconfused._text import percent
from unconfused._typing import FloatArray, IntArray, Labels
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.confusion.estimation.calibration import best_power, sharpen
from unconfused.confusion.estimation.label_quality import NoiseEvidence
from unconfused.confusion.estimation.neighbours import from_neighbours
from unconfused.confusion.estimation.pooled import pooled_errors
from unconfused.confusion.noisy import estimate_from
from unconfused.estimators._arrays import to_numpy

if TYPE_CHECKING:
    from unconfused.estimators.automatic.held_out import HeldOutRows
    from unconfused.estimators.automatic.search import Search

CLEAR_ENOUGH_TO_WARN = 3.0
"""Standard errors of the evidence of noise above which a user who did not ask for a guess is
warned. On clean Digits, Reuters and Music they are at most 0.5."""

KNOW_MORE = (
    "To do better, check a few rows of every class and pass their true labels as `y_true`, or pass "
    "a known matrix as `confusion`."
)


def label_probabilities(search: Search) -> FloatArray:
    """Return calibrated out-of-fold probabilities of the labels, from a search that believed them.

    They are of the rows that the search judged by.
    """
    assert search.chosen is not None
    probability = softmax(search.scores[search.chosen], axis=1)
    return sharpen(probability, best_power(probability, search.rows.evidence, search.rows.weight))


def guess_confusion(
    rows: HeldOutRows, probability: FloatArray, observed: IntArray, classes: Labels
) -> ConfusionEstimate:
    """Estimate C as `confusion.from_noisy` does, from probabilities that are already there.

    Parameters
    ----------
    rows : rows with labels
    probability, observed : out-of-fold probabilities of labels, and the labels as codes
    classes : (Q,)
    """
    near = from_neighbours(to_numpy(rows.X), observed, len(classes))
    try:
        found = estimate_from(probability, observed, classes, near)
    except ValueError:  # a class without a single confident row
        found = estimate_from(probability, observed, classes, near, smoothing=1.0)
    return _with_own_labels(found, np.bincount(observed, minlength=len(classes)))


def _with_own_labels(guess: ConfusionEstimate, label_counts: IntArray) -> ConfusionEstimate:
    """Replace the rows of C in which another class's label is the most frequent.

    An estimate from labels alone assumes that most labels of a class are its own; otherwise nothing
    tells classes apart. Rows that contradict this come from rare or overlapping classes. They get
    the mean error rate of the other classes, spread evenly over the wrong labels.
    """
    swapped = (guess.matrix.argmax(axis=1) != np.arange(len(guess.matrix)))[:, np.newaxis]
    if not swapped.any():
        return guess
    even = pooled_errors(np.where(swapped, 0.0, guess.counts))
    matrix = np.where(swapped, even, guess.matrix)
    counts = np.where(swapped, label_counts[:, np.newaxis] * even, guess.counts)
    return ConfusionEstimate(matrix, counts, guess.classes, caveat=guess.caveat)


def warn_of_guess(guess: ConfusionEstimate) -> None:
    """Say that the matrix in use is a guess."""
    warnings.warn(
        "The confusion matrix was estimated from features and labels alone: about "
        f"{percent(guess.noise_rate)} of the labels seem wrong. Probabilities are only as good as "
        f"this guess. {KNOW_MORE}",
        GuessedConfusionWarning,
        stacklevel=7,
    )


def warn_of_noise(found: NoiseEvidence) -> None:
    """Say that labels taken as right look noisy."""
    warnings.warn(
        f"About {percent(found.rate)} of the labels seem wrong, but were taken as right: a model "
        "with an estimated confusion matrix predicts held-out labels better. Pass "
        f"confusion='auto' to use one. {KNOW_MORE}",
        LabelNoiseWarning,
        stacklevel=7,
    )
