"""Accuracy against the truth, estimated from noisy labels beside predictions and C."""

from __future__ import annotations

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
