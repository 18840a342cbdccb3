"""Quotes in delimited text that are not closed, or closed too late: `quote_fault`."""

from __future__ import annotations

import re
from typing import Any, cast

from unconfused._files.formats import TableFile
from unconfused._files.text import open_text

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
