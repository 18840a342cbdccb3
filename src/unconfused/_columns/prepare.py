"""A frame on its way to a model: the right columns, each of the right type."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer

from unconfused._columns.kinds import ColumnError, require
from unconfused._columns.steps import CATEGORIES, DATES, NUMBERS, TEXT, names_in
from unconfused._columns.summary import cells_as_text
from unconfused._typing import BoolArray, FloatArray

LARGEST = 1e150
"""Numbers beyond have squares that are not finite, and a column with one no scale."""

TRUTH = {"true": 1.0, "false": 0.0}


def check_columns(model: Any, frame: Any) -> list[str]:
    """Raise if a frame lacks a column that a model needs; return those it does not need."""
    needed = _needed(model)
    if needed is None:
        width = getattr(model, "n_features_in_", frame.shape[1])
        if frame.shape[1] != width:
            raise ColumnError(
                f"The model takes {width} columns, and does not know their names; there are "
                f"{frame.shape[1]}."
            )
        return []
    try:
        require(frame, needed)
    except ColumnError as error:
        raise ColumnError(f"{error} The model needs all columns that it was fitted on.") from None
    used = set(needed)
    return [str(name) for name in frame.columns if name not in used]


def prepare_frame(model: Any, frame: Any) -> Any:
    """Return the columns a model needs, in its order and with the types it was fitted with.

    The model may be any that is fitted, or a pipeline by `build_pipeline`. Cells that cannot be
    turned into the type needed are refused.
    """
    import pandas as pd

    check_columns(model, frame)
    needed = _needed(model)
    if needed is None:
        return frame
    kinds = _kinds(model)
    plain = _plain_numbers(frame, [name for name in needed if kinds.get(name) == NUMBERS])
    others = [name for name in needed if name not in plain.columns]
    converted = {name: _converted(frame[name], name, kinds.get(name)) for name in others}
    if not converted:
        return plain
    return pd.concat([plain, pd.DataFrame(converted, index=frame.index)], axis=1)[needed]


def columns_as_text(model: Any) -> list[str]:
    """Return the columns to be read from a file as they are written: categories and text.

    A part of a file may show only numbers in a column of categories, and must not change it.
    """
    return [name for name, kind in _kinds(model).items() if kind in (CATEGORIES, TEXT)]


def _kinds(model: Any) -> dict[str, str]:
    """Return what each column is to a pipeline by `build_pipeline`; nothing for other models."""
    first = model.steps[0][1] if getattr(model, "steps", None) else None
    if not isinstance(first, ColumnTransformer):
        return {}
    kinds: dict[str, str] = {}
    for part, _, names in first.transformers:
        if part in (NUMBERS, CATEGORIES, DATES) or part.startswith(TEXT):
            kind = TEXT if part.startswith(TEXT) else part
            kinds |= dict.fromkeys(names_in(names), kind)
    return kinds


def _needed(model: Any) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return [str(name) for name in names]
    return list(_kinds(model)) or None


def _plain_numbers(frame: Any, names: list[str]) -> Any:
    """Return those of the columns that are numbers already, all at once: they may be very many."""
    kinds = {name: kind for name, kind in frame.dtypes.items() if isinstance(kind, np.dtype)}
    plain = [name for name in names if name in kinds and kinds[name].kind in "iufb"]
    found = frame[plain].astype(np.float64)
    extreme = (np.abs(found.to_numpy()) > LARGEST).any(axis=0)
    for name in found.columns[extreme][:1]:
        finite_numbers(found[name], name)
    return found


def _converted(column: Any, name: str, kind: str | None) -> Any:
    if kind == NUMBERS:
        return finite_numbers(column, name)
    if kind == DATES:
        return _dates(column, name)
    if kind in (CATEGORIES, TEXT):
        return cells_as_text(column, missing="" if kind == TEXT else np.nan)
    return column


def as_numbers(column: Any) -> Any:
    """Return numbers and truth values as floats, NaN where a cell is neither."""
    import pandas as pd

    if column.dtype.kind == "O":  # text, or truth values with gaps
        column = column.map(lambda cell: TRUTH.get(str(cell).strip().lower(), cell))
    return pd.to_numeric(column, errors="coerce").astype("float64")


def finite_numbers(column: Any, name: str) -> Any:
    """Return a column as floats; refuse cells that are no numbers, or none that can be scaled."""
    if column.dtype.kind == "M":
        raise ColumnError(f"The column {name!r} holds dates, and the model takes numbers there.")
    numbers = as_numbers(column)
    _refuse(column.notna() & numbers.isna(), column, name, "is not a number")
    _refuse(np.isinf(numbers), column, name, "is not finite")
    _refuse(np.abs(numbers) > LARGEST, column, name, "is too large a number to be scaled")
    return numbers


def _dates(column: Any, name: str) -> Any:
    import pandas as pd

    if column.dtype.kind in "iufb" and column.notna().any():
        raise ColumnError(f"The column {name!r} holds numbers, and the model takes dates there.")
    dates = pd.to_datetime(column, errors="coerce", utc=True, format="ISO8601")
    _refuse(column.notna() & dates.isna(), column, name, "is not a date such as 2024-05-31")
    return dates.dt.tz_localize(None)


def _refuse(wrong: Any, column: Any, name: str, what: str) -> None:
    if wrong.any():
        row = int(np.argmax(np.asarray(wrong)))
        raise ColumnError(
            f"The column {name!r} holds {str(column.iloc[row])[:40]!r} (row {column.index[row]}), "
            f"which {what}. Correct it, or leave the cell empty."
        )


TOO_LARGE = 1e100
"""Larger numbers are no measurements, and their squares overflow."""


def finite_scores(model: Any, rows: Any, method: str) -> FloatArray:
    """Return the probabilities or scores of rows of a frame or matrix.

    If one is not finite, the error names the row and the cell to look at.
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
