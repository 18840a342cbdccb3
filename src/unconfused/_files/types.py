"""Types of columns, their names, escaped formulas."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from unconfused._files import DataFileError

BEGINNINGS = r"=+\-@\t\r\n＝＋－＠"
"""First characters of formulas, as listed by OWASP."""

FORMULA = re.compile(rf"'*[{BEGINNINGS}]")

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def escape_cell(text: str) -> str:
    """Return a cell with an apostrophe before it if it may be a formula; numbers stay as they are.

    Cells that look escaped already get one apostrophe more, so that all can be read back.

    Examples
    --------
    >>> [escape_cell(cell) for cell in ("cat", "=1+1", "-1.5", "-cat", "'=1", "it's")]
    ['cat', "'=1+1", '-1.5', "'-cat", "''=1", "it's"]
    """
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def unescape_cell(text: str) -> str:
    """Undo `escape_cell`.

    Examples
    --------
    >>> [unescape_cell(cell) for cell in ("'=1+1", "''=1", "'tis", "-1.5")]
    ['=1+1', "'=1", "'tis", '-1.5']
    """
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def escape_frame(frame: Any) -> Any:
    """Return a frame with column names and text cells escaped."""
    escaped = frame.rename(columns=lambda name: escape_cell(str(name)))
    for place, kind in enumerate(frame.dtypes):
        if kind.kind == "O":
            cells = [escape_cell(c) if isinstance(c, str) else c for c in frame.iloc[:, place]]
            escaped.isetitem(place, cells)
    return escaped


MISSING = frozenset(
    ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "NULL", "null", "None", "#NA"]
)  # fmt: skip
"""Cells that mark a missing value."""

TRUTH = {"true": True, "1": True, "false": False, "0": False}
DAY, TIME = r"\d{4}-\d\d-\d\d", r"[ T]\d\d(:\d\d(:\d\d(\.\d{1,9})?)?)?"
DATE = re.compile(f"{DAY}({TIME})?", re.ASCII)
ZONED = re.compile(rf"{DAY}{TIME}(Z|[+-]\d\d(:?\d\d)?)", re.ASCII)

LINE_END = re.compile(r"\s*[\r\n]+\s*")

OLD_INDEX = re.compile(r"__index_level_\d+__")
"""What a frame's row numbers are called in a Parquet file."""


def clean_name(name: str) -> str:
    """Return a name on one line, stripped."""
    # Office programs break long names within a cell; nobody could type such a name.
    return LINE_END.sub(" ", name).strip()


def column_names(names: list[str]) -> list[str]:
    """Return the names, each on one line and stripped; raise if one occurs twice."""
    clean = [clean_name(name) or f"unnamed_{place}" for place, name in enumerate(names, start=1)]
    twice = [name for name, times in Counter(clean).items() if times > 1]
    if twice:
        raise DataFileError(
            f"the column {', '.join(map(repr, twice[:5]))} occurs more than once. Every column "
            "needs a name of its own; if the first line is no header, put one above it."
        )
    return clean


def typed_cells(cells: list[str], name: str, as_text: bool) -> Any:
    """Return a column of text in the narrowest type that fits all cells.

    Examples
    --------
    >>> typed_cells(["1", "NA", "3"], "size", False).tolist()
    [1.0, nan, 3.0]
    >>> typed_cells(["007", "12"], "code", True).tolist()
    ['007', '12']
    """
    import pandas as pd

    bare: list[str | None] = [*map(str.strip, cells)]
    if not MISSING.isdisjoint(bare):
        bare = [None if cell in MISSING else cell for cell in bare]
    found = None if as_text else _narrowed(bare, name)
    if found is not None:
        return pd.Series(found)
    refuse_nul(cells, name)
    return as_words(
        [None if b is None else unescape_cell(c) for b, c in zip(bare, cells, strict=True)]
    )


def refuse_nul(cells: Iterable[str | None], name: str) -> None:
    """Raise if a cell of text holds a NUL character, and show which."""
    for cell in cells:
        if cell and "\0" in cell:
            before, _, after = cell.partition("\0")
            raise DataFileError(
                f"the column {name!r} holds NUL characters, which are not text, as in "
                f"{before[-30:] + chr(0) + after[:10]!r}. Remove them."
            )


