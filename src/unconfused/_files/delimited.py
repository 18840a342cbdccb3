"""CSV and TSV: rows must match the header; types are inferred from all cells of a column."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator
from typing import Any

from unconfused._files.errors import WRONG_ENCODING, DataFileError, reading
from unconfused._files.formats import TableFile
from unconfused._files.formulas import unescape_cell
from unconfused._files.quotes import CountedLines, quote_fault
from unconfused._files.text import find_encoding, open_text, open_utf8
from unconfused._files.types import column_names, typed

BLOCK, LARGEST_BLOCK = 2 * 2**20, 64 * 2**20
"""Bytes parsed at a time: no row can be longer. Arrow reads some thirty of them ahead."""

BYTES_PER_COLUMN = 640
"""Of a block of a wide table: every block costs its columns about a kilobyte each."""

DELIMITERS = {"csv": ",", "tsv": "\t"}


def read_delimited(
    source: TableFile, encoding: str | None, delimiter: str | None, as_text: Collection[str]
) -> Any:
    """Return the whole file as a typed Arrow table."""
    import pyarrow as pa

    with reading(source.path, source.name):
        batches = list(_batches(source, encoding, delimiter))
        return typed(pa.Table.from_batches(batches), as_text)


def iter_delimited(source: TableFile, encoding: str | None, delimiter: str | None) -> Iterator[Any]:
    """Yield the file as Arrow batches of text."""
    with reading(source.path, source.name):
        yield from _batches(source, encoding, delimiter)


def _batches(source: TableFile, encoding: str | None, delimiter: str | None) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    mark = _delimiter(source, delimiter)
    encoding = find_encoding(source, encoding)
    names = _header(source, encoding, mark)
    block = min(max(BLOCK, BYTES_PER_COLUMN * len(names)), LARGEST_BLOCK)
    bad_rows: list[Any] = []

    def note(row: Any) -> str:
        bad_rows.append(row)
        return "error"

    try:
        with open_utf8(source, encoding) as stream:
            lines = CountedLines(stream)
            reader = arrow_csv.open_csv(
                lines,
                # One thread: only then can the parser say which row is wrong.
                read_options=arrow_csv.ReadOptions(use_threads=False, block_size=block),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=mark, newlines_in_values=True, invalid_row_handler=note
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string())
                ),
            )
            fixed = column_names([unescape_cell(name) for name in reader.schema.names])
            # None would be a table without columns, were there no rows.
            nothing = [pa.array([], kind) for kind in reader.schema.types]
            waiting = pa.RecordBatch.from_arrays(nothing, names=fixed)
            n_rows = 0
            for batch in reader:
                yield waiting
                waiting, n_rows = batch.rename_columns(fixed), n_rows + batch.num_rows
        # A quote that is not closed shows at the end: before that, the last rows are kept back.
        fault = quote_fault(source, encoding, mark) if lines.is_in_doubt(n_rows) else None
        if fault is not None:
            raise DataFileError(fault)
        yield waiting
    except pa.ArrowInvalid as error:
        fault = quote_fault(source, encoding, mark)
        said = _explain(str(error), bad_rows, block) if fault is None else fault
        raise DataFileError(said) from error


def _delimiter(source: TableFile, chosen: str | None) -> str:
    if chosen is None:
        return DELIMITERS[source.format]
    if len(chosen) != 1 or chosen in '"\r\n' or not chosen.isascii():
        raise DataFileError(f"The delimiter must be one character such as ';'; got {chosen!r}.")
    return chosen


def _header(source: TableFile, encoding: str, delimiter: str) -> list[str]:
    """Read the header, so that all columns can then be read as text."""
    with open_text(source, encoding) as stream:
        # No row can be longer than a block, and the reader takes a piece of a line for a whole one.
        lines = iter(lambda: stream.readline(LARGEST_BLOCK), "")
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


def _explain(said: str, bad_rows: list[Any], block: int) -> str:
    if "UTF8" in said:
        return WRONG_ENCODING
    if bad_rows:
        row = bad_rows[0]
        place = f"row {row.number}" if row.number else "a row"
        return (
            f"{place} has {row.actual_columns} cells and the header {row.expected_columns}: "
            f"{row.text[:60]!r}. Every row needs as many cells as the header; put cells that hold "
            f"the delimiter into quotes."
        )
    if "straddl" in said or "out of sync" in said:
        return f"a row is longer than {block // 2**20} MB; no row of a table should be."
    return f"it is not well formed ({' '.join(said.split())[:200]})."
