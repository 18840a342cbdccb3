"""Accuracy against the truth, estimated from noisy labels beside predictions and C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unconfused._arguments import check_weight
from unconfused._labels import MISSING, EncodedLabels, count_pairs, encode_labels, label_array
from unconfused._matrix import Unmixing, make_unmixing
from unconfused._matrix_labels import align_confusion, aligned_counts, confusion_classes
from unconfused._typing import ArrayLike, FloatArray, IntArray, Labels


@dataclass(frozen=True)
class LabelsAndPredictions:
    """Codes of labels, known truths and predictions, with weights."""

    labels: EncodedLabels
    predicted: IntArray
    weight: FloatArray
    unmixing: Unmixing | None


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
) -> LabelsAndPredictions:
    """Check and encode what a score is computed from.

    Predictions are complete, so a -1 among them is a class, and then it is one in `y` too.
    """
    named = classes
    if named is None and confusion is not None:
        named = confusion_classes(confusion)
    predicted = encode_predictions(predictions, None, name)
    if named is None:
        if isinstance(missing_label, str) and -1 in predicted.classes.tolist():
            missing_label = None
        shown = encode_labels(y, y_true, missing_label=missing_label).classes
        every = label_array([*shown.tolist(), *predicted.classes.tolist()])
        named = encode_labels(every, missing_label=None).classes
    labels = encode_labels(y, y_true, classes=named, missing_label=missing_label)
    predicted = encode_predictions(predictions, labels.classes, name)
    n_rows = len(labels.observed)
    refuse_other_length(predicted.observed, n_rows, name)
    unmixing = None
    if confusion is not None:
        matrix = align_confusion(confusion, labels.classes, classes)
        counts = aligned_counts(confusion, labels.classes)
        unmixing = make_unmixing(matrix, labels.classes, counts=counts)
    weight = check_weight(sample_weight, n_rows)
    return LabelsAndPredictions(labels, predicted.observed, weight, unmixing)


def encode_predictions(
    predictions: ArrayLike, classes: Labels | None, name: str = "predictions"
) -> EncodedLabels:
    """Encode predictions, none of which may be missing."""
    encoded = encode_labels(predictions, classes=classes, missing_label=None)
    if np.any(encoded.observed == MISSING):
        raise ValueError(f"{name} must not hold missing labels (None or NaN).")
    return encoded


def refuse_other_length(predicted: Any, n_rows: int, name: str) -> None:
    """Raise if there are not as many predictions as labels."""
    if len(predicted) != n_rows:
        raise ValueError(f"y has {n_rows} labels but {name} has {len(predicted)}.")


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

    The standard error grows with the entries of the inverse. With two classes flipped at rate r it
    is that of the agreement with the labels, divided by ``1 - 2 r``: at r = 0.4, five times as
    large. The difference of two similar models on the same rows has a smaller error than each of
    them.

    Parameters
    ----------
    y : observed labels of rows the model was not trained on; rows without one are left out
    y_pred : predicted labels
    confusion : array-like of shape (Q, Q), DataFrame or ConfusionEstimate
        ``confusion[t, k]``: the probability that a row of true class t has label k. A singular
        matrix is an error, an ill-conditioned one a warning.
    classes : all classes, and the order of a plain `confusion`. By default those it is labelled
        with, or those that occur in `y` and `y_pred`, sorted
    sample_weight : frequency weight of every row
    return_error : whether to return the standard error too
    missing_label : value that marks missing labels in `y`, besides None and NaN. "auto": -1, where
        that is unambiguous

    Returns
    -------
    accuracy : float
    error : float
        Only with `return_error`: the standard error. If `confusion` is an estimate with counts, it
        includes their sampling error, assuming that they come from other rows. NaN with one row.

    Examples
    --------
    Every second row of class 0 is labelled 1, and the model predicts the truth:

    >>> from unconfused.metrics import corrected_accuracy
    >>> y, y_pred = [0, 1, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1]
    >>> corrected_accuracy(y, y_pred, [[0.5, 0.5], [0.0, 1.0]])
    1.0
    """
    read = read_predictions(
        y,
        y_pred,
        confusion,
        classes=classes,
        sample_weight=sample_weight,
        missing_label=missing_label,
        name="y_pred",
    )
    labelled, unmixing = read.labels.observed != MISSING, read.unmixing
    assert unmixing is not None
    observed, predicted = read.labels.observed[labelled], read.predicted[labelled]
    weight = read.weight[labelled]
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
