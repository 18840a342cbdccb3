"""Read tables of any format: `read_table`, `iter_tables`."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
from collections.abc import Collection, Iterator
from typing import Any

from unconfused._files.delimited import iter_delimited, read_delimited
from unconfused._files.errors import DataFileError, reading
from unconfused._files.formats import TableFile, find_source
from unconfused._files.plain import iter_plain
from unconfused._files.types import to_frame, typed
from unconfused._text.extras import import_extra

BATCH_ROWS = 2**16


def read_table(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - what everybody calls it
    encoding: str | None = None,
    delimiter: str | None = None,
    as_text: Collection[str] = (),
) -> Any:
    r"""Read a table.

    CSV, TSV, JSON lines, Parquet and Arrow (Feather) give a pandas frame: numbers, text, truth
    values and dates. svmlight and NPZ give `LabelledRows`, as their columns have no names. Text
    may be packed with gzip or bzip2.

    Parameters
    ----------
    path : the file; its ending says the format
    format : the format, if the extension does not tell: csv, tsv, jsonl, parquet, arrow, svmlight
        or npz
    encoding : of text; None for UTF-8, or what a byte order mark says
    delimiter : between the cells of CSV and TSV; None for a comma or a tab
    as_text : columns to leave as they are written in a text file (codes such as 007)

    Returns
    -------
    pandas DataFrame or LabelledRows

    Raises
    ------
    DataFileError : with a message that says what is wrong and what to do

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "pets.csv"
    >>> _ = path.write_text("size,kind\n3,cat\n7,dog\n")
    >>> read_table(path)
       size kind
    0     3  cat
    1     7  dog
    """
    source = find_source(path, format)
    if source.format in ("svmlight", "npz"):
        from unconfused._files.sparse import read_npz, read_svmlight

        return read_svmlight(source) if source.format == "svmlight" else read_npz(source)
    has_arrow = _need_packages(source)
    if source.format == "jsonl":
        from unconfused._files.jsonlines import frame_of, iter_records

        records = list(iter_records(source, encoding))
        with reading(source.path, source.name):
            return frame_of(records, as_text)
    if not has_arrow:
        return next(iter_plain(source, encoding, delimiter, None, as_text))
    import pyarrow as pa

    if source.format in ("csv", "tsv"):
        table = read_delimited(source, encoding, delimiter, as_text)
    else:
        from unconfused._files.columnar import iter_batches

        table = pa.concat_tables(list(iter_batches(source, BATCH_ROWS)))
    with reading(source.path, source.name):
        return to_frame(table)


def iter_tables(
    path: str | os.PathLike[str],
    *,
    rows: int = BATCH_ROWS,
    format: str | None = None,  # noqa: A002 - as above
    encoding: str | None = None,
    delimiter: str | None = None,
    as_text: Collection[str] = (),
) -> Iterator[Any]:
    r"""Read a table in chunks, for files larger than memory.

    The types of a text file's columns are found part by part: a column may be numbers in one and
    text in another. svmlight and NPZ cannot be read in parts.

    Parameters
    ----------
    path, format, encoding, delimiter, as_text : as for `read_table`
    rows : how many rows each frame has; the last may have fewer

    Yields
    ------
    pandas DataFrames, their index that of the rows in the file

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "pets.csv"
    >>> _ = path.write_text("size,kind\n3,cat\n7,dog\n5,cat\n")
    >>> [len(part) for part in iter_tables(path, rows=2)]
    [2, 1]
    """
    if rows < 1:
        raise DataFileError(f"A part must have at least one row; rows={rows}.")
    source = find_source(path, format)
    if source.format in ("svmlight", "npz"):
        raise DataFileError(f"{source.path}: {source.name} cannot be read in parts.")
    has_arrow = _need_packages(source)
    frames = _frames(source, rows, encoding, delimiter, as_text)
    if not has_arrow and source.format != "jsonl":
        frames = iter_plain(source, encoding, delimiter, rows, as_text)
    begun = 0
    for frame in frames:
        frame.index = range(begun, begun + len(frame))
        begun += len(frame)
        yield frame


def _frames(
    source: TableFile,
    rows: int,
    encoding: str | None,
    delimiter: str | None,
    as_text: Collection[str],
) -> Iterator[Any]:
    if source.format == "jsonl":
        from unconfused._files.jsonlines import frame_of, iter_records

        records = iter_records(source, encoding)
        first = list(itertools.islice(records, rows))
        parts = iter(lambda: list(itertools.islice(records, rows)), [])
        for part in itertools.chain([first], parts):
            with reading(source.path, source.name):
                yield frame_of(part, as_text)
        return
    text = source.format in ("csv", "tsv")
    if text:
        batches = iter_delimited(source, encoding, delimiter)
    else:
        from unconfused._files.columnar import iter_batches

        batches = iter_batches(source, BATCH_ROWS)
    for table in _regrouped(batches, rows):
        with reading(source.path, source.name):
            yield to_frame(typed(table, as_text) if text else table)


def _regrouped(batches: Iterator[Any], rows: int) -> Iterator[Any]:
    """Yield tables of `rows` rows each, the last one shorter; at least one, if it is empty."""
    import pyarrow as pa

    waiting, yielded = None, False
    for batch in batches:
        table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
        waiting = table if waiting is None else pa.concat_tables([waiting, table])
        while waiting.num_rows >= rows:
            yield waiting.slice(0, rows)
            waiting, yielded = waiting.slice(rows), True
    if waiting is not None and (waiting.num_rows or not yielded):
        yield waiting


def _need_packages(source: TableFile) -> bool:
    """Return whether pyarrow is there; raise if the format cannot be read without it."""
    import_extra("pandas", "data", "Reading tables")
    if source.format not in ("parquet", "arrow"):
        with contextlib.suppress(ImportError):
            importlib.import_module("pyarrow")
            return True
        return False
    import_extra("pyarrow", "files", f"Reading {source.name}")
    return True
