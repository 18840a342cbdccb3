"""CSV and TSV: rows must match the header; types are inferred from all cells of a column."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

from unconfused._files.errors import WRONG_ENCODING, DataFileError
from unconfused._files.formats import TableFile, find_encoding, open_utf8
from unconfused._files.formulas import unescape_cell
from unconfused._files.quotes import (
    LONGEST_CELL,
    CountedLines,
    check_header,
    delimiter_of,
    quote_fault,
    wrong_length,
)
from unconfused._files.types import column_names

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
