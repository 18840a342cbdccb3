"""From a model's probabilities to those of the true classes, calibrated on the labels through C.

A model of the noisy labels mixes two things: what the rows are, and how labels go wrong. Unmixing
through C separates them where the model is accurate, but errors of the model are magnified, and
the order of rows is lost where the result saturates at 0 or 1. The model's own probabilities keep
that order. The two are therefore blended, as logarithms with a weight each, and every class may be
shifted: three kinds of numbers, which make the labels, seen through C, as likely as possible.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from unconfused._labels import count_pairs
from unconfused._matrix import label_chances, loses_a_class
from unconfused._typing import FloatArray, IntArray
from unconfused.confusion.estimation.calibration import (
    LARGEST_POWER,
    LARGEST_SHIFT,
    PRECISION_OF_SHARES,
    evidence_loss,
    posterior_given,
)
from unconfused.confusion.estimation.pooled import shrink_to_symmetric

SMALLEST = 1e-12
"""Smallest unmixed probability; below, the order of rows is left to the model's own."""

SMALLEST_FLOOR = 1e-30

SMALLEST_WEIGHT = 0.02
"""Weights of the blend are at least this, so that their logarithms are bounded."""

MOST_ROUNDS, SETTLED = 10, 1e-3
"""Maximum number of re-estimations of C, and the change at which they stop."""

WIDE = 100
"""Classes from which unmixing, by far the longest step, works in single precision, in half the
time."""

UNMIXING_STEPS = 30
"""Enough for a well-conditioned matrix; more would amplify errors of the probabilities."""


def guess_counts(probability: FloatArray, observed: IntArray, n_rounds: int = 3) -> FloatArray:
    """Count guessed truth against labels: a first estimate, then rounds of unmixing and counting.

    Rounds stop before a class loses nearly all of its rows.
    """
    shown = np.bincount(observed, minlength=probability.shape[1]) > 0
    counts = _count_confident(probability, observed, _usual_confidence(probability, observed))
    first = counts.sum(axis=1)
    if not np.all(first[shown] > 0):
        return counts
    for _ in range(n_rounds):
        truth = unmix_probabilities(probability, shrink_to_symmetric(counts))
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
    counts = count_pairs(truth[confident], observed[confident], n_classes)
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
    precision: Any = np.float32 if n_classes >= WIDE else np.float64
    # Transposed: sums over the classes are several times faster along contiguous rows.
    labels, matrix = np.array(probability.T, precision, order="C"), np.asarray(matrix, precision)
    truth = np.full((n_classes, len(probability)), 1.0 / n_classes, dtype=precision)
    for _ in range(UNMIXING_STEPS):
        truth *= matrix @ (labels / np.maximum(matrix.T @ truth, 1e-12))
        truth /= np.maximum(truth.sum(axis=0), SMALLEST_FLOOR)
    return np.array(truth.T, dtype=np.float64, order="C")


