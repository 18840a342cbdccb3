"""Parquet and Arrow: tables with types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unconfused._files.errors import DataFileError, reading
from unconfused._files.formats import TableFile


def iter_batches(source: TableFile, rows: int) -> Iterator[Any]:
    """Yield a file as Arrow tables with a maximum number of rows."""
    with reading(source.path, source.name):
        batches = _parquet(source, rows) if source.format == "parquet" else _arrow(source, rows)
        for table in batches:
            # A damaged file may hold offsets that point anywhere: look before they are followed.
            table.validate(full=True)
            yield table


def _parquet(source: TableFile, rows: int) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import parquet

    with parquet.ParquetFile(source.path, page_checksum_verification=True) as file:
        schema = file.schema_arrow
        empty = True
        for batch in file.iter_batches(batch_size=rows, use_threads=False):
            empty = False
            yield pa.Table.from_batches([batch])
        if empty:
            yield schema.empty_table()


def _arrow(source: TableFile, rows: int) -> Iterator[Any]:
    import pyarrow as pa

    with source.open() as stream:
        head = stream.read(6)
        stream.seek(0)
        if head[:4] == b"FEA1":
            raise DataFileError("it is a Feather file of version 1; save it as Arrow or Parquet.")
        reader = pa.ipc.open_file(stream) if head == b"ARROW1" else pa.ipc.open_stream(stream)
        yield reader.schema.empty_table()
        batches = (
            (reader.get_batch(place) for place in range(reader.num_record_batches))
            if head == b"ARROW1"
            else reader
        )
        for batch in batches:
            table = pa.Table.from_batches([batch])
            table.validate(full=True)
            for start in range(0, table.num_rows, rows):
                yield table.slice(start, rows)
