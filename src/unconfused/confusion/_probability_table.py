"""Predicted probabilities as users have them: arrays, memory maps and frames, read in blocks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from unconfused._labels import MISSING, encode_labels, label_array, sorted_classes
from unconfused._matrix import ConfusionWarning
from unconfused._matrix_labels import (
    align_confusion,
    aligned_counts,
    confusion_classes,
    confusion_labels,
    own_labels,
)
from unconfused._typing import ArrayLike, FloatArray, IntArray, Labels
from unconfused.confusion.estimation.class_probabilities import (
    ClassProbabilities,
    estimate_counts,
    even_out,
)

Predicts = Literal["label", "class"]

BLOCK_ENTRIES = 2_000_000
"""Entries of a block; a few arrays of this size are held at a time."""

SAMPLE_ENTRIES = 20_000_000
"""Entries of the rows that C and the calibration are found from."""

ROW_SUM_TOLERANCE = 0.02
"""Deviation of a row sum from 1 that is attributed to rounding."""

MISTAKES_SEEN = 0.05
"""Share of the mistakes a model expects of itself, below which it has seen the labels."""

FEWEST_ROWS = 50
"""Rows that are needed to tell whether a model has seen the labels."""


@dataclass(frozen=True)
class ProbabilityTable:
    """Probabilities with one column per label or class, and the codes of the observed labels."""

    values: Any
    order: IntArray
    """Columns in the order of the sorted classes (or labels)."""

    columns: Labels
    """The sorted classes or labels, one per column."""

    labels: Labels
    """The sorted labels."""

    observed: IntArray

    of_labels: bool
    """Whether the probabilities are of the observed label, not of the true class."""

    def estimate(self) -> tuple[FloatArray, FloatArray]:
        """Return C and the counts behind it."""
        probability, observed = self.sample()
        if not len(observed):
            raise ValueError("y holds no labels to estimate a confusion matrix from.")
        return estimate_counts(probability, observed, of_labels=self.of_labels)

    def align(self, confusion: Any, order: ArrayLike | None) -> FloatArray:
        """Return a matrix in the order of the sorted classes and labels.

        One that was counted is shrunk as far as its counts allow: a mistake that was never counted
        is unlikely, not impossible.
        """
        labels = confusion_labels(confusion)
        classes = self.columns if labels is None else confusion_classes(confusion)
        assert classes is not None
        matrix = align_confusion(confusion, classes, order, labels)
        counts = aligned_counts(confusion, classes) if labels is None else None
        return matrix if counts is None else even_out(counts.sum(axis=1, keepdims=True) * matrix)

    def model(
        self, matrix: FloatArray, calibrate: bool = True, guessed: bool = False
    ) -> ClassProbabilities:
        """Return what turns blocks into probabilities of the true classes, through C.

        Probabilities of labels come from a model of these labels, and have the right class shares;
        only a guessed C could make them wrong. Those of classes may come from other rows.
        """
        probability, observed = self.sample()
        model = ClassProbabilities.of(probability, matrix, of_labels=self.of_labels)
        if not (calibrate and len(observed)):
            return model
        return model.calibrated(probability, observed, guessed or not self.of_labels)

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Return checked blocks of rows, one after the other."""
        size = max(1, BLOCK_ENTRIES // max(1, len(self.columns)))
        for start in range(0, len(self.observed), size):
            rows = slice(start, min(start + size, len(self.observed)))
            yield rows, self._checked(self.values[rows], start)

    def sample(self) -> tuple[FloatArray, IntArray]:
        """Return labelled rows to estimate from: all, or rows spread evenly over them."""
        rows = np.flatnonzero(self.observed != MISSING)
        most = max(1, SAMPLE_ENTRIES // max(1, len(self.columns)))
        rows = rows[:: max(1, -(-len(rows) // most))]
        return self._checked(self.values[rows], None), self.observed[rows]

    def _checked(self, some: Any, start: int | None) -> FloatArray:
        where = "" if start is None else f" (rows from {start} on)"
        try:
            table = np.array(some, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"pred_probs must hold numbers{where} ({error}).") from None
        if not np.isfinite(table).all():
            raise ValueError(f"pred_probs holds NaN or infinite entries{where}; drop these rows.")
        sums, highest = table.sum(axis=1), table.max(axis=0, initial=0.0)
        other = highest > 1 + ROW_SUM_TOLERANCE
        if np.count_nonzero(other) == 1 and len(highest) > 2:
            name = self.columns[np.argsort(self.order)][other].item()
            raise ValueError(
                f"The column {name!r} of pred_probs holds {highest.max():.6g}, which is not a "
                "probability. If it is a row number, leave it out."
            )
        if (table < 0).any() or np.any(np.abs(sums - 1) > ROW_SUM_TOLERANCE):
            raise ValueError(
                f"pred_probs must hold probabilities that sum to 1 in every row{where}; sums range "
                f"from {sums.min():.3g} to {sums.max():.3g}. Pass scores through a softmax, or "
                "divide counts and percentages by their sum."
            )
        return np.asarray((table / sums[:, np.newaxis])[:, self.order])


def read_probabilities(
    pred_probs: Any,
    y: ArrayLike,
    predicts: Predicts,
    *,
    confusion: Any = None,
    classes: ArrayLike | None = None,
    missing_label: Any = "auto",
) -> ProbabilityTable:
    """Match columns with labels, and rows with y.

    A frame's columns are matched by name; columns of an array follow `classes`, or the names of a
    labelled matrix, or the sorted labels.
    """
    if predicts not in ("label", "class"):
        raise ValueError(f"predicts must be 'label' or 'class'; got {predicts!r}.")
    if sparse.issparse(pred_probs):
        raise TypeError("pred_probs must be a dense array or a frame, not a sparse matrix.")
    named = np.asarray(pred_probs.columns) if hasattr(pred_probs, "columns") else None
    values = pred_probs.to_numpy() if named is not None else pred_probs
    values = values if hasattr(values, "ndim") else np.asarray(values)
    if values.ndim != 2 or not len(values):
        swapped = "The arguments look swapped: pred_probs comes first, then the labels."
        pair = "With two classes, pass np.column_stack([1 - p, p])."
        raise ValueError(
            f"pred_probs must have one row per label of y and one column per class; it has shape "
            f"{values.shape}. {swapped if np.ndim(y) == 2 else pair}"
        )
    if np.ndim(y) != 1 or len(label_array(y)) != len(values):
        raise ValueError(
            f"y must hold one label for each of the {len(values)} rows of pred_probs; it has shape "
            f"{np.shape(y)}. The order is pred_probs, y, confusion."
        )
    if named is None and classes is not None:
        named = np.asarray(classes)
    sides = None if confusion is None else own_labels(confusion)
    rows, labels = (None, None) if sides is None else map(sorted_classes, sides)
    columns = labels if predicts == "label" else rows
    columns = columns if named is None else sorted_classes(named)
    labels = columns if labels is None else labels
    try:
        encoded = encode_labels(y, classes=labels, missing_label=missing_label)
    except ValueError as error:
        if not hasattr(pred_probs, "columns"):
            raise
        raise ValueError(f"{error} The columns of pred_probs are the classes.") from None
    columns = encoded.classes if columns is None else columns
    if values.shape[1] != len(columns):
        raise ValueError(
            f"pred_probs has {values.shape[1]} columns, but there are {len(columns)} classes. Name "
            "its columns, in their order, with `classes`, or pass a DataFrame."
        )
    order = np.arange(len(columns)) if named is None else np.argsort(named, kind="stable")
    of_labels = predicts == "label"
    table = ProbabilityTable(values, order, columns, encoded.classes, encoded.observed, of_labels)
    if of_labels:
        _warn_if_seen(*table.sample())
    return table


def _warn_if_seen(probability: FloatArray, observed: IntArray) -> None:
    """Warn if probabilities agree with the labels more often than they predict.

    A model that was trained on a row knows its label. It is then uncertain of many rows but agrees
    with nearly all of their labels.
    """
    expected = float((1.0 - probability.max(axis=1)).sum())
    mistakes = int(np.count_nonzero(probability.argmax(axis=1) != observed))
    if len(observed) >= FEWEST_ROWS and mistakes <= MISTAKES_SEEN * expected:
        warnings.warn(
            f"The most likely class differs from {mistakes} of {len(observed)} labels, but the "
            f"probabilities predict {expected:.0f} differences. A model that was trained on these "
            "rows agrees with wrong labels: pass out-of-fold probabilities, as by "
            "sklearn.model_selection.cross_val_predict(..., method='predict_proba').",
            ConfusionWarning,
            stacklevel=4,
        )
