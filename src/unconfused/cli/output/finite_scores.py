"""Scores of a model, with an error where they are not finite: `finite_scores`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from unconfused._typing import BoolArray, FloatArray

TOO_LARGE = 1e100
"""Larger numbers are no measurements, and their squares overflow."""


def finite_scores(model: Any, rows: Any, method: str) -> FloatArray:
    """Return the probabilities or scores of rows.

    Parameters
    ----------
    model : fitted
    rows : a frame, whose index numbers the rows, or a matrix
    method : predict_proba or decision_function

    Raises
    ------
    ValueError : if a score is not finite; the message names the row and the cell to look at
    """
    frame = hasattr(rows, "select_dtypes")
    numbers = rows.select_dtypes("number") if frame else rows
    try:
        with np.errstate(all="ignore"):
            scores = np.asarray(getattr(model, method)(rows))
        wrong = ~np.isfinite(scores.reshape(len(scores), -1)).all(axis=1)
        if not wrong.any():
            return scores
    except ValueError:  # a model refuses what is not finite, but not by its name
        wrong = _far(numbers)
        if not wrong.any():
            raise
    row = int(np.argmax(wrong))
    cells = (
        numbers[row].toarray().ravel()
        if sparse.issparse(rows)
        else np.asarray(numbers, dtype=np.float64)[row]
    )
    what = "its cells"
    if len(cells):
        place = int(np.argmax(np.nan_to_num(np.abs(cells), nan=-1.0)))
        name = numbers.columns[place] if frame else place + 1
        what = f"column {name!r}, which holds {cells[place]:g}"
    raise ValueError(
        f"Row {rows.index[row] if frame else row} (from 0) has no finite score, so it cannot be "
        f"labelled. Look at {what}; correct it, or leave the cell empty."
    ) from None


def _far(numbers: Any) -> BoolArray:
    """Return which rows have an entry that no model can take; missing ones may be filled in."""
    if sparse.issparse(numbers):
        numbers = abs(numbers).max(axis=1).toarray()
    values = np.asarray(numbers, dtype=np.float64)
    return np.asarray((np.abs(values) >= TOO_LARGE).any(axis=1))
