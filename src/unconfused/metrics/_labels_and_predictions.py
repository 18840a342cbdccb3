"""Labels beside predictions, encoded alike, with the inverse of the confusion matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unconfused._labels import MISSING, EncodedLabels, check_weight, encode_labels, label_array
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
