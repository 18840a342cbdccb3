"""Type inference for text columns, column names, escaped formulas; conversion to pandas."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from typing import Any

from unconfused._files.errors import DataFileError

BEGINNINGS = r"=+\-@\t\r\n＝＋－＠"
"""First characters of formulas, as listed by OWASP."""

FORMULA = re.compile(rf"'*[{BEGINNINGS}]")

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

ESCAPED = rf"^'('*[{BEGINNINGS}])"


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


def unescape_column(column: Any) -> Any:
    """Return an Arrow column of text as it was before `escape_cell`."""
    import pyarrow.compute as pc

    if not pc.any(pc.starts_with(column, "'")).as_py():
        return column
    return pc.replace_substring_regex(column, ESCAPED, r"\1")


MISSING = frozenset(
    ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "NULL", "null", "None", "#NA"]
)  # fmt: skip
"""Cells that mark a missing value."""

PROBE = 64

INFINITE = r"(?i)^[+-]?inf(inity)?$"

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
            f"the column {', '.join(repr(name) for name in twice[:5])} occurs more than once. "
            "Rename one of them. (Does the file have a header?)"
        )
    return clean


def typed(table: Any, as_text: Collection[str] = ()) -> Any:
    """Convert text columns to the narrowest type that fits all cells, except `as_text`."""
    import pyarrow as pa

    columns = [
        _typed_column(table.column(name), name, name in as_text) for name in table.column_names
    ]
    return pa.table(columns, names=table.column_names)


def _typed_column(column: Any, name: str, as_text: bool) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_string(column.type):
        return column
    bare = pc.utf8_trim_whitespace(column)
    missing = pc.is_in(bare, value_set=pa.array(sorted(MISSING)))
    bare = pc.if_else(missing, pa.scalar(None, pa.string()), bare)
    found = None if as_text else _narrowed(bare, name)
    if found is not None:
        return found
    if pc.any(pc.match_substring(column, "\0")).as_py():
        raise DataFileError(f"the column {name!r} holds NUL characters: this is not text.")
    return pc.if_else(missing, pa.scalar(None, pa.string()), unescape_column(column))


def _narrowed(text: Any, name: str) -> Any:
    """Return the cells as numbers, booleans or dates; None if they are neither."""
    import pyarrow as pa

    if text.null_count == len(text):
        return text.cast(pa.float64())
    for kind in (pa.int64(), pa.float64(), pa.bool_()):
        found = _cast(text, kind)
        if found is not None:
            if pa.types.is_floating(kind):
                _refuse_overflow(found, text, name)
            return found
    return as_dates(text)


def as_dates(text: Any) -> Any:
    """Return cells that are all dates (2024-05-31, with or without a time) as such; else None."""
    import pyarrow as pa

    found = _cast(text, pa.timestamp("us"))
    return _cast(text, pa.timestamp("us", "UTC")) if found is None else found


def _cast(text: Any, kind: Any) -> Any:
    import pyarrow as pa

    try:
        # Arrow words an error for every cell before it gives up: let few cells fail first.
        text.slice(0, PROBE).cast(kind)
        return text.cast(kind)
    except pa.ArrowInvalid:
        return None


def _refuse_overflow(numbers: Any, text: Any, name: str) -> None:
    import pyarrow.compute as pc

    too_large = pc.and_(pc.is_inf(numbers), pc.invert(pc.match_substring_regex(text, INFINITE)))
    if pc.any(too_large).as_py():
        first = text.filter(too_large)[0].as_py()
        raise DataFileError(
            f"the column {name!r} holds {first[:40]}, which is beyond the largest number (1.8e308)."
        )


def to_frame(table: Any) -> Any:
    """Return a pandas frame of numbers, booleans, dates and text; raise on other types."""
    import pyarrow as pa

    kept = [name for name in table.column_names if not OLD_INDEX.fullmatch(name)]
    names = column_names(kept)
    columns = [_plain(table.column(old), new) for old, new in zip(kept, names, strict=True)]
    if not columns:
        raise DataFileError("it has no columns.")
    if not table.num_rows:
        raise DataFileError("it has a header but no rows.")
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
        f"the column {name!r} is of type {kind}; a table may hold numbers, text, truth values and "
        "dates. Split it into such columns, or drop it."
    )
