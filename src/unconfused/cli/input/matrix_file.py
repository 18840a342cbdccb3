"""Confusion matrices in CSV files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from unconfused._files import DataFileError, find_encoding, find_source, open_text, reading
from unconfused._files.delimited import iter_rows
from unconfused._files.types import unescape_cell
from unconfused._files.write import write_table
from unconfused._typing import FloatArray, Labels

CORNER = "true \\ observed"
"""Header of the column with the row names."""


def read_matrix(
    path: Path, *, other_labels: bool = False
) -> tuple[FloatArray, list[str], list[str]]:
    """Read a matrix with its row and column names, empty if the file has none.

    With `other_labels`, named columns need not be the classes that the rows name.
    """
    rows = _cells(path)
    named = _number(rows[0][0]) is None
    columns = [unescape_cell(name.strip()) for name in rows[0][1:]] if named else []
    names = [unescape_cell(row[0].strip()) for row in rows[1:]] if named else []
    body = [row[1:] for row in rows[1:]] if named else rows
    if len(rows) == len(rows[0]) + 1 and (not named or _lacks_names(rows[1:])):
        raise DataFileError(
            f"{path} has one line more than columns. If the first is a header, begin every other "
            "line with the name of its true class, and the header with an empty cell."
        )
    if not body or not body[0]:
        raise DataFileError(f"{path} holds no numbers.")
    numbers = [[_number(cell) for cell in row] for row in body]
    for line, row in enumerate(numbers):
        if None in row:
            cell = body[line][row.index(None)]
            raise DataFileError(
                f"{path}: {cell!r} in row {line + 1} of the matrix is not a number."
            )
    rectangular = other_labels and len(names) > 1
    if not rectangular or (len(names) == len(columns) and set(names) & set(columns)):
        _refuse_other_shape(path, len(numbers), len(numbers[0]), names, columns)
    return np.array(numbers, dtype=np.float64), names, columns


def _lacks_names(lines: list[list[str]]) -> bool:
    """Return whether lines are rows of a matrix to their first cell."""
    numbers = [[_number(cell) for cell in line] for line in lines]
    return all(None not in row and abs(sum(filter(None, row)) - 1) < 1e-6 for row in numbers)


def _refuse_other_shape(
    path: Path, height: int, width: int, names: list[str], columns: list[str]
) -> None:
    if height != width:
        raise DataFileError(
            f"{path}: the matrix has {height} rows and {width} columns; it must be square, a row "
            "for every true class and a column for every label. Only `fit`, without --report, "
            "takes labels that are not classes, such as 'unsure'; name rows and columns then."
        )
    if set(names) != set(columns):
        raise DataFileError(
            f"{path}: rows are named {', '.join(names[:5])} and columns {', '.join(columns[:5])}; "
            "both must name the same classes. A header begins with a cell above the row names."
        )


def write_matrix(
    path: Path, matrix: FloatArray, classes: Labels, *, force: bool, escape: bool
) -> None:
    """Write a matrix with its names, atomically."""
    shares = [[f"{share:.6g}" for share in row] for row in matrix.tolist()]
    table = labelled(shares, classes.astype(str), classes.astype(str))
    table = table.reset_index(names=CORNER, allow_duplicates=True)
    write_table(table, path, force=force, escape=escape)


def _cells(path: Path) -> list[list[str]]:
    source = find_source(path, "csv")
    delimiter = "\t" if path.suffix.lower() in (".tsv", ".tab") else ","
    with reading(path, "CSV"), open_text(source, find_encoding(source, None)) as stream:
        try:
            rows = [row for row in iter_rows(stream, delimiter) if any(row)]
        except UnicodeDecodeError:  # --encoding is that of the data
            raise DataFileError("the text is not UTF-8; convert the file.") from None
    if not rows:
        raise DataFileError(f"{path} is empty.")
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise DataFileError(
            f"{path}: the lines have {min(widths)} to {max(widths)} cells; all need the same "
            "number, separated by commas, and numbers need a decimal point."
        )
    return rows


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def labelled(matrix: Any, rows: Labels, columns: Labels) -> Any:
    """Return a matrix with its names as a frame."""
    import pandas as pd

    return pd.DataFrame(matrix, index=rows, columns=columns)
