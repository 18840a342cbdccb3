"""Escape cells that a spreadsheet would run as formulas."""

from __future__ import annotations

import re
from typing import Any

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
