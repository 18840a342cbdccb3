"""CSV and TSV: rows must match the header; types are inferred from all cells of a column."""

from __future__ import annotations

import csv
import re
import sys
import time
from collections.abc import Iterator
from typing import Any, cast

from unconfused._files.errors import WRONG_ENCODING, DataFileError
from unconfused._files.formats import TableFile, find_encoding, open_text, open_utf8
from unconfused._files.types import column_names, unescape_cell

LONGEST_CELL = 64 * 2**20
"""Bytes; no row can be longer either."""

DELIMITERS = {"csv": ",", "tsv": "\t"}

LONGEST_LINE = 4 * 2**20
"""Characters of a line that are looked at; the parser takes no row as long as this."""

REST_OF_QUOTED = re.compile(r'(?:[^"]++|"")*+"')
"""What follows an opening quote, up to the one that closes it."""


class CountedLines:
    """A stream of bytes that counts lines and quotes while a parser reads it."""

    def __init__(self, stream: Any) -> None:
        self._stream, self.closed = stream, False
        self._feeds = self._returns = self._quotes = 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        found: bytes = self._stream.read(size)
        self._feeds += found.count(b"\n")
        self._returns += found.count(b"\r")
        self._quotes += found.count(b'"')
        return found

    def close(self) -> None:
        """End reading."""
        self._stream.close()
        self.closed = True

    def is_in_doubt(self, n_rows: int) -> bool:
        """Return whether a quote may have taken in a line, or the end of one, given all rows.

        Where there are no more lines than rows, no cell holds a line end, and there is nothing that
        would have to be looked at again.
        """
        odd = self._quotes % 2 == 1
        return odd or (self._quotes > 0 and max(self._feeds, self._returns) > n_rows + 1)


def quote_fault(source: TableFile, encoding: str, delimiter: str) -> str | None:
    r"""Say where a quote opens that takes in the lines after it; None if none does.

    A quote opens a cell only at its beginning. One that is never closed takes in the rest of the
    file. One that is forgotten is closed by the next that was to open another cell, which shows in
    the text right after it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "pets.csv"
    >>> _ = path.write_text('size,kind\n3,"cat\n7,dog\n')
    >>> quote_fault(TableFile(path, "csv"), "utf-8", ",")
    'the quote that opens in line 2, column 2, is never closed and takes in all that follows. ...
    """
    scan = _Scan(delimiter)
    with open_text(source, encoding) as stream:
        for number, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE), ""), start=1):
            if len(line) == LONGEST_LINE:
                return None
            # Without a quote in it, a line is all within a cell or all without.
            if '"' in line and scan.is_at_fault(line, number):
                return scan.words(f"is closed in line {number}, where more text follows")
    return scan.words("is never closed and takes in all that follows") if scan.is_open else None


class _Scan:
    """Where the lines of a file stand with their quotes."""

    def __init__(self, delimiter: str) -> None:
        ends = re.escape(delimiter)
        self._delimiter = delimiter
        self._plain = re.compile(rf"[^{ends}\r\n]*+")
        self._blanks = re.compile(rf" *+(?=[{ends}\r\n]|$)")
        self.is_open, self._line, self._column = False, 0, 0
        """Of the cell in quotes that was opened last."""

    def is_at_fault(self, line: str, number: int) -> bool:
        """Go through a line; return whether a cell of several lines ends in the midst of text."""
        place, column = 0, self._column if self.is_open else 1
        while True:
            if not self.is_open and line.startswith('"', place):
                self.is_open, self._line, self._column, place = True, number, column, place + 1
            if self.is_open:
                closed = REST_OF_QUOTED.match(line, place)
                if closed is None:
                    return False
                self.is_open, place = False, closed.end()
                if self._line < number and not self._blanks.match(line, place):
                    return True
            place = cast(re.Match[str], self._plain.match(line, place)).end()
            if not line.startswith(self._delimiter, place):
                return False
            place, column = place + 1, column + 1

    def words(self, what: str) -> str:
        """Say it, and what to do."""
        return (
            f"the quote that opens in line {self._line}, column {self._column}, {what}. Close it "
            'where the cell ends; a quote that is part of a text is written twice ("").'
        )


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


BLOCK = 2 * 2**20
"""Bytes parsed at a time: no row can be longer. Arrow reads some thirty of them ahead."""

BYTES_PER_COLUMN = 640
"""Of a block of a wide table: every block costs its columns about a kilobyte each."""


def iter_delimited(source: TableFile, encoding: str | None, delimiter: str | None) -> Iterator[Any]:
    """Yield the file as Arrow tables of text."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    mark = delimiter_of(source, delimiter)
    encoding = find_encoding(source, encoding)
    names = check_header(source, encoding, mark)
    block = min(max(BLOCK, BYTES_PER_COLUMN * len(names)), LONGEST_CELL)
    bad_rows: list[Any] = []
    lines = reader = None

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
            waiting, n_rows = reader.schema.empty_table().rename_columns(fixed), 0
            for batch in reader:
                yield waiting
                waiting = pa.Table.from_batches([batch]).rename_columns(fixed)
                n_rows += batch.num_rows
        # A quote that is not closed shows at the end: before that, the last rows are kept back.
        fault = quote_fault(source, encoding, mark) if lines.is_in_doubt(n_rows) else None
        if fault is not None:
            raise DataFileError(fault)
        yield waiting
    except pa.ArrowInvalid as error:
        fault = quote_fault(source, encoding, mark)
        said = _explain(str(error), bad_rows, block) if fault is None else fault
        raise DataFileError(said) from error
    finally:
        del reader
        _wait_for_release(lines)


def _wait_for_release(lines: CountedLines | None) -> None:
    """Wait until Arrow's background thread has dropped a stream, for at most a second.

    Python aborts if the process ends before, as it does right after an error in a short file.
    """
    until = time.monotonic() + 1.0
    ours = 3  # the caller's, the argument here, and that of getrefcount
    while lines is not None and sys.getrefcount(lines) > ours and time.monotonic() < until:
        time.sleep(0.001)


def _explain(said: str, bad_rows: list[Any], block: int) -> str:
    if "UTF8" in said:
        return WRONG_ENCODING
    if bad_rows:
        row = bad_rows[0]
        place = f"row {row.number}" if row.number else "a row"
        return wrong_length(place, row.actual_columns, row.expected_columns, row.text)
    if "straddl" in said or "out of sync" in said:
        return f"a row is longer than {block // 2**20} MB; no row of a table should be."
    return f"it is not well formed ({' '.join(said.split())[:200]})."
