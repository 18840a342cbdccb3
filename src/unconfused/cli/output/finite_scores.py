"""Scores of a model, with an error where they are not finite: `finite_scores`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from unconfused._typing import FloatArray

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
    try:
        with np.errstate(all="ignore"):
            scores = np.asarray(getattr(model, method)(rows))
    except ValueError:  # a model refuses what is not finite, but not by its name
        far = _first_far(_numbers(rows))
        if far is None:
            raise
        raise ValueError(_words(rows, far)) from None
    wrong = ~np.isfinite(scores.reshape(len(scores), -1)).all(axis=1)
    if wrong.any():
        raise ValueError(_words(rows, int(np.argmax(wrong))))
    return scores


def _numbers(rows: Any) -> Any:
    """Return the columns of numbers as a matrix."""
    if hasattr(rows, "select_dtypes"):
        return rows.select_dtypes("number").to_numpy(dtype=np.float64)
    return rows.tocsr() if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)


def _first_far(values: Any) -> int | None:
    """Return the first row with an entry that no model can take; missing ones may be filled in."""
    if sparse.issparse(values):
        far = np.flatnonzero(np.abs(values.data) >= TOO_LARGE)
        return int(np.searchsorted(values.indptr, far[0], side="right")) - 1 if len(far) else None
    rows = np.flatnonzero((np.abs(values) >= TOO_LARGE).any(axis=1))
    return int(rows[0]) if len(rows) else None


def _words(rows: Any, row: int) -> str:
    """Say which row it is, and which of its cells is the largest."""
    values = _numbers(rows)
    cells = values[row].toarray().ravel() if sparse.issparse(values) else values[row]
    number, what = row, "its cells"
    if hasattr(rows, "select_dtypes"):
        number = rows.index[row]
    if len(cells):
        place = int(np.argmax(np.nan_to_num(np.abs(cells), nan=-1.0)))
        named = hasattr(rows, "select_dtypes")
        name = rows.select_dtypes("number").columns[place] if named else place + 1
        what = f"column {name!r}, which holds {cells[place]:g}"
    return (
        f"Row {number} (from 0) has no finite score, so it cannot be labelled. Look at {what}; "
        "correct it, or leave the cell empty."
    )