def as_words(texts: list[str | None]) -> Any:
    """Return a column of text, as pandas keeps it."""
    import pandas as pd

    return pd.Series(texts, dtype="str" if int(pd.__version__.split(".")[0]) >= 3 else object)


def _narrowed(bare: list[str | None], name: str) -> Any:
    """Return the cells as numbers, booleans or dates; None if they are neither."""
    there = [*filter(None, bare)]
    text = "".join(there)
    if text.isascii() and "_" not in text:  # what else Python takes for numbers
        with contextlib.suppress(OverflowError, ValueError):
            if len(there) == len(bare):
                return np.array(list(map(int, there)), dtype=np.int64)
        try:
            numbers = np.array([np.nan if cell is None else float(cell) for cell in bare])
        except ValueError:
            pass
        else:
            _refuse_overflow(numbers, bare, name)
            return numbers
    if all(cell.lower() in TRUTH for cell in there):
        found = [None if cell is None else TRUTH[cell.lower()] for cell in bare]
        return np.array(found, dtype=object if None in found else bool)
    return dates_of(bare)


def _refuse_overflow(numbers: Any, bare: list[str | None], name: str) -> None:
    for place in np.flatnonzero(np.isinf(numbers)):
        if "inf" not in (text := str(bare[place])).lower():
            raise DataFileError(
                f"the column {name!r} holds {text[:40]}, which is beyond the largest number "
                "(1.8e308)."
            )


def dates_of(bare: list[str | None]) -> Any:
    """Return cells that are all dates (2024-05-31, with or without a time) as such; else None."""
    import pandas as pd

    there = [cell for cell in bare if cell is not None]
    for pattern, utc in ((DATE, False), (ZONED, True)):
        if there and all(map(pattern.fullmatch, there)):
            try:
                found = pd.to_datetime(pd.Series(bare, dtype=object), format="ISO8601", utc=utc)
            except ValueError:  # the 30th of February
                return None
            return found.astype("datetime64[us, UTC]" if utc else "datetime64[us]")
    return None


def kinds_of(column: Any) -> set[str]:
    """Return what the cells of a column are; nothing if there are none."""
    kind = column.dtype.kind
    if not column.notna().any():
        return set()
    if kind == "M":
        return {"dates" if column.dt.tz is None else "dates with a zone"}
    if kind in "iuf":
        return {"numbers"}
    return {"truth" if kind == "b" or column.dropna().map(type).eq(bool).all() else "words"}


def to_frame(table: Any) -> Any:
    """Return a pandas frame of numbers, booleans, dates and text; raise on other types."""
    import pyarrow as pa

    kept = [name for name in table.column_names if not OLD_INDEX.fullmatch(name)]
    names = column_names(kept)
    columns = [_plain(table.column(old), new) for old, new in zip(kept, names, strict=True)]
    if not columns:
        raise DataFileError("it has no columns.")
    return pa.table(columns, names=names).to_pandas(ignore_metadata=True)


def _plain(column: Any, name: str) -> Any:
    """Convert Arrow types to a few basic ones."""
    import pyarrow as pa

    kind = column.type
    types = pa.types
    if types.is_dictionary(kind):
        return _plain(column.cast(kind.value_type), name)
    if types.is_decimal(kind) or types.is_float16(kind) or types.is_null(kind):
        return column.cast(pa.float64())
    if types.is_date(kind):
        return column.cast(pa.timestamp("ms"))
    if types.is_duration(kind):
        return column.cast(pa.int64()).cast(pa.float64())
    if types.is_large_string(kind) or types.is_string_view(kind):
        return column.cast(pa.string())
    if (
        types.is_boolean(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_timestamp(kind)
        or types.is_string(kind)
    ):
        return column
    raise DataFileError(
        f"the column {name!r} is of type {kind}; a table may hold numbers, text, booleans and "
        "dates. Split it into such columns, or drop it."
    )
