"""Accuracy against the truth, estimated from noisy labels and their confusion matrix."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from unconfused._confusion_names import confusion_classes
from unconfused._labels import MISSING, EncodedLabels, encode_labels, label_array
from unconfused._matrix import (
    Unmixing,
    align_confusion,
    aligned_counts,
    make_unmixing,
)
from unconfused._typing import ArrayLike, BoolArray, FloatArray
from unconfused.metrics._confusion_rate import _check_weight


@overload
def corrected_accuracy(
    y: ArrayLike,
    y_pred: ArrayLike,
    confusion: Any,
    *,
    classes: ArrayLike | None = ...,
    sample_weight: ArrayLike | None = ...,
    return_error: Literal[False] = ...,
    missing_label: Any = ...,
) -> float: ...


@overload
def corrected_accuracy(
    y: ArrayLike,
    y_pred: ArrayLike,
    confusion: Any,
    *,
    classes: ArrayLike | None = ...,
    sample_weight: ArrayLike | None = ...,
    return_error: Literal[True],
    missing_label: Any = ...,
) -> tuple[float, float]: ...


def corrected_accuracy(
    y: ArrayLike,
    y_pred: ArrayLike,
    confusion: Any,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    return_error: bool = False,
    missing_label: Any = "auto",
) -> float | tuple[float, float]:
    """Accuracy against the truth, estimated without bias from noisy labels.

    A row labelled k and predicted p counts as entry (k, p) of the inverse of the confusion matrix,
    whose expectation is 1 if the prediction is right and 0 otherwise. The estimate can be above 1
    or below 0; clipping it would introduce a bias.

    The standard error grows with the entries of the inverse. With two classes flipped at rate r it
    is that of the agreement with the labels, divided by ``1 - 2 r``: at r = 0.4, five times as
    large. The difference of two similar models on the same rows has a smaller error than each of
    them.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Observed labels of rows the model was not trained on. Rows without one are left out.
    y_pred : array-like of shape (n_samples,)
        Predicted labels.
    confusion : array-like of shape (Q, Q), DataFrame or ConfusionEstimate
        ``confusion[t, k]``: the probability that a row of true class t has label k. A singular
        matrix is an error, an ill-conditioned one a warning.
    classes : array-like, optional
        All classes, and the order of a plain `confusion`. By default those it is labelled with,
        or those that occur in `y` and `y_pred`, sorted.
    sample_weight : array-like of shape (n_samples,), optional
        Weights as frequencies: a row of weight 2 is two rows.
    return_error : bool, default=False
        Whether to return the standard error too.
    missing_label : "auto" or a value
        Value that marks missing labels in `y`, besides None and NaN. "auto": -1, where that is
        unambiguous.

    Returns
    -------
    accuracy : float
    error : float
        Only with `return_error`: the standard error. If `confusion` is an estimate with counts, it
        includes their sampling error, assuming that they come from other rows. NaN with one row.

    Examples
    --------
    Every second row of class 0 is labelled 1, and the model sees through it:

    >>> from unconfused.metrics import corrected_accuracy
    >>> y, y_pred = [0, 1, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1]
    >>> corrected_accuracy(y, y_pred, [[0.5, 0.5], [0.0, 1.0]])
    1.0
    """
    labels, seen = _encode(y, y_pred, confusion, classes, missing_label)
    weight = _check_weight(sample_weight, len(seen))
    weight = np.ones(len(labels.observed)) if weight is None else weight[seen]
    if not weight.sum() > 0:
        raise ValueError("There are no labelled rows (of positive weight) to score against.")
    matrix = align_confusion(confusion, labels.classes, classes)
    counts = aligned_counts(confusion, labels.classes)
    unmixing = make_unmixing(matrix, labels.classes, counts=counts)
    hits = unmixing.coefficients[labels.observed, labels.truth]
    accuracy = float(np.average(hits, weights=weight))
    if not return_error:
        return accuracy
    variance = _variance_of_mean(hits, weight) + _variance_from_counts(unmixing, labels, weight)
    return accuracy, float(np.sqrt(variance))


def _encode(
    y: ArrayLike,
    y_pred: ArrayLike,
    confusion: Any,
    classes: ArrayLike | None,
    missing_label: Any,
) -> tuple[EncodedLabels, BoolArray]:
    """Encode the rows with a label, the predictions in the place of the truth; say which these are.

    Predictions are complete, so a -1 among them is a class, and then it is one in `y` too.
    """
    predicted = encode_labels(y_pred, missing_label=None)
    if np.any(predicted.observed == MISSING):
        raise ValueError("y_pred must not hold missing labels (None or NaN).")
    named = confusion_classes(confusion) if classes is None else classes
    automatic = isinstance(missing_label, str) and missing_label == "auto"
    if named is None and automatic and -1 in predicted.classes.tolist():
        missing_label = None
    observed = encode_labels(y, classes=named, missing_label=missing_label)
    if len(observed.observed) != len(predicted.observed):
        raise ValueError(
            f"y has {len(observed.observed)} labels but y_pred has {len(predicted.observed)}."
        )
    seen = observed.observed != MISSING
    if not seen.any():
        raise ValueError("y holds no label to score against.")
    labels = encode_labels(
        observed.classes[observed.observed[seen]],
        label_array(y_pred)[seen],
        classes=named,
        missing_label=None,
    )
    return labels, seen


def _variance_of_mean(values: FloatArray, weight: FloatArray) -> float:
    total = weight.sum()
    if total <= 1:
        return np.nan
    spread = np.average((values - np.average(values, weights=weight)) ** 2, weights=weight)
    return float(spread / (total - 1))


def _variance_from_counts(unmixing: Unmixing, labels: EncodedLabels, weight: FloatArray) -> float:
    """Carry the sampling error of a counted C over to the accuracy, to first order."""
    if unmixing.counts is None:
        return 0.0
    size, inverse = unmixing.n_classes, unmixing.coefficients
    cells = np.bincount(labels.observed * size + labels.truth, weight, size * size)
    shares = cells.reshape(size, size) / weight.sum()
    slope = (inverse @ shares.T @ inverse).T  # the derivative of the mean in C, but for its sign
    # One more of each: a label never counted is rare, not impossible.
    counts = unmixing.counts + 1.0
    totals = counts.sum(axis=1, keepdims=True)
    chances = counts / totals
    per_label = (chances * slope**2).sum(axis=1) - (chances * slope).sum(axis=1) ** 2
    return float((per_label / totals[:, 0]).sum())
