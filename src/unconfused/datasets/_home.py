"""Where data sets are stored, how their tables are read, and what all loaders share."""

from __future__ import annotations

import csv
import hashlib
import inspect
import io
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, Literal, TypeAlias, TypeVar, get_args
from urllib.error import URLError

import numpy as np
from sklearn.utils import Bunch

from unconfused._text import import_extra
from unconfused._typing import FloatArray, Labels

DATA_VARIABLE = "UNCONFUSED_DATA"

RETRIES: dict[str, Any] = {"n_retries": 3, "delay": 1.0}
"""How scikit-learn repeats a download; the delay is in seconds."""

Subset: TypeAlias = Literal["train", "test", "all"]
DataHome: TypeAlias = str | os.PathLike[str] | None
Loader = TypeVar("Loader", bound=Callable[..., Any])

SHARED_DOCS = {
    "data_home": """data_home : folder that contains the sub-folder; None for that in the
        environment variable ``UNCONFUSED_DATA``, or else one in the user's cache""",
    "return_X_y": "return_X_y : whether to return only ``(data, target)``",
    "as_frame": "as_frame : whether to return pandas objects",
    "download_if_missing": """download_if_missing : whether to download missing data rather than
        raise ``FileNotFoundError``""",
    "raises": """Raises
    ------
    FileNotFoundError
        If a file is missing, and cannot or may not be downloaded.
    ConnectionError
        If a download fails.
    ValueError
        If a file is damaged.""",
    "refusals": """Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If a file is damaged.""",
    "votes": """``votes``, one row per row of ``data`` and one column per
        annotator, None without an answer; ``annotators``, the names of these columns; and
        ``answers``, the same votes in long form: ``item`` (the row of ``data``), ``annotator`` and
        ``label``""",
}
"""Parts that the docstrings of the loaders share."""


def documented(loader: Loader) -> Loader:
    """Fill in `SHARED_DOCS` where a docstring names its parts, as in ``$data_home``."""
    loader.__doc__ = Template(loader.__doc__ or "").substitute(SHARED_DOCS)
    return loader


def about(loader: Callable[..., Any]) -> str:
    """Return what the docstring of a loader says about the data set."""
    return inspect.cleandoc(loader.__doc__ or "").partition("\n\nParameters\n")[0]


@dataclass(frozen=True)
class StoredSet:
    """A data set in comma-separated files with common columns, in a folder of its own.

    `checksums` are the SHA-256, by file name, of the copies that published results come from.
    Files of a public archive (`archived`) have no header and must be these copies; others have one,
    and are used with a warning if they differ: people may have made them themselves.
    """

    folder: str
    columns: list[str]
    checksums: dict[str, str]
    archived: bool = False

    def read(
        self, folder: Path, name: str, columns: list[str] | None = None
    ) -> dict[str, list[str]]:
        """Return the columns of a file, those of the set if not given; raise if it is damaged."""
        path, names = folder / name, columns or self.columns
        content = path.read_bytes().replace(b"\r\n", b"\n")
        try:
            # Texts may hold line ends, and characters that Python takes for them.
            lines = io.StringIO(content.decode("utf-8"), newline="\n")
            rows = [row for row in csv.reader(lines) if row]
        except (UnicodeDecodeError, csv.Error) as error:
            raise ValueError(f"{path} is not a comma-separated text file: {error}.") from error
        for number, row in enumerate(rows, start=1):
            if len(row) != len(names):
                raise ValueError(
                    f"{path} is damaged: row {number} has {len(row)} fields, expected {len(names)}."
                )
        found, expected = hashlib.sha256(content).hexdigest(), self.checksums[name]
        if found != expected:
            differs = f"its SHA-256 is {found}, expected {expected}"
            if self.archived:
                raise ValueError(
                    f"{path} is damaged, or was cut short: {differs}. Download it again."
                )
            warnings.warn(
                f"{path} is not the copy of this file that published results come from: {differs}.",
                UserWarning,
                stacklevel=4,
            )
        if not self.archived:
            header, *rows = rows or [[]]
            if header != names:
                raise ValueError(
                    f"{path} has the columns {', '.join(header)}; expected {', '.join(names)}."
                )
            if not rows:
                raise ValueError(f"{path} is empty below its header.")
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def find_data_home(data_home: DataHome = None) -> Path:
    """Return the folder of data sets: the argument, else the variable, else the user's cache."""
    if data_home is None:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
        data_home = os.environ.get(DATA_VARIABLE) or cache / "unconfused"
    return Path(data_home).expanduser()


def parts_of(subset: Subset) -> list[str]:
    """Return the parts of a subset, train before test."""
    if subset not in get_args(Subset):
        raise ValueError(f'subset must be "train", "test" or "all", got {subset!r}.')
    return ["train", "test"] if subset == "all" else [subset]


def what_is_missing(folder: Path, names: list[str]) -> str | None:
    """Return a message about missing files and how to name another folder; None if none is."""
    if all((folder / name).is_file() for name in names):
        return None
    return (
        f"The data set {folder.name!r} was not found. Looked in {folder} for: {', '.join(names)}. "
        f"Put the files there, or name the folder that contains {folder.name!r} by the argument "
        f"data_home or the environment variable {DATA_VARIABLE}."
    )


@contextmanager
def downloading(source: str, missing: str) -> Iterator[None]:
    """Turn a failed download into a ``ConnectionError`` that says which files are missing."""
    try:
        yield
    except (URLError, TimeoutError, ConnectionError) as error:
        raise ConnectionError(f"{missing} Downloading from {source} failed: {error}") from error


def as_numbers(where: Any, columns: list[list[str]]) -> FloatArray:
    """Return columns of text as a table of numbers; `where` says in messages what they are from."""
    try:
        numbers = np.array(columns).T.astype(np.float64)
    except ValueError as error:
        raise ValueError(f"{where} is damaged: numbers were expected, but {error}.") from error
    if not np.isfinite(numbers).all():
        raise ValueError(f"{where} is damaged: a feature is not a finite number.")
    return numbers


def hand_over(
    loader: Callable[..., Any],
    data: Any,
    target: Labels,
    *,
    return_X_y: bool,
    as_frame: bool = False,
    feature_names: list[str] | None = None,
    target_names: Labels | None = None,
    **more: Any,
) -> Any:
    """Return a set as the caller wants it: a pair or a ``Bunch``, of arrays or of frames."""
    names, frame = np.unique(target) if target_names is None else target_names, None
    if as_frame:
        pandas = import_extra("pandas", "data", "as_frame=True")
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
        target_names=names,
        DESCR=about(loader),
        **more,
    )
