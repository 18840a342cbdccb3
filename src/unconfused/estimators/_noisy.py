"""From what a user passes to what a solver needs: rows, label codes, a confusion matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unconfused._labels import EncodedLabels, encode_labels
from unconfused._matrix import (
    Unmixing,
    align_confusion,
    confusion_classes,
    counted_rows,
    make_unmixing,
)
from unconfused._typing import ArrayLike, FloatArray, IntArray, Labels, Rows
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.confusion.trusted import count_pairs, refuse_empty_rows


@dataclass(frozen=True)
class NoisyData:
    """Checked rows with encoded labels."""

    X: Rows
    labels: EncodedLabels
    sample_weight: FloatArray | None

    @property
    def trusted(self) -> bool:
        """Whether the truth of any row is known."""
        return bool((self.labels.truth >= 0).any())

    @property
    def codes(self) -> IntArray:
        """Label codes: the observed class, or Q + the true class where it is known."""
        n_classes = len(self.labels.classes)
        known = self.labels.truth >= 0
        return np.where(known, n_classes + self.labels.truth, self.labels.observed)

    @property
    def n_codes(self) -> int:
        """Number of label codes in use."""
        return len(self.labels.classes) * (2 if self.trusted else 1)

    def pair_counts(self) -> FloatArray:
        """Count how the trusted rows were labelled."""
        labels = self.labels
        return count_pairs(labels.truth, labels.observed, len(labels.classes), self.sample_weight)

    def all_trusted(self) -> bool:
        """Whether every row's truth is known, so that no label goes through C."""
        return bool((self.labels.truth >= 0).all())


def encode_noisy(
    y: Labels,
    y_true: ArrayLike | None,
    confusion: Any,
    classes: ArrayLike | None,
    missing_label: Any,
) -> EncodedLabels:
    """Encode labels; the classes are those named, those of a labelled C, or those seen."""
    named = classes
    if classes is None and confusion is not None:
        named = confusion_classes(confusion)
    labels = encode_labels(y, y_true, classes=named, missing_label=missing_label)
    _refuse_rows_without_label(labels)
    if len(labels.classes) < 2:
        raise ValueError(
            "A classifier needs at least two classes; the labels show only one class "
            f"({labels.classes.tolist()}). Name the others with `classes`."
        )
    return labels


def _refuse_rows_without_label(labels: EncodedLabels) -> None:
    bare = np.flatnonzero((labels.observed < 0) & (labels.truth < 0))
    if len(bare):
        raise ValueError(
            f"{len(bare)} rows have neither an observed label nor a truth (the first is row "
            f"{bare[0]}). Drop them. If -1 is a class and not a missing label, say so with "
            "`classes`, or with missing_label=None."
        )


def unmixing_for(
    data: NoisyData,
    confusion: Any,
    order: ArrayLike | None,
    counts: FloatArray | None = None,
) -> Unmixing:
    """Return C, in the order of the sorted classes, ready to be undone.

    What is passed comes first; then the trusted rows (or `counts` gathered from them so far);
    with neither, labels are taken as they are.
    """
    classes = data.labels.classes
    rows: FloatArray | None = None
    if confusion is not None:
        matrix = align_confusion(confusion, classes, order)
        rows = counted_rows(confusion, classes)
    else:
        counts = data.pair_counts() if counts is None else counts
        matrix = np.eye(len(classes))
        if data.trusted or counts.any():
            if not data.all_trusted():
                refuse_empty_rows(counts, classes)
            matrix = ConfusionEstimate.from_counts(counts, classes).matrix
            rows = np.maximum(counts.sum(axis=1), 1.0)
    return make_unmixing(matrix, classes, trusted=data.trusted, row_counts=rows)
