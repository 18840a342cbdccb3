"""Read tables of any format: `read_table`, `iter_tables`."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Collection, Iterator
from typing import Any

from unconfused._files import DataFileError, TableFile, find_source, reading
from unconfused._files.types import to_frame
from unconfused._text import import_extra

BATCH_ROWS = 2**16


def read_table(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - what everybody calls it
    encoding: str | None = None,
    delimiter: str | None = None,
    as_text: Collection[str] = (),
) -> Any:
    r"""Read a table: a pandas frame, or `LabelledRows` where columns have no names.

    Columns `as_text` stay as they are written (codes such as 007). A file that cannot be read
    raises a DataFileError, which says what is wrong and what to do.

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
    """Yield a table in frames of at most `rows` rows, their index that of the rows in the file.

    The types of a text file's columns are found part by part: a column may be numbers in one and
    text in another.
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
    """Yield frames of at most `rows` rows, None for one frame; at least one, or an error."""
    import_extra("pandas", "data", "Reading tables")
    if source.format in ("parquet", "arrow"):
        import_extra("pyarrow", "files", f"Reading {source.name}")
    with reading(source.path, source.name):
        if source.format == "jsonl":
            from unconfused._files.jsonlines import frame_of, iter_records

            records = iter_records(source, encoding)
            yield frame_of(list(itertools.islice(records, rows)), as_text)
            while part := list(itertools.islice(records, rows)):
                yield frame_of(part, as_text)
        elif source.format in ("parquet", "arrow"):
            import pyarrow as pa

            if rows is None:
                yield to_frame(pa.concat_tables(_columnar(source)))
                return
            for table in _columnar(source):
                for start in range(0, table.num_rows, rows):
                    yield to_frame(table.slice(start, rows))
        else:
            from unconfused._files.delimited import iter_delimited, read_delimited

            if rows is None:
                yield read_delimited(source, encoding, delimiter, as_text)
            else:
                yield from iter_delimited(source, encoding, delimiter, rows, as_text)


def _columnar(source: TableFile) -> Iterator[Any]:
    """Yield a Parquet or Arrow file as Arrow tables."""
    import pyarrow as pa
    from pyarrow import parquet

    with contextlib.ExitStack() as stack:
        if source.format == "parquet":
            file = parquet.ParquetFile(source.path, page_checksum_verification=True)
            stack.enter_context(file)
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
        n_rows = 0
        for batch in batches:
            table = pa.Table.from_batches([batch])
            # A damaged file may hold offsets that point anywhere: look before they are followed.
            table.validate(full=True)
            n_rows += table.num_rows
            yield table
        if not n_rows:
            raise DataFileError("it has a header but no rows.")
