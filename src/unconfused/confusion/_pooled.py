"""A confusion matrix from few counts per class, steadied by the counts of all classes together."""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused._typing import FloatArray
from unconfused.confusion._dawid_skene import shrink
from unconfused.confusion.estimate import ConfusionEstimate, check_counts


def pooled_estimate(counts: Any, classes: Any, strength: float) -> ConfusionEstimate:
    """Divide counts by rows, after adding `strength` rows per class that err like all classes do.

    The added rows are right as often as all counted rows were, with their mistakes spread evenly;
    and never less often than halfway between chance and certainty. So no label is impossible, a
    class with few counts leans on the others, and the matrix keeps its inverse, which even counts
    added to every entry would weaken when classes are many.

    Examples
    --------
    >>> pooled_estimate([[6, 2], [0, 0]], ["cat", "dog"], strength=1.0).matrix.round(2)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    if not strength >= 0:
        raise ValueError(f"smoothing must be at least 0; got {strength}.")
    table, names = check_counts(counts, classes)
    return ConfusionEstimate(shrink(table, _even_mistakes(table), strength), table, names)


def _even_mistakes(counts: FloatArray) -> FloatArray:
    """Return the matrix that is right as often as all the counts, and errs evenly."""
    n_classes = len(counts)
    # One right and one wrong row more: neither certainty nor its opposite follows from few counts.
    right = (np.trace(counts) + 1) / (counts.sum() + 2)
    right = max(right, (1 + 1 / n_classes) / 2)
    matrix = np.full((n_classes, n_classes), (1 - right) / max(1, n_classes - 1))
    np.fill_diagonal(matrix, right)
    return matrix
