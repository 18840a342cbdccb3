"""CSV and TSV without pyarrow: slower, in more memory, and with the same result."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from unconfused._files.delimited import (
    LONGEST_CELL,
    check_header,
    delimiter_of,
    quote_fault,
    wrong_length,
)
from unconfused._files.errors import DataFileError
from unconfused._files.formats import TableFile, find_encoding, open_text
from unconfused._files.types import MISSING, column_names, unescape_cell

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
    """Yield the file as frames of `rows` rows each; None for one frame."""
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
