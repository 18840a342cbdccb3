"""Write tables, atomically: `write_table`, and in chunks `open_table`."""

from __future__ import annotations

import contextlib
import csv
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from unconfused._atomic import os_errors_as, refuse_folder, refuse_target, whole_file
from unconfused._files import NAMES, PACKED, DataFileError, find_format
from unconfused._files.types import escape_frame
from unconfused._text import import_extra, one_line

WRITTEN = ("csv", "tsv", "jsonl", "parquet", "arrow")

Append = Callable[[Any], None]


def write_table(
    frame: Any, path: str | os.PathLike[str], *, force: bool = False, escape: bool = False
) -> Path:
    r"""Write a frame, without its index, in the format of the extension; whole, or not at all.

    With `escape`, an apostrophe goes before text in CSV and TSV that a spreadsheet would take for a
    formula; `read_table` removes it.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> path = Path(tempfile.mkdtemp()) / "pets.csv"
    >>> write_table(pd.DataFrame({"size": [3, 7], "kind": ["cat", "dog"]}), path).read_text()
    'size,kind\n3,cat\n7,dog\n'
    """
    target = check_table_target(path, force=force)
    try:
        with open_table(target, force=force, escape=escape) as append:
            append(frame)
    except DataFileError:
        raise
    except Exception as error:  # values that the format cannot hold
        name = NAMES[find_format(target)[0]]
        raise DataFileError(f"This table cannot be written as {name}: {one_line(error)}") from error
    return target


@contextlib.contextmanager
def open_table(
    path: str | os.PathLike[str], *, force: bool = False, escape: bool = False
) -> Iterator[Append]:
    """Yield a function that appends frames, all of the same columns, to a file.

    The file appears when the block ends; if the block fails, nothing is left behind.
    """
    target = check_table_target(path, force=force)
    found, packing = find_format(target)
    columnar, escaped = found in ("parquet", "arrow"), escape and found in ("csv", "tsv")
    with os_errors_as(DataFileError), whole_file(target, force=force) as scratch:
        parts = _columnar(scratch, found) if columnar else _text(scratch, found, packing)
        with parts as append:
            yield lambda frame: append(escape_frame(frame) if escaped else frame)


def check_table_target(path: str | os.PathLike[str], *, force: bool) -> Path:
    """Raise, before any work, if a table cannot be written here."""
    target = Path(path)
    found, _ = find_format(target)
    if found not in WRITTEN:
        raise DataFileError(
            f"{target}: {NAMES[found]} is not written; choose {', '.join(WRITTEN)}."
        )
    if found in ("parquet", "arrow"):
        import_extra("pyarrow", "files", f"Writing {NAMES[found]}")
    with os_errors_as(DataFileError):
        refuse_target(target, force=force)
        refuse_folder(target)
    return target


@contextlib.contextmanager
def _text(scratch: Path, found: str, packing: str | None) -> Iterator[Append]:
    opener = open if packing is None else PACKED[packing]
    as_json: dict[str, Any] = {"orient": "records", "lines": True, "force_ascii": False}
    as_json |= {"date_format": "iso", "double_precision": 15}
    header = True
    with opener(scratch, "wt", encoding="utf-8", newline="") as stream:

        def append(frame: Any) -> None:
            nonlocal header
            if found == "jsonl":
                frame.to_json(stream, **as_json)
                return
            mark = "," if found == "csv" else "\t"
            # A return that is not quoted would end a row; only Python 3.13 and later quotes it.
            quoting = csv.QUOTE_NONNUMERIC if _holds_returns(frame) else csv.QUOTE_MINIMAL
            style: Any = {"sep": mark, "lineterminator": "\n", "quoting": quoting}
            frame.to_csv(stream, index=False, header=header, **style)
            header = False

        yield append


def _holds_returns(frame: Any) -> bool:
    words = [frame.iloc[:, place] for place, kind in enumerate(frame.dtypes) if kind.kind == "O"]
    cells = itertools.chain(frame.columns, *words)
    return any("\r" in cell for cell in cells if isinstance(cell, str))


@contextlib.contextmanager
def _columnar(scratch: Path, found: str) -> Iterator[Append]:
    import pyarrow as pa
    from pyarrow import parquet

    writer: Any = None
    schema: Any = None
    packed = pa.ipc.IpcWriteOptions(compression="lz4" if pa.Codec.is_available("lz4") else None)
    with contextlib.ExitStack() as stack:

        def append(frame: Any) -> None:
            nonlocal writer, schema
            table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
            table = table.replace_schema_metadata(None)
            if writer is None:
                schema = table.schema
                writer = stack.enter_context(
                    parquet.ParquetWriter(scratch, schema, write_page_checksum=True)
                    if found == "parquet"
                    else pa.ipc.new_file(str(scratch), schema, options=packed)
                )
            writer.write_table(table)

        yield append
