"""Counts of guessed truths against labels, from out-of-fold probabilities of the labels."""

from __future__ import annotations

import numpy as np

from unconfused._matrix import loses_a_class
from unconfused._typing import FloatArray, IntArray
from unconfused.confusion.estimation.pooled import drawn_together

UNMIXING_STEPS = 30
"""Enough for probabilities through a well-conditioned matrix; more would chase their errors."""


def guess_counts(probability: FloatArray, observed: IntArray, n_rounds: int) -> FloatArray:
    """Count guessed truth against labels: a first estimate, then rounds of unmixing and counting.

    A round that loses nearly all rows of a class is not taken.
    """
    shown = np.bincount(observed, minlength=probability.shape[1]) > 0
    counts = _count_confident(probability, observed, _usual_confidence(probability, observed))
    first = counts.sum(axis=1)
    if not np.all(first[shown] > 0):
        return counts
    for _ in range(n_rounds):
        truth = unmix_probabilities(probability, drawn_together(counts))
        again = _count_confident(truth, observed, _usual_confidence(truth, truth.argmax(axis=1)))
        # Under heavy noise a rare class is soon lost among the others.
        if loses_a_class(first, again.sum(axis=1)):
            break
        counts = again
    return counts


def _usual_confidence(probability: FloatArray, codes: IntArray) -> FloatArray:
    """Mean probability of a class among the rows with its code; infinite without such rows."""
    n_classes = probability.shape[1]
    own = probability[np.arange(len(codes)), codes]
    sums, sizes = np.bincount(codes, own, n_classes), np.bincount(codes, minlength=n_classes)
    # A threshold of 0 would be reached by every row.
    return np.where(sums > 0, sums / np.maximum(sizes, 1), np.inf)


def _count_confident(
    probability: FloatArray, observed: IntArray, threshold: FloatArray
) -> FloatArray:
    """Count (class reached, label) over rows that reach a class, scaled to the labels' counts."""
    n_classes = probability.shape[1]
    # Averages of equal numbers can exceed them by rounding.
    reached = np.where(probability >= threshold * (1 - 1e-12), probability, -1.0)
    truth, confident = reached.argmax(axis=1), reached.max(axis=1) >= 0
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (truth[confident], observed[confident]), 1.0)
    totals = np.bincount(observed, minlength=n_classes)
    # A label without a confident row is taken as right.
    unseen = counts.sum(axis=0) == 0
    counts[unseen, unseen] = 1.0
    return np.asarray(counts / counts.sum(axis=0) * totals)


def unmix_probabilities(probability: FloatArray, matrix: FloatArray) -> FloatArray:
    """Turn probabilities of the noisy labels into those of the true classes.

    For every row, finds the class probabilities whose product with C is closest to those of the
    labels in Kullback-Leibler divergence; unlike a product with the inverse, they stay in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> unmix_probabilities(np.array([[0.7, 0.3]]), np.array([[0.7, 0.3], [0.0, 1.0]])).round(1)
    array([[1., 0.]])
    """
    n_classes = len(matrix)
    truth = np.full((len(probability), n_classes), 1.0 / n_classes)
    for _ in range(UNMIXING_STEPS):
        ratio = probability / np.maximum(truth @ matrix, 1e-12)
        truth *= ratio @ matrix.T
        truth /= np.maximum(truth.sum(axis=1, keepdims=True), 1e-300)
    return truth
