"""Write tables, atomically: `write_table`."""

from __future__ import annotations

import csv
import itertools
import os
from pathlib import Path
from typing import Any

from unconfused._atomic import refuse_target, whole_file
from unconfused._files.errors import DataFileError, in_words, writing
from unconfused._files.formats import NAMES, find_format
from unconfused._files.formulas import escape_frame
from unconfused._text.extras import import_extra

WRITTEN = ("csv", "tsv", "jsonl", "parquet", "arrow")


def write_table(
    frame: Any, path: str | os.PathLike[str], *, force: bool = False, escape: bool = False
) -> Path:
    r"""Write a frame, without its index, in the format of the extension.

    Parameters
    ----------
    frame : pandas DataFrame
    path : a .csv, .tsv, .jsonl, .parquet or .arrow file; text also with .gz or .bz2
    force : replace a file that is there already
    escape : in CSV and TSV, put an apostrophe before text that a spreadsheet would take for a
        formula; `read_table` takes it away again

    Returns
    -------
    The path. The file is written whole or not at all.

    Raises
    ------
    DataFileError : with a message that says what is wrong and what to do

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> path = Path(tempfile.mkdtemp()) / "pets.csv"
    >>> write_table(pd.DataFrame({"size": [3, 7], "kind": ["cat", "dog"]}), path).read_text()
    'size,kind\n3,cat\n7,dog\n'
    """
    target = check_table_target(path, force=force)
    found, packing = find_format(target)
    packed = {None: None, ".gz": "gzip", ".bz2": "bz2"}[packing]
    try:
        with writing(target), whole_file(target, force=force) as scratch:
            _write(safe_text(frame, found, escape), scratch, found, packed)
    except DataFileError:
        raise
    except Exception as error:  # values that the format cannot hold
        raise DataFileError(
            f"This table cannot be written as {NAMES[found]}: {in_words(error)}"
        ) from error
    return target


def check_table_target(path: str | os.PathLike[str], *, force: bool) -> Path:
    """Raise, before any work, if a table cannot be written here.

    Examples
    --------
    >>> check_table_target("pets.xlsx", force=False)
    Traceback (most recent call last):
        ...
    unconfused._files.errors.DataFileError: pets.xlsx: the extension is not known. ...
    """
    target = Path(path)
    found, _ = find_format(target)
    if found not in WRITTEN:
        raise DataFileError(
            f"{target}: {NAMES[found]} is not written; choose {', '.join(WRITTEN)}."
        )
    if found in ("parquet", "arrow"):
        import_extra("pyarrow", "files", f"Writing {NAMES[found]}")
    with writing(target):
        refuse_target(target, force=force)
    return target


def _write(frame: Any, scratch: Path, found: str, packing: str | None) -> None:
    if found in ("csv", "tsv", "jsonl"):
        write_text(frame, scratch, found, compression=packing)
    else:
        import pyarrow as pa
        from pyarrow import feather, parquet

        table = pa.Table.from_pandas(frame, preserve_index=False)
        if found == "parquet":
            parquet.write_table(table, scratch, write_page_checksum=True)
        else:
            feather.write_feather(table, str(scratch))


def safe_text(frame: Any, found: str, escape: bool) -> Any:
    """Return a frame escaped for spreadsheets, if they open the format."""
    return escape_frame(frame) if escape and found in ("csv", "tsv") else frame


def write_text(frame: Any, where: Any, found: str, *, header: bool = True, **options: Any) -> None:
    """Write a frame as CSV, TSV or JSON lines, to a path or a stream."""
    if found == "jsonl":
        frame.to_json(
            where,
            orient="records",
            lines=True,
            force_ascii=False,
            date_format="iso",
            double_precision=15,
            **options,
        )
        return
    separator = "," if found == "csv" else "\t"
    # A return that is not quoted would end a row, and only Python 3.13 and later quotes it.
    quoting = csv.QUOTE_NONNUMERIC if _holds_returns(frame) else csv.QUOTE_MINIMAL
    frame.to_csv(
        where,
        index=False,
        sep=separator,
        lineterminator="\n",
        header=header,
        quoting=quoting,
        **options,
    )


def _holds_returns(frame: Any) -> bool:
    words = [frame.iloc[:, place] for place, kind in enumerate(frame.dtypes) if kind.kind == "O"]
    cells = itertools.chain(frame.columns, *words)
    return any("\r" in cell for cell in cells if isinstance(cell, str))
