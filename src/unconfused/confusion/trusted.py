"""The confusion matrix from rows whose truth is known."""

from __future__ import annotations

from typing import Any

from unconfused._labels import check_weight, encode_labels
from unconfused._typing import ArrayLike
from unconfused.confusion.estimate import (
    ConfusionEstimate,
    count_pairs,
    refuse_negative,
    refuse_uncounted,
)


def from_trusted(
    y_true: ArrayLike,
    y: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    smoothing: float = 0.0,
    sample_weight: ArrayLike | None = None,
    missing_label: Any = "auto",
) -> ConfusionEstimate:
    """Estimate the confusion matrix from the rows whose true class is known.

    Parameters
    ----------
    y_true : the truth where known, missing (None, NaN) elsewhere
    y : the observed labels
    classes : all classes, if the labels may not show every one
    smoothing : added to every count. With 0, a class without a trusted row is an error
    sample_weight : frequency weight of every row
    missing_label : a value that means "missing" besides None and NaN

    Returns
    -------
    ConfusionEstimate

    Examples
    --------
    >>> from_trusted(["a", "a", "b", "b", None], ["a", "b", "b", "b", "a"]).matrix
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    refuse_negative(smoothing)
    labels = encode_labels(y, y_true, classes=classes, missing_label=missing_label)
    weight = check_weight(sample_weight, len(labels.truth))
    counts = count_pairs(labels.truth, labels.observed, len(labels.classes), weight)
    if smoothing == 0:
        refuse_uncounted(counts, labels.classes, "no trusted row of that class has a label.")
    return ConfusionEstimate.from_counts(counts, labels.classes, smoothing)
