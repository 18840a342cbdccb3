"""Read tables of any format: `read_table`, `iter_tables`."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
from collections.abc import Collection, Iterator
from typing import Any

from unconfused._files.errors import DataFileError, reading
from unconfused._files.formats import TableFile, find_source
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
    return next(_frames(source, None, encoding, delimiter, as_text))


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
    begun = 0
    for frame in _frames(source, rows, encoding, delimiter, as_text):
        frame.index = range(begun, begun + len(frame))
        begun += len(frame)
        yield frame


def _frames(
    source: TableFile,
    rows: int | None,
    encoding: str | None,
    delimiter: str | None,
    as_text: Collection[str],
) -> Iterator[Any]:
    """Yield frames of `rows` rows each, None for one frame; at least one, or an error."""
    has_arrow = _need_packages(source)
    is_text = source.format in ("csv", "tsv")
    with reading(source.path, source.name):
        if source.format == "jsonl":
            from unconfused._files.jsonlines import frame_of, iter_records

            records = iter_records(source, encoding)
            part = list(itertools.islice(records, rows))
            yield frame_of(part, as_text)
            while part := list(itertools.islice(records, rows)):
                yield frame_of(part, as_text)
        elif not has_arrow:
            from unconfused._files.plain import iter_plain

            yield from iter_plain(source, encoding, delimiter, rows, as_text)
        else:
            from unconfused._files.delimited import iter_delimited

            tables = iter_delimited(source, encoding, delimiter) if is_text else _columnar(source)
            for table in _regrouped(tables, rows):
                yield to_frame(typed(table, as_text) if is_text else table)


def _regrouped(tables: Iterator[Any], rows: int | None) -> Iterator[Any]:
    """Yield tables of `rows` rows each, the last one shorter; at least one, if it is empty."""
    import pyarrow as pa

    if rows is None:
        yield pa.concat_tables(list(tables))
        return
    waiting, yielded = next(tables), False
    for table in tables:
        waiting = pa.concat_tables([waiting, table])
        while waiting.num_rows >= rows:
            yield waiting.slice(0, rows)
            waiting, yielded = waiting.slice(rows), True
    if waiting.num_rows or not yielded:
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


def _columnar(source: TableFile) -> Iterator[Any]:
    """Yield a Parquet or Arrow file as Arrow tables, the first of them empty."""
    import pyarrow as pa
    from pyarrow import parquet

    with contextlib.ExitStack() as stack:
        if source.format == "parquet":
            file = parquet.ParquetFile(source.path, page_checksum_verification=True)
            stack.enter_context(file)
            schema = file.schema_arrow
            batches = file.iter_batches(batch_size=BATCH_ROWS, use_threads=False)
        else:
            stream = stack.enter_context(source.open())
            head = stream.read(6)
            stream.seek(0)
            if head[:4] == b"FEA1":
                raise DataFileError("it is a Feather file of version 1; save it as Arrow.")
            if head == b"ARROW1":
                whole = pa.ipc.open_file(stream)
                batches = map(whole.get_batch, range(whole.num_record_batches))
            else:
                batches = whole = pa.ipc.open_stream(stream)
            schema = whole.schema
        yield schema.empty_table()
        for batch in batches:
            table = pa.Table.from_batches([batch])
            # A damaged file may hold offsets that point anywhere: look before they are followed.
            table.validate(full=True)
            yield table
