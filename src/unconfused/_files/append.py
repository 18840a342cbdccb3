"""Write a table in chunks, atomically: `open_table`."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

from unconfused._atomic import whole_file
from unconfused._files.errors import writing
from unconfused._files.formats import find_format
from unconfused._files.write import check_table_target, safe_text, write_text

OPENERS: dict[str | None, Callable[..., Any]] = {None: open, ".gz": gzip.open, ".bz2": bz2.open}

Append = Callable[[Any], None]


@contextlib.contextmanager
def open_table(
    path: str | os.PathLike[str], *, force: bool = False, escape: bool = False
) -> Iterator[Append]:
    r"""Yield a function that appends frames, all of the same columns, to a file.

    When the block ends well, the file is there; when it does not, nothing is left behind.

    Parameters
    ----------
    path, force, escape : as for `write_table`

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> path = Path(tempfile.mkdtemp()) / "pets.csv"
    >>> with open_table(path) as append:
    ...     append(pd.DataFrame({"size": [3]}))
    ...     append(pd.DataFrame({"size": [7]}))
    >>> path.read_text()
    'size\n3\n7\n'
    """
    target = check_table_target(path, force=force)
    found, packing = find_format(target)
    with writing(target), whole_file(target, force=force) as scratch:
        columnar = found in ("parquet", "arrow")
        parts = _arrow(scratch, found) if columnar else _text(scratch, found, packing)
        with parts as append:
            yield lambda frame: append(safe_text(frame, found, escape))


@contextlib.contextmanager
def _text(scratch: Path, found: str, packing: str | None) -> Iterator[Append]:
    with OPENERS[packing](scratch, "wt", encoding="utf-8", newline="") as stream:
        begun = False

        def append(frame: Any) -> None:
            nonlocal begun
            write_text(frame, stream, found, header=not begun)
            begun = True

        yield append


@contextlib.contextmanager
def _arrow(scratch: Path, found: str) -> Iterator[Append]:
    import pyarrow as pa
    from pyarrow import parquet

    with contextlib.ExitStack() as stack:
        writer: Any = None

        def append(frame: Any) -> None:
            nonlocal writer
            schema = None if writer is None else writer.schema
            table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
            table = table.replace_schema_metadata(None)
            if writer is None:
                opened = (
                    parquet.ParquetWriter(scratch, table.schema, write_page_checksum=True)
                    if found == "parquet"
                    else _ArrowFile(pa.ipc.new_file(str(scratch), table.schema), table.schema)
                )
                writer = stack.enter_context(cast(Any, opened))
            writer.write_table(table)

        yield append


class _ArrowFile:
    """An Arrow file writer with the interface of the Parquet one."""

    def __init__(self, writer: Any, schema: Any) -> None:
        self.schema, self._writer = schema, writer
        self.write_table = writer.write_table

    def __enter__(self) -> _ArrowFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()
