"""Accuracy against the truth, and the whole joint table, from noisy labels beside predictions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from unconfused._arguments import check_weight
from unconfused._labels import (
    MISSING,
    EncodedLabels,
    count_pairs,
    encode_complete,
    encode_labels,
    refuse_other_length,
)
from unconfused._matrix import Unmixing, make_unmixing
from unconfused._matrix_labels import align_confusion, aligned_counts, confusion_classes
from unconfused._typing import ArrayLike, FloatArray, IntArray

BATCH_CELLS = 2**21
"""Cells of the simulated tables that are held in memory at a time."""


def read_predictions(
    y: ArrayLike,
    predictions: ArrayLike,
    confusion: Any,
    *,
    y_true: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    missing_label: Any = "auto",
    name: str = "predictions",
) -> tuple[EncodedLabels, IntArray, FloatArray, Unmixing | None]:
    """Check and encode what a score is computed from: labels, predictions, weights and C.

    Predictions are complete, so a -1 among them is a class, and then it is one in `y` too.
    """
    named = classes
    if named is None and confusion is not None:
        named = confusion_classes(confusion)
    if named is None:
        predicted = encode_complete(predictions, None, name).classes.tolist()
        if isinstance(missing_label, str) and -1 in predicted:
            missing_label = None
        shown = encode_labels(y, y_true, missing_label=missing_label).classes.tolist()
        named = encode_labels([*shown, *predicted], missing_label=None).classes
    labels = encode_labels(y, y_true, classes=named, missing_label=missing_label)
    codes, n_rows = encode_complete(predictions, labels.classes, name).observed, len(labels.truth)
    refuse_other_length(n_rows, len(codes), "y", name)
    unmixing = None
    if confusion is not None:
        matrix = align_confusion(confusion, labels.classes, classes)
        counts = aligned_counts(confusion, labels.classes)
        unmixing = make_unmixing(matrix, labels.classes, counts=counts)
    return labels, codes, check_weight(sample_weight, n_rows), unmixing


def corrected_accuracy(
    y: ArrayLike,
    y_pred: ArrayLike,
    confusion: Any,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    return_error: bool = False,
    missing_label: Any = "auto",
) -> Any:
    """Accuracy against the truth, estimated without bias from noisy labels.

    A row labelled k and predicted p counts as entry (k, p) of the inverse of the confusion matrix,
    whose expectation is 1 if the prediction is right and 0 otherwise. The estimate can be above 1
    or below 0; clipping it would introduce a bias.

    The standard error grows with the entries of the inverse. If the labels of two classes are
    flipped with probability r, it is that of the agreement with the labels divided by ``1 - 2 r``:
    at r = 0.4, five times as large. The difference of two similar models on the same rows has a
    smaller error than the accuracy of each.

    Parameters
    ----------
    y : observed labels of rows the model was not trained on; rows without one are left out
    y_pred : predicted labels
    confusion : ``confusion[t, k]`` is the probability that a row of true class t has label k. A
        singular matrix raises an error, an ill-conditioned one gives a warning
    classes : all classes, and the order of a plain `confusion`. By default the labels of
        `confusion` if it has any, or those that occur in `y` and `y_pred`, sorted
    sample_weight : frequency weight of every row
    return_error : whether to return the standard error too
    missing_label : value that marks missing labels in `y`, besides None and NaN. "auto": -1, where
        that is unambiguous

    Returns
    -------
    The accuracy and, with `return_error`, its standard error. If `confusion` is an estimate with
    counts, that includes their sampling error, assuming that they come from other rows. It is NaN
    with one row

    Examples
    --------
    Every second row of class 0 is labelled 1, and the model predicts the truth:

    >>> from unconfused.metrics import corrected_accuracy
    >>> y, y_pred = [0, 1, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1]
    >>> corrected_accuracy(y, y_pred, [[0.5, 0.5], [0.0, 1.0]])
    1.0
    """
    labels, predicted, weight, unmixing = read_predictions(
        y,
        y_pred,
        confusion,
        classes=classes,
        sample_weight=sample_weight,
        missing_label=missing_label,
        name="y_pred",
    )
    assert unmixing is not None
    labelled = labels.observed != MISSING
    observed, predicted, weight = labels.observed[labelled], predicted[labelled], weight[labelled]
    if not weight.sum() > 0:
        raise ValueError("There are no labelled rows (of positive weight) to score against.")
    hits = unmixing.coefficients[observed, predicted]
    accuracy = float(np.average(hits, weights=weight))
    if not return_error:
        return accuracy
    variance = _variance_of_mean(hits, weight)
    variance += _variance_from_counts(unmixing, observed, predicted, weight)
    return accuracy, float(np.sqrt(variance))


def _variance_of_mean(values: FloatArray, weight: FloatArray) -> float:
    total = weight.sum()
    if total <= 1:
        return np.nan
    spread = np.average((values - np.average(values, weights=weight)) ** 2, weights=weight)
    return float(spread / (total - 1))


def _variance_from_counts(
    unmixing: Unmixing, observed: IntArray, predicted: IntArray, weight: FloatArray
) -> float:
    """Propagate the sampling error of a counted C to the accuracy, to first order."""
    if unmixing.counts is None:
        return 0.0
    inverse = unmixing.coefficients
    shares = count_pairs(observed, predicted, unmixing.n_classes, weight) / weight.sum()
    slope = (inverse @ shares.T @ inverse).T  # the derivative of the mean in C, but for its sign
    # One more of each: a label never counted is rare, not impossible.
    counts = unmixing.counts + 1.0
    totals = counts.sum(axis=1, keepdims=True)
    chances = counts / totals
    per_label = (chances * slope**2).sum(axis=1) - (chances * slope).sum(axis=1) ** 2
    return float((per_label / totals[:, 0]).sum())


@dataclass(frozen=True)
class JointTable:
    """Shares of (true class, column), with a column per prediction or pair of predictions.

    Labels and predictions are taken as independent given the true class. The table of the trusted
    rows and that of the others are averaged, weighted for the least total variance.
    """

    noisy: FloatArray
    """Counts of (label, column) of the rows with a noisy label only, (Q, M)."""
    trusted: FloatArray
    """Counts of (true class, column) of the trusted rows, (Q, M)."""
    unmixing: Unmixing | None

    @property
    def estimate(self) -> FloatArray:
        """The estimated shares; entries can be slightly negative."""
        if self.unmixing is None or not self.noisy.any():
            return _shares(self.trusted)
        unmixed = self.unmixing.coefficients.T @ _shares(self.noisy)
        if not self.trusted.any():
            return unmixed
        weight = self._trusted_weight()
        return np.asarray(weight * _shares(self.trusted) + (1 - weight) * unmixed)

    def draws(self, n_draws: int, seed: int) -> Iterator[FloatArray]:
        """Yield batches of simulated tables, (B, Q, M).

        Counts and rows of a counted C are drawn from their Dirichlet posteriors. The prior is worth
        one row in all: a combination that was not seen is rare, not impossible.
        """
        rng = np.random.default_rng(seed)
        both = bool(self.noisy.any() and self.trusted.any())
        weight = self._trusted_weight() if both else 0.0
        size = max(1, BATCH_CELLS // self.noisy.size)
        for start in range(0, n_draws, size):
            n = min(size, n_draws - start)
            trusted = _draw_tables(rng, self.trusted, n)
            if self.unmixing is None or not self.noisy.any():
                yield trusted
                continue
            inverse = _draw_inverses(rng, self.unmixing, n)
            unmixed = np.swapaxes(inverse, -1, -2) @ _draw_tables(rng, self.noisy, n)
            yield weight * trusted + (1 - weight) * unmixed

    def _trusted_weight(self) -> float:
        """Return the weight of the trusted rows that gives the table the least total variance.

        One weight for all cells. A weight per cell would lower the variance a little further, but
        cells that are low by chance would seem to have less variance, and get more weight.
        """
        assert self.unmixing is not None
        inverse, matrix = self.unmixing.coefficients, self.unmixing.matrix
        n_noisy, n_trusted = self.noisy.sum(), self.trusted.sum()
        pooled = np.maximum(inverse.T @ self.noisy, 0.0) + self.trusted
        columns = pooled.T / pooled.sum()
        squares = (columns**2).sum()
        reach = (inverse**2).sum(axis=1)  # total variance that one label of each kind adds
        of_noisy = ((columns @ matrix @ reach).sum() - squares) / n_noisy
        if self.unmixing.counts is not None:
            # The rows of C are multinomial: sum_k C[t, k] |inverse[k] - (C inverse)[t]|^2.
            spread = (matrix @ reach - 1.0) / (self.unmixing.counts.sum(axis=1) + 2.0)
            of_noisy += (columns**2).sum(axis=0) @ spread
        of_trusted = (1.0 - squares) / n_trusted
        return float(of_noisy / (of_noisy + of_trusted))


def _shares(counts: FloatArray) -> FloatArray:
    return np.asarray(counts / counts.sum())


def _draw_tables(rng: np.random.Generator, counts: FloatArray, n: int) -> FloatArray:
    drawn = rng.standard_gamma(counts + 1.0 / counts.size, size=(n, *counts.shape))
    return np.asarray(drawn / drawn.sum(axis=(-2, -1), keepdims=True))


def _draw_inverses(rng: np.random.Generator, unmixing: Unmixing, n: int) -> FloatArray:
    """Return the inverses of n draws of C, or the one inverse if C is known."""
    inverse, matrix = unmixing.coefficients, unmixing.matrix
    if unmixing.counts is None:
        return inverse[np.newaxis]
    totals = unmixing.counts.sum(axis=1, keepdims=True)
    alpha = matrix * totals + 1.0 / unmixing.n_labels
    drawn = rng.standard_gamma(alpha, size=(n, *alpha.shape))
    # A pseudo-inverse: a drawn C may be singular, by rounding, where a class was hardly counted.
    inverses = np.linalg.pinv(drawn / drawn.sum(axis=-1, keepdims=True))
    # Inverses of draws lie around another matrix than the inverse of C: to second order, the prior
    # moves the mean of the draws, and the inverse is convex. Without this, many classes counted on
    # few rows each would get intervals that lie too high.
    shrunk = 1.0 / unmixing.n_labels - matrix
    convex = matrix * (inverse.T - 1.0)
    return np.asarray(inverses - inverse @ ((convex - shrunk) / (totals + 1.0)) @ inverse)
