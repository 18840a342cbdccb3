"""CSV and TSV: rows must match the header; types are inferred from all cells of a column."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Collection, Iterator
from typing import Any, TextIO

from unconfused._files import DataFileError, TableFile, find_encoding, open_text
from unconfused._files.types import column_names, kinds_of, typed_cells, unescape_cell
from unconfused._text import count

LONGEST_CELL = 64 * 2**20
"""Characters; no line can be longer either."""

BLOCK_ROWS = 2**16
"""Rows whose text is in memory at a time."""

DELIMITERS = {"csv": ",", "tsv": "\t"}

Columns = dict[str, list[str]]


def iter_delimited(
    source: TableFile,
    encoding: str | None,
    delimiter: str | None,
    rows: int,
    as_text: Collection[str],
) -> Iterator[Any]:
    """Yield the file as frames of `rows` rows each."""
    for part in _columns(source, encoding, delimiter, rows):
        yield _frame(part, as_text)


def read_delimited(
    source: TableFile, encoding: str | None, delimiter: str | None, as_text: Collection[str]
) -> Any:
    """Return the file as one frame.

    Blocks of rows are typed one by one: the text of all cells takes ten times the memory of their
    values. Columns that look different from block to block are read once more, as a whole.
    """
    import pandas as pd

    blocks = list(iter_delimited(source, encoding, delimiter, BLOCK_ROWS, as_text))
    if len(blocks) == 1:
        return blocks[0]
    whole: Columns = {name: [] for name in blocks[0] if _differs([one[name] for one in blocks])}
    for part in _columns(source, encoding, delimiter, BLOCK_ROWS) if whole else ():
        for name, cells in whole.items():
            cells += part[name]
    frame = pd.concat([one.drop(columns=list(whole)) for one in blocks], ignore_index=True)
    return pd.concat([frame, _frame(whole, as_text)], axis=1)[list(blocks[0])]


def _differs(blocks: list[Any]) -> bool:
    types = {str(column.dtype) for column in blocks}
    return len(set().union(*map(kinds_of, blocks))) > 1 or (
        len(types) > 1 and not types <= {"int64", "float64"}
    )


def _frame(columns: Columns, as_text: Collection[str]) -> Any:
    import pandas as pd

    return pd.DataFrame({n: typed_cells(cells, n, n in as_text) for n, cells in columns.items()})


def _columns(
    source: TableFile, encoding: str | None, delimiter: str | None, rows: int
) -> Iterator[Columns]:
    """Yield the cells of `rows` rows by column; at least one row, or an error."""
    mark = _delimiter_of(source, delimiter)
    with open_text(source, find_encoding(source, encoding)) as stream:
        cells = iter_rows(stream, mark)
        header = next(cells, [])
        _check_header(header, mark)
        names = column_names([unescape_cell(name) for name in header])
        begun = 2
        while (part := list(itertools.islice(cells, rows))) or begun == 2:
            if not part:
                raise DataFileError("it has a header but no rows.")
            for number, row in enumerate(part, start=begun):
                if len(row) != len(header):
                    raise DataFileError(
                        f"row {number} has {count(len(row), 'cell')} and the header, row 1, has "
                        f"{len(header)}: {mark.join(row)[:60]!r}. Every row needs as many "
                        "cells as the header; put cells that hold the delimiter into quotes."
                    )
            yield dict(zip(names, map(list, zip(*part, strict=True)), strict=True))
            begun += len(part)


def iter_rows(stream: TextIO, delimiter: str) -> Iterator[list[str]]:
    """Yield the rows that are not empty; raise where a quote takes in the lines after it.

    One that is never closed takes in the rest of the file. One that is forgotten is closed by the
    next that was to open another cell, which shows in the text right after it.
    """
    csv.field_size_limit(LONGEST_CELL)
    reader, begun = csv.reader(_lines(stream), delimiter=delimiter, strict=True), 1
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            what = "is never closed and takes in all that follows"
            if "expected after" in str(error):
                what = f"is closed in line {reader.line_num}, where more text follows"
            raise DataFileError(
                f"a quote that opens in the row of line {begun} {what}. Close it where the cell "
                'ends; a quote that is part of a quoted text is written twice ("").'
            ) from None
        if row is None:
            return
        if row:
            yield row
        begun = reader.line_num + 1


def _lines(stream: TextIO) -> Iterator[str]:
    while line := stream.readline(LONGEST_CELL):
        if len(line) == LONGEST_CELL:
            raise DataFileError(f"a line is longer than {LONGEST_CELL // 2**20} MB.")
        yield line


def _delimiter_of(source: TableFile, chosen: str | None) -> str:
    """Return the delimiter: the one given, or that of the format."""
    if chosen is None:
        return DELIMITERS[source.format]
    chosen = {r"\t": "\t", "tab": "\t"}.get(chosen, chosen)  # as people type it in a shell
    if len(chosen) != 1 or chosen in '"\r\n' or not chosen.isascii():
        raise DataFileError(f"The delimiter must be one character such as ';'; got {chosen!r}.")
    return chosen


def _check_header(first: list[str], delimiter: str) -> None:
    if not first:
        raise DataFileError("it holds nothing but empty lines.")
    if any("\0" in name for name in first):
        raise DataFileError("its header holds NUL characters: this is not text.")
    others = [mark for mark in ";\t|," if mark != delimiter and mark in first[0]]
    if len(first) == 1 and others and "\n" not in first[0]:
        raise DataFileError(
            f"its header has one column, {first[0][:60]!r}, but looks divided by {others[0]!r}. "
            f"Say so with the delimiter."
        )