@dataclass(frozen=True)
class ClassProbabilities:
    """Turns a model's probabilities into those of the true classes.

    Attributes
    ----------
    matrix : (Q, S), C
    of_labels : whether the model predicts the noisy labels, not the true classes
    floor : replaces probabilities of 0, which neighbours and forests predict because they count
        few rows: half of the smallest positive one
    weights : of the logarithms that `_logarithms` returns
    shift : (Q,), added to the logarithms
    seen : probabilities, and the logarithms found for them, which take longest: those of the
        calibration are asked for again
    """

    matrix: FloatArray
    of_labels: bool
    floor: float
    weights: FloatArray
    shift: FloatArray
    seen: tuple[FloatArray, list[FloatArray]] | None = None

    @staticmethod
    def of(
        probability: FloatArray, matrix: FloatArray, *, of_labels: bool = True
    ) -> ClassProbabilities:
        """Return probabilities as they are, after unmixing if they are of labels."""
        positive = probability[probability > 0]
        floor = max(SMALLEST_FLOOR, float(positive.min()) / 2 if len(positive) else 0.0)
        terms = np.eye(1 + (of_labels and matrix.shape[0] == matrix.shape[1]))
        return ClassProbabilities(matrix, of_labels, floor, terms[0], np.zeros(len(matrix)))

    def apply(self, probability: FloatArray) -> FloatArray:
        """Return P(true class | row), (n, Q)."""
        return np.asarray(softmax(self._blend(self._logarithms(probability)), axis=1))

    def posterior(self, probability: FloatArray, observed: IntArray) -> FloatArray:
        """Return P(true class | row, label), (n, Q); of the row alone where the code is -1."""
        return posterior_given(self.apply(probability), evidence_of(self.matrix, observed))

    def calibrated(
        self, probability: FloatArray, observed: IntArray, shifts: bool = True
    ) -> ClassProbabilities:
        """Return it with the weights, and perhaps shifts, that make the labels likeliest."""
        # As in `calibrate`: sums over the classes are faster where they are contiguous columns.
        found = self._logarithms(probability)
        logs = [np.asfortranarray(term) for term in found]
        evidence = np.asfortranarray(evidence_of(self.matrix, observed))
        n_terms, total = len(logs), len(observed)

        def loss(at: FloatArray) -> tuple[float, FloatArray]:
            weights, shift = np.exp(at[:n_terms]), at[n_terms:]
            blended = replace(self, weights=weights, shift=shift)._blend(logs)
            value, slope = evidence_loss(blended, evidence, np.ones(total))
            value += PRECISION_OF_SHARES * float(shift @ shift) / 2
            by_weight = [
                weight * float(np.vdot(slope, term))
                for weight, term in zip(weights, logs, strict=True)
            ]
            by_shift = slope.sum(axis=0) + PRECISION_OF_SHARES * shift
            return value / total, np.concatenate([by_weight, by_shift]) / total

        limits = [(np.log(SMALLEST_WEIGHT), np.log(LARGEST_POWER))] * n_terms
        largest = LARGEST_SHIFT if shifts else 0.0
        limits += [(-largest, largest)] * len(self.matrix)
        begin = np.concatenate([np.full(n_terms, -np.log(n_terms)), np.zeros(len(self.matrix))])
        best = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=limits).x
        weights, shift = np.exp(best[:n_terms]), best[n_terms:]
        return replace(self, weights=weights, shift=shift, seen=(probability, found))

    def _logarithms(self, probability: FloatArray) -> list[FloatArray]:
        """Return the logarithms to blend, each (n, Q)."""
        if self.seen is not None and self.seen[0] is probability:
            return self.seen[1]
        lifted = np.maximum(probability, self.floor)
        lifted /= lifted.sum(axis=1, keepdims=True)
        if not self.of_labels:
            return [np.log(lifted)]
        unmixed = np.log(np.maximum(unmix_probabilities(lifted, self.matrix), SMALLEST))
        # With other labels than classes there is nothing of the model's own to blend with.
        return [unmixed, np.log(lifted)] if unmixed.shape == lifted.shape else [unmixed]

    def _blend(self, logs: list[FloatArray]) -> FloatArray:
        mixed = sum(weight * term for weight, term in zip(self.weights, logs, strict=True))
        return np.asarray(mixed + self.shift)


def evidence_of(matrix: FloatArray, observed: IntArray) -> FloatArray:
    """Return the chance of every label given each true class, (n, Q); 1 where there is none."""
    chances = np.vstack([label_chances(matrix), np.ones(len(matrix))])
    return np.asarray(chances[observed])


def estimate_counts(
    probability: FloatArray, observed: IntArray, *, of_labels: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Estimate C and the (class, label) counts behind it.

    Probabilities of the true classes are calibrated through C, rows counted by their posterior, C
    estimated from these counts, and so on. Calibrated, a model that confuses two classes no longer
    passes for labels that do. The last round that loses no class is taken; on the way a class may
    be lost and found again.

    Returns
    -------
    matrix, counts : (Q, Q) each
    """
    n_classes = probability.shape[1]
    if of_labels:
        counts = guess_counts(probability, observed)
    else:
        counts = np.zeros((n_classes, n_classes))
        np.add.at(counts.T, observed, probability)
    first, best = counts.sum(axis=1), counts
    matrix = even_out(counts)
    for _ in range(MOST_ROUNDS):
        plain = ClassProbabilities.of(probability, matrix, of_labels=of_labels)
        model = plain.calibrated(probability, observed)
        counts = np.zeros(matrix.shape)
        np.add.at(counts.T, observed, model.posterior(probability, observed))
        if not loses_a_class(first, counts.sum(axis=1)):
            best = counts
        before, matrix = matrix, even_out(counts)
        if np.abs(matrix - before).max() <= SETTLED:
            break
    return even_out(best), best


def even_out(counts: FloatArray) -> FloatArray:
    """Turn counts into a matrix, drawn towards even mistakes as far as the counts allow."""
    # One even answer per class: a pair never counted is unlikely, not impossible.
    return shrink_to_symmetric(counts, 1.0 / len(counts))
