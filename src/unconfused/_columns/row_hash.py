"""A short hash of a row's content, by which it is recognised later."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from unconfused._labels import is_missing

DIGITS = 16
"""Hexadecimal digits kept: 64 bits tell a changed row from an unchanged one."""

BEGINNING = 50
"""Rows by which a file is recognised."""

PROVENANCE = "label_source"
"""Column that says where labels come from; it is no part of the content."""


def row_hashes(rows: Any, leave_out: Collection[str] = ()) -> list[str]:
    """Return a hash of each row's content.

    The same row has the same hash whatever file format it was read from: 1, 1.0 and "1" are one
    value, and the order of columns does not matter. Columns of a frame to `leave_out`, such as the
    labels, are not hashed.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1, 2], "kind": ["cat", "dog"]})
    >>> whole = row_hashes(frame, leave_out=["kind"])
    >>> whole == row_hashes(pd.DataFrame({"kind": ["hen", "dog"], "size": ["1.0", "2"]}), ["kind"])
    True
    """
    if not hasattr(rows, "columns"):
        return _of_matrix(rows)
    ignored = {*map(str, leave_out), PROVENANCE}
    named = sorted((str(name), place) for place, name in enumerate(rows.columns))
    kept = [(name, place) for name, place in named if name not in ignored]
    columns = [map_cells(rows.iloc[:, place], _text) for _, place in kept]
    names = json.dumps([name for name, _ in kept])
    cells = zip(*columns, strict=True) if columns else ((),) * len(rows)
    return [_digest(f"{names}\n{json.dumps(one)}".encode()) for one in cells]


def beginning_hash(rows: Any, labelled: Any) -> str:
    """Return a hash of the first of the rows that are `labelled`, by which a file is recognised."""
    first = np.flatnonzero(labelled)[:BEGINNING]
    some = rows.iloc[first] if hasattr(rows, "iloc") else rows[first]
    return _digest("".join(row_hashes(some)).encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGITS]


def map_cells(column: Any, write: Callable[[Any], str]) -> list[str]:
    """Apply a function to each cell; "" where there is nothing."""
    cells = np.asarray(column, dtype=object)
    absent = is_missing(cells).tolist() if cells.ndim == 1 else [False] * len(cells)
    pairs = zip(cells.tolist(), absent, strict=True)
    return ["" if missing else write(cell) for cell, missing in pairs]


def _text(cell: Any) -> str:
    if hasattr(cell, "isoformat"):
        # As people write it: a date read as text has no time of day.
        return str(cell.isoformat()).replace("T", " ").removesuffix(" 00:00:00")
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell)).lower()
    if isinstance(cell, list | tuple | dict):
        return json.dumps(cell, sort_keys=True, default=str)
    text = str(cell).strip()
    try:
        number = float(text)
    except ValueError:
        return text.lower() if text.lower() in ("true", "false") else text
    if number.is_integer() and abs(number) < 2**53:  # a code such as a bar code, every digit of it
        return str(int(number))
    # Twelve digits: pandas before 3 reads the last ones of a CSV file inexactly.
    return "" if number != number else f"{number:.12g}"


def _of_matrix(rows: Any) -> list[str]:
    from scipy.sparse import issparse

    if issparse(rows):
        rows = rows.tocsr()
        rows.sort_indices()
        return [_digest(_sparse_row(rows, place)) for place in range(rows.shape[0])]
    try:
        dense = np.ascontiguousarray(np.asarray(rows, dtype=np.float64)) + 0.0  # -0 is 0
    except (TypeError, ValueError):  # texts
        lines = map(np.atleast_1d, np.asarray(rows, dtype=object))
        return [_digest(json.dumps(map_cells(line, _text)).encode()) for line in lines]
    return [_digest(row.tobytes()) for row in dense]


def _sparse_row(rows: Any, place: int) -> bytes:
    own = slice(rows.indptr[place], rows.indptr[place + 1])
    data, indices = np.asarray(rows.data[own], float), np.asarray(rows.indices[own], np.int64)
    there = data != 0
    return bytes(indices[there].tobytes() + data[there].tobytes())
