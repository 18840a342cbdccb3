"""What the rows and columns of a confusion matrix stand for: classes, and labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused._labels import sorted_classes
from unconfused._matrix_labels import own_labels
from unconfused._typing import Labels


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
