"""Where data sets live on disk, how their tables are read, and how a loader hands them over."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from unconfused._text.extras import import_extra
from unconfused._typing import FloatArray, Labels

DATA_VARIABLE = "UNCONFUSED_DATA"

Subset: TypeAlias = Literal["train", "test", "all"]
DataHome: TypeAlias = str | os.PathLike[str] | None


@dataclass(frozen=True)
class TableFile:
    """What a comma-separated file should hold.

    ``n_rows`` of None accepts any number. A file with another checksum is an error, unless
    ``own_copies`` says that people may well have made the file themselves: then it is a warning.
    """

    name: str
    n_columns: int
    n_rows: int | None
    sha256: str
    own_copies: bool = False


def find_data_home(data_home: DataHome = None) -> Path:
    """Resolve the folder of data sets: the argument, else the variable, else the user's cache."""
    if data_home is not None:
        return Path(data_home).expanduser()
    if os.environ.get(DATA_VARIABLE):
        return Path(os.environ[DATA_VARIABLE]).expanduser()
    return _user_cache() / "unconfused"


def _user_cache() -> Path:
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"])
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        return Path(os.environ["LOCALAPPDATA"])
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path.home() / ".cache"


def parts_of(subset: Subset) -> list[str]:
    """Name the parts, train before test, that a subset is made of."""
    if subset not in get_args(Subset):
        raise ValueError(f'subset must be "train", "test" or "all", got {subset!r}.')
    return ["train", "test"] if subset == "all" else [subset]


def has_files(folder: Path, names: Iterable[str]) -> bool:
    """Tell whether the folder holds all of these files."""
    return all((folder / name).is_file() for name in names)


def not_found(title: str, folder: Path, names: Iterable[str]) -> str:
    """Say what was looked for, where, and how to point elsewhere."""
    return (
        f"The {title} data set was not found. Looked in {folder} for: {', '.join(names)}. "
        f"Put the files there, or name the folder that contains '{folder.name}' by the argument "
        f"data_home or the environment variable {DATA_VARIABLE}."
    )


def read_table(folder: Path, table: TableFile) -> NDArray[np.str_]:
    """Read a comma-separated file as strings, and refuse one that is damaged."""
    return np.array(read_rows(folder, table))


def read_rows(folder: Path, table: TableFile) -> list[list[str]]:
    """Read a comma-separated file as lists of strings: texts differ much in length.

    The shape is checked before the checksum because it makes the better message.
    """
    path = folder / table.name
    content = path.read_bytes().replace(b"\r\n", b"\n")
    try:
        # Texts may hold line ends, and characters that Python takes for them.
        lines = io.StringIO(content.decode("utf-8"), newline="\n")
        rows = [row for row in csv.reader(lines) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} is not a comma-separated text file: {error}.") from error
    _check_shape(path, rows, table)
    _check_content(path, content, table)
    return rows


def read_columns(folder: Path, table: TableFile, names: list[str]) -> dict[str, list[str]]:
    """Read a table whose header is known, column by column."""
    header, *rows = read_rows(folder, table)
    if header != names:
        raise ValueError(
            f"{folder / table.name} has the columns {', '.join(header)}; expected "
            f"{', '.join(names)}."
        )
    if not rows:
        raise ValueError(f"{folder / table.name} is empty below its header.")
    columns = [list(column) for column in zip(*rows, strict=True)]
    return dict(zip(names, columns, strict=True))


def _check_shape(path: Path, rows: list[list[str]], table: TableFile) -> None:
    if not rows:
        raise ValueError(f"{path} is empty; {table.n_columns} columns were expected.")
    for number, row in enumerate(rows, start=1):
        if len(row) != table.n_columns:
            raise ValueError(
                f"{path} is damaged: row {number} has {len(row)} fields, expected "
                f"{table.n_columns}."
            )
    if table.n_rows is not None and len(rows) != table.n_rows:
        raise ValueError(
            f"{path} is damaged: it has {len(rows)} rows, expected {table.n_rows}."
            " Was it cut short?"
        )


def _check_content(path: Path, content: bytes, table: TableFile) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found == table.sha256:
        return
    if not table.own_copies:
        raise ValueError(
            f"{path} is damaged: its SHA-256 is {found}, expected {table.sha256}. "
            "Remove the file to have the set downloaded again."
        )
    warnings.warn(
        f"{path} is not the copy of this file that published results come from: its SHA-256 is "
        f"{found}, not {table.sha256}.",
        UserWarning,
        stacklevel=6,
    )


def empty_as_none(fields: list[str]) -> Labels:
    """Return labels as objects, None where a field is empty."""
    return np.array([field or None for field in fields], dtype=object)


def as_numbers(path: Path, fields: NDArray[np.str_]) -> FloatArray:
    """Turn the fields of a table into numbers."""
    try:
        numbers = fields.astype(np.float64)
    except ValueError as error:
        raise ValueError(f"{path} is damaged: numbers were expected, but {error}.") from error
    if not np.isfinite(numbers).all():
        raise ValueError(f"{path} is damaged: a feature is not a finite number.")
    return numbers


def import_pandas() -> Any:
    """Import pandas, or say how to get it."""
    return import_extra("pandas", "data", "as_frame=True")


def hand_over(
    data: Any,
    target: Labels,
    *,
    feature_names: list[str] | None,
    target_names: Labels,
    description: str,
    return_X_y: bool,
    as_frame: bool = False,
    **more: Any,
) -> Any:
    """Pack a set the way the caller asked: a pair or a ``Bunch``, of arrays or of frames."""
    frame = None
    if as_frame:
        pandas = import_pandas()
        data = pandas.DataFrame(data, columns=feature_names)
        target = pandas.Series(target, name="target")
        frame = pandas.concat([data, target], axis=1)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=feature_names,
        target_names=target_names,
        DESCR=description,
        **more,
    )
