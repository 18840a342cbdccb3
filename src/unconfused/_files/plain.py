"""CSV and TSV without pyarrow: slower, in more memory, and with the same result."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from unconfused._files.errors import DataFileError
from unconfused._files.formats import TableFile
from unconfused._files.formulas import unescape_cell
from unconfused._files.quotes import quote_fault
from unconfused._files.text import find_encoding, open_text
from unconfused._files.types import MISSING, column_names

LONGEST_CELL = 64 * 2**20
"""Bytes; no row can be longer either."""

DELIMITERS = {"csv": ",", "tsv": "\t"}

BLANKS = " \t\n\v\f\r"
INTEGER = re.compile(r"-?\d{1,19}", re.ASCII)
FLOAT = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(inf|infinity|nan)", re.ASCII | re.IGNORECASE
)
TRUTH = {"true": True, "1": True, "false": False, "0": False}
DAY, TIME = r"\d{4}-\d\d-\d\d", r"[ T]\d\d(:\d\d(:\d\d(\.\d{1,6})?)?)?"
DATE = re.compile(f"{DAY}({TIME})?", re.ASCII)
ZONED = re.compile(rf"{DAY}{TIME}(Z|[+-]\d\d(:?\d\d)?)", re.ASCII)


def iter_plain(
    source: TableFile,
    encoding: str | None,
    delimiter: str | None,
    rows: int | None,
    as_text: Collection[str],
) -> Iterator[Any]:
    """Yield the file as frames of so many rows; None for one frame of all."""
    mark, encoding = delimiter_of(source, delimiter), find_encoding(source, encoding)
    check_header(source, encoding, mark)
    try:
        with open_text(source, encoding) as stream:
            yield from _frames(stream, mark, rows, as_text)
    except csv.Error as error:
        fault = quote_fault(source, encoding, mark)
        raise DataFileError(fault or f"it is not well formed ({error}).") from None


def _frames(stream: Any, mark: str, rows: int | None, as_text: Collection[str]) -> Iterator[Any]:
    import pandas as pd

    csv.field_size_limit(LONGEST_CELL)
    cells = (row for row in csv.reader(stream, delimiter=mark, strict=True) if row)
    header = next(cells)
    names = column_names([unescape_cell(name) for name in header])
    begun = 1
    while (part := list(itertools.islice(cells, rows))) or begun == 1:
        for number, row in enumerate(part, start=begun + 1):
            if len(row) != len(header):
                raise DataFileError(
                    wrong_length(f"row {number}", len(row), len(header), mark.join(row))
                )
        if not part:
            raise DataFileError("it has a header but no rows.")
        columns = zip(*part, strict=True)
        frame = {
            n: typed_cells(list(c), n, n in as_text) for n, c in zip(names, columns, strict=True)
        }
        yield pd.DataFrame(frame)
        begun += len(part)


def delimiter_of(source: TableFile, chosen: str | None) -> str:
    """Return the delimiter: the one given, or that of the format."""
    if chosen is None:
        return DELIMITERS[source.format]
    if len(chosen) != 1 or chosen in '"\r\n' or not chosen.isascii():
        raise DataFileError(f"The delimiter must be one character such as ';'; got {chosen!r}.")
    return chosen


def check_header(source: TableFile, encoding: str, delimiter: str) -> list[str]:
    """Return the cells of the first row; raise if it cannot be a header."""
    with open_text(source, encoding) as stream:
        # No row can be longer than a block, and the reader takes a piece of a line for a whole one.
        lines = iter(lambda: stream.readline(LONGEST_CELL), "")
        try:
            first = next((row for row in csv.reader(lines, delimiter=delimiter) if row), None)
        except csv.Error as error:  # a name longer than any
            fault = quote_fault(source, encoding, delimiter)
            raise DataFileError(fault or f"its header cannot be read ({error}).") from None
    if first is None:
        raise DataFileError("it holds nothing but empty lines.")
    if any("\0" in name for name in first):
        raise DataFileError("its header holds NUL characters: this is not text.")
    others = [mark for mark in ";\t|," if mark != delimiter and first[0].count(mark) > 0]
    if len(first) == 1 and others and "\n" not in first[0]:
        raise DataFileError(
            f"its header has one column, {first[0][:60]!r}, but looks divided by {others[0]!r}. "
            f"Say so with the delimiter."
        )
    return first


def wrong_length(place: str, found: int, expected: int, text: str) -> str:
    """Say that a row has more or fewer cells than the header."""
    return (
        f"{place} has {found} cells and the header {expected}: {text[:60]!r}. Every row needs "
        "as many cells as the header; put cells that hold the delimiter into quotes."
    )


def typed_cells(cells: list[str], name: str, as_text: bool) -> Any:
    """Return a column in the narrowest type that fits all cells.

    Examples
    --------
    >>> typed_cells(["1", "NA", "3"], "size", False).tolist()
    [1.0, nan, 3.0]
    >>> typed_cells(["007", "12"], "code", True).tolist()
    ['007', '12']
    """
    import pandas as pd

    bare: list[str | None] = [None if c in MISSING else c for c in (c.strip(BLANKS) for c in cells)]
    found = None if as_text else _narrowed(bare, name)
    if found is not None:
        return pd.Series(found)
    if any("\0" in cell for cell in cells):
        raise DataFileError(f"the column {name!r} holds NUL characters: this is not text.")
    texts = [None if b is None else unescape_cell(c) for b, c in zip(bare, cells, strict=True)]
    return as_words(texts)


def as_words(texts: list[str | None]) -> Any:
    """Return a column of text, as pandas keeps it."""
    import pandas as pd

    return pd.Series(texts, dtype="str" if int(pd.__version__.split(".")[0]) >= 3 else object)


def _narrowed(bare: list[str | None], name: str) -> Any:
    """Return the cells as numbers, booleans or dates; None if they are neither."""
    there = [cell for cell in bare if cell is not None]
    if all(map(INTEGER.fullmatch, there)) and there and len(there) == len(bare):
        try:
            return np.array(there).astype(np.int64)
        except (OverflowError, ValueError):  # beyond int64
            pass
    if all(map(FLOAT.fullmatch, there)):
        numbers = np.array([np.nan if cell is None else float(cell) for cell in bare])
        refuse_overflow(numbers, bare, name)
        return numbers
    if all(cell.lower() in TRUTH for cell in there):
        found = [None if cell is None else TRUTH[cell.lower()] for cell in bare]
        return np.array(found, dtype=object if None in found else bool)
    return dates_of(bare)


def refuse_overflow(numbers: Any, bare: list[str | None], name: str) -> None:
    """Raise if a number is infinite that was not written so."""
    for place in np.flatnonzero(np.isinf(numbers)):
        text = str(bare[place])
        if "inf" not in text.lower():
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
