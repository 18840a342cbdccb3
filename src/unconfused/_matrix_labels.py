"""Confusion matrices as users pass them: validation, names of rows and columns, alignment."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import issparse

from unconfused._labels import sorted_classes
from unconfused._typing import ArrayLike, FloatArray, IntArray, Labels

ROW_SUM_TOLERANCE = 1e-3
"""Deviation of a row sum from 1 that is attributed to rounding and rescaled silently."""

BEYOND_CHANCE = 6.0
"""Counts further than this from what C says, in standard deviations, were not made by C alone."""

SHARE_OF_MISTAKES = 0.25
"""The difference matters only if it concerns this share of the mistakes that C predicts."""


def check_confusion(
    confusion: Any, n_classes: int | None = None, n_labels: int | None = None
) -> FloatArray:
    """Validate a confusion matrix; return it as float64 with rows that sum to 1.

    It must be square, unless `n_labels` says how many columns it has.

    Examples
    --------
    >>> check_confusion([[0.9, 0.1], [0.3, 0.7]])
    array([[0.9, 0.1],
           [0.3, 0.7]])
    """
    if issparse(confusion):
        confusion = confusion.toarray()
    try:
        matrix = np.array(confusion, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"The confusion matrix must hold numbers only ({error}).") from None
    if n_labels is not None and matrix.shape != (n_classes, n_labels):
        raise ValueError(
            f"The confusion matrix has shape {matrix.shape}, but there are {n_classes} classes and "
            f"{n_labels} labels. Name both with a DataFrame: the classes are its index, the labels "
            "its columns."
        )
    if not matrix.ndim:
        raise ValueError(
            f"confusion is the number {matrix:g}, not a matrix. For evenly spread mistakes pass "
            f"unconfused.noise.symmetric({n_classes or 'n_classes'}, {matrix:g})."
        )
    if n_labels is None and (matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]):
        raise ValueError(
            f"The confusion matrix must be square, one row and one column per class; it has "
            f"shape {matrix.shape}."
        )
    if n_classes is not None and len(matrix) != n_classes:
        raise ValueError(
            f"The confusion matrix is {len(matrix)} x {len(matrix)} but there are {n_classes} "
            "classes. If it covers classes the labels do not show, name all of them, in its "
            "order, with `classes`."
        )
    if np.isnan(matrix).any() or np.isinf(matrix).any():
        raise ValueError("The confusion matrix holds NaN or infinite entries; fill them in.")
    if (matrix < 0).any():
        raise ValueError(
            f"The confusion matrix holds negative entries (smallest: {matrix.min():.3g}); they "
            "must be probabilities."
        )
    return _with_rows_summing_to_one(matrix)


def _with_rows_summing_to_one(matrix: FloatArray) -> FloatArray:
    # Exact sums: with any order of the columns, a labelled matrix gives the same model.
    rows, columns = np.array([math.fsum(row) for row in matrix]), matrix.sum(axis=0)
    if np.all(np.abs(rows - 1) <= ROW_SUM_TOLERANCE):
        return np.asarray(matrix / rows[:, np.newaxis])
    if np.all(np.abs(columns - 1) <= ROW_SUM_TOLERANCE):
        raise ValueError(
            "The columns of the confusion matrix sum to 1, but its rows do not: transpose it. "
            "Rows are true classes, columns are observed labels."
        )
    worst = int(np.argmax(np.abs(rows - 1)))
    counts = (
        " These look like counts or percentages: divide each row by its sum, or use "
        "`unconfused.confusion.from_trusted` on the labels themselves."
        if np.all(matrix % 1 == 0) or rows.min() > 2
        else ""
    )
    raise ValueError(
        "Each row of the confusion matrix must sum to 1 (the labels a true class is given); "
        f"row {worst} sums to {rows[worst]:.4g}.{counts}"
    )


def own_labels(confusion: Any) -> tuple[Labels, Labels] | None:
    """Return the row and column labels of a DataFrame or estimate; None if it has none."""
    # Columns first: a frame may have a column named "classes".
    if not hasattr(confusion, "columns"):
        if not hasattr(confusion, "classes") or callable(confusion.classes):
            return None
        classes, labels = np.asarray(confusion.classes), getattr(confusion, "labels", None)
        return classes, classes if labels is None else np.asarray(labels)
    if not hasattr(confusion, "index"):
        raise ValueError(
            "This frame has no row labels, so its rows cannot be matched to the classes. Pass "
            "a plain array with `classes`, or a pandas DataFrame with the classes as its index."
        )
    rows, columns = np.asarray(confusion.index), np.asarray(confusion.columns)
    unnamed = type(confusion.index).__name__ == "RangeIndex"
    if unnamed and columns.dtype.kind in "OU" and len(rows) in (len(columns), len(columns) - 1):
        raise ValueError(
            "The rows of this frame are not named. Set its index to the classes, for instance by "
            "pd.read_csv(path, index_col=0)."
        )
    return rows, columns


def refuse_other_labels(labels: Labels, classes: Labels, where: str) -> None:
    """Raise if the names on a side of a matrix are not the classes."""
    given, wanted = labels.tolist(), classes.tolist()
    if len(set(given)) != len(given):
        raise ValueError(f"The {where} name a class twice: {given}.")
    if set(given) == set(wanted):
        return
    only_given = [label for label in given if label not in set(wanted)]
    only_wanted = [label for label in wanted if label not in set(given)]
    raise ValueError(
        f"The {where} do not match the classes: they have {only_given} "
        f"which are no classes, and lack {only_wanted}. Use the same labels, of the same type, "
        "in the matrix and in the data."
    )


def places_of(labels: Labels, classes: Labels) -> IntArray:
    """Return where each class stands among labels."""
    where = {label: place for place, label in enumerate(labels.tolist())}
    return np.array([where[label] for label in classes.tolist()], dtype=np.intp)


def confusion_classes(confusion: Any) -> Labels | None:
    """Return the sorted classes of a labelled confusion matrix; None for a plain array."""
    labels = own_labels(confusion)
    return None if labels is None else sorted_classes(labels[0])


def confusion_labels(confusion: Any) -> Labels | None:
    """Return the sorted labels of a labelled matrix whose columns are not its classes.

    None for a plain array, for one label per class, and where names of a square matrix match in
    part only, which is a mistake that `align_confusion` reports.
    """
    sides = own_labels(confusion)
    if sides is None:
        return None
    rows, columns = (side.tolist() for side in sides)
    shared = set(map(str, rows)) & set(map(str, columns))
    if len(rows) == len(columns) and shared:
        return None
    return sorted_classes(sides[1])


def is_rectangular(confusion: Any) -> bool:
    """Return whether a matrix has other labels than classes."""
    if confusion is None or isinstance(confusion, str):
        return False
    shape = np.shape(confusion)
    return (len(shape) == 2 and shape[0] != shape[1]) or confusion_labels(confusion) is not None


def align_confusion(
    confusion: Any, classes: Labels, order: ArrayLike | None = None, labels: Labels | None = None
) -> FloatArray:
    """Validate a confusion matrix and reorder it to the sorted `classes`.

    A labelled matrix is aligned by its labels. A plain array follows `order`, the classes as the
    user listed them, or is assumed to be sorted. Where labels are not the classes, `labels` are
    the sorted ones; the columns of a plain array follow these.
    """
    sides = own_labels(confusion)
    n_labels = None if labels is None else len(labels)
    if sides is None:
        matrix = check_confusion(confusion, len(classes), n_labels)
        places = np.arange(len(classes)) if order is None else places_of(np.asarray(order), classes)
        return matrix[np.ix_(places, places)] if labels is None else matrix[places]
    rows, columns = sides
    labels = classes if labels is None else labels
    refuse_other_labels(rows, classes, "rows of the confusion matrix")
    refuse_other_labels(columns, labels, "columns of the confusion matrix")
    matrix = check_confusion(confusion, len(classes), n_labels)
    return matrix[np.ix_(places_of(rows, classes), places_of(columns, labels))]


def aligned_counts(confusion: Any, classes: Labels) -> FloatArray | None:
    """Return the counts of an estimate in the order of `classes`; None if it has none.

    If the counted rows are no random sample of their class, these are effective counts.
    """
    labels, counts = own_labels(confusion), getattr(confusion, "counts", None)
    counts = getattr(confusion, "effective_counts", counts)
    if labels is None or counts is None or hasattr(confusion, "columns"):
        return None
    places = places_of(labels[0], classes)
    return np.asarray(np.asarray(counts, dtype=np.float64)[np.ix_(places, places)])


def is_guess(confusion: Any) -> bool:
    """Return whether this is an estimate made without any truth, which says so in its caveat."""
    caveat = getattr(confusion, "caveat", None)
    return isinstance(caveat, str) and bool(caveat)


def differs_from(counts: FloatArray, matrix: FloatArray, counted: FloatArray | None = None) -> bool:
    """Return whether counts of (class, label) are far from what C says, and beyond chance.

    `counted` says from how many labels of each class C was counted, (Q,); None if it is exact.
    """
    # A label that C calls impossible says that C is wrong, not that mistakes depend on rows.
    counts = np.where(matrix.sum(axis=0) > 0, counts, 0.0)
    expected = counts.sum(axis=1, keepdims=True) * matrix
    gaps, variance = counts - expected, expected * (1.0 - matrix)
    if counted is not None:
        # A pair that was never counted may still occur.
        rows, of_row = counts.sum(axis=1)[:, np.newaxis], np.maximum(counted, 1.0)[:, np.newaxis]
        share = (of_row * matrix + 0.5) / (of_row + 0.5 * len(matrix))
        variance = share * (1.0 - share) * rows * (1.0 + rows / of_row)
    enough = SHARE_OF_MISTAKES * float(expected.sum() - np.trace(expected))
    # With many classes the total may be significant where no cell is: fewer mistakes than C says.
    too_few = float(np.trace(gaps))
    if too_few > max(enough, BEYOND_CHANCE * float(np.trace(variance)) ** 0.5):
        return True
    size = np.maximum(expected, 1.0)
    excess = float(((gaps**2 - variance) / size).sum())
    deviation = float(((2.0 * variance**2 + variance) / size**2).sum()) ** 0.5
    by_chance = np.minimum(np.sqrt(2.0 * variance / np.pi), 2.0 * variance)
    moved = float((np.abs(gaps) - by_chance).sum()) / 2
    return excess > BEYOND_CHANCE * deviation and moved > enough
