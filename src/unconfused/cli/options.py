"""Options shared by several commands: how to read a file, what to learn from its columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import MISSING, dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

KNOWN = "What is known about the noise"
COLUMNS = "Columns"
FILES = "Files"
CHANCE = "Randomness"

TABLE_FILES = ".csv, .tsv, .jsonl, .parquet or .arrow"


Learner = StrEnum("Learner", ["auto", "logistic", "trees", "uma"])
"""Which learner is at the end of the pipeline."""

Predicts = StrEnum("Predicts", {"label": "label", "true_class": "class"})
"""What probabilities are of."""

Duplicates = StrEnum("Duplicates", ["error", "last"])
"""What to do when an annotator answers twice on an item."""


def without(*names: str) -> frozenset[str]:
    """Mark fields of a group that are no options of a command; they keep their defaults."""
    return frozenset(names)


def _option(
    panel: str | None,
    names: str,
    words: str,
    metavar: str | None = None,
    *,
    default: Any = None,
    **more: Any,
) -> Any:
    """Return an option with its default, for a parameter of a command or a field of a group."""
    option = typer.Option(
        *names.split(), help=words, metavar=metavar, rich_help_panel=panel, **more
    )
    given = {"default_factory": list} if default is list else {"default": default}
    return field(**given, metadata={"option": option})


plain = partial(_option, None)
"""An option in no panel of its own."""

known = partial(_option, KNOWN)
"""An option on what is known about the noise."""

column = partial(_option, COLUMNS)
"""An option that names a column, or says how one is read."""

columns = partial(_option, COLUMNS, metavar="COL,COL,...", default=list, show_default=False)
"""An option that names several columns."""

file = partial(_option, FILES)
"""An option on files."""

output = partial(_option, FILES, "--output -o", default=MISSING)
"""The option that names the output file; without a default, it must be given."""


report = partial(
    _option,
    FILES,
    "--report",
    "Also write an HTML report on the labels, with the rows most likely mislabelled, which can be "
    "kept, changed or skipped.",
    "FILE.html",
)


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A .csv, .tsv, .jsonl, .parquet, .arrow, .svm or .npz file; text also as .gz or .bz2.",
        show_default=False,
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by `fit`.")]

# Options of several commands, each declared here with its default.

label = partial(
    plain,
    "--label -l",
    "Column with the labels; with --votes, the column of that file with the answers. Rows without "
    "a label are skipped.",
    "COLUMN",
)
confusion = partial(
    known,
    "--confusion -c",
    "Confusion matrix: one row per true class, starting with its name, one column per label; rows "
    "sum to 1. A matrix without names follows the sorted classes. For `fit`, columns may name "
    "labels that are not classes, such as 'unsure'.",
    "C.csv",
)
level = partial(
    plain, "--level", "Confidence level of the intervals.", min=0.01, max=0.999, default=0.95
)
identity = partial(
    column, "--id", "Column that identifies the rows; not used as a feature.", "COLUMN"
)
missing = partial(
    column,
    "--missing",
    "Value that marks a missing label or truth, such as -1 or '?', besides empty cells and NA.",
    "VALUE",
)
rows = partial(file, "--rows", "Rows per chunk.", min=1, default=2**16)
stream = partial(
    file,
    "--stream/--no-stream",
    "Read DATA in chunks and keep the features on disk, for tables larger than memory.",
    show_default="above 512 MB",
)
scratch = partial(
    file,
    "--scratch",
    "Folder for the temporary files of --stream.",
    "FOLDER",
    show_default="beside the output",
)
escape = partial(
    file,
    "--escape/--no-escape",
    "Prefix text that a spreadsheet would run as a formula (=, +, -, @) with an apostrophe, in CSV "
    "and TSV; these commands remove it when they read a file.",
    default=True,
)
force = partial(file, "--force -f", "Overwrite existing files.", default=False)
as_json = partial(file, "--json", "Print the result as one JSON object.", default=False)
seed = partial(_option, CHANCE, "--seed", "Random seed.", min=0, max=2**31, default=0)


WILD = set("*?")
"""Wildcards in column names."""


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file."""

    delimiter: str | None = file("--delimiter", "Field separator of a .csv file.")
    encoding: str | None = file("--encoding", "Text encoding, such as cp1252; UTF-8 if not given.")
    format: str | None = file(
        "--format",
        "File format, if the extension does not tell: csv, tsv, jsonl, parquet, arrow, svmlight "
        "or npz.",
    )

    def table(self, path: Path, as_text: list[str]) -> Any:
        """Read it."""
        from unconfused._files.read import read_table

        return read_table(path, as_text=as_text, **vars(self))

    def parts(self, path: Path, rows: int, as_text: Collection[str] = ()) -> Iterator[Any]:
        """Read it in chunks."""
        from unconfused._files.read import iter_tables

        return iter_tables(path, rows=rows, as_text=as_text, **vars(self))

    def first_row(self, path: Path) -> Any:
        """Return a frame with the first row only."""
        return next(self.parts(path, 1))

    def names(self, path: Path, values: list[str]) -> list[str]:
        """Expand options such as ``a,b`` and ``c*`` to column names, in the order of the file."""
        named = split_names(values)
        if not any(WILD & set(one) for one in named) or is_nameless(path, self):
            return named
        there = [str(name) for name in self.first_row(path).columns]
        found = [one for name in named for one in _matches(name, there)]
        return list(dict.fromkeys(found))


def _matches(name: str, there: list[str]) -> list[str]:
    if name in there or not WILD & set(name):
        return [name]
    found = [one for one in there if fnmatchcase(one, name)]
    if not found:
        raise typer.BadParameter(f"No column matches {name!r}.")
    return found


def is_nameless(path: Path, reading: ReadOptions) -> bool:
    """Return whether a file is of a format without column names."""
    from unconfused._files import find_source

    return find_source(path, reading.format).format in ("svmlight", "npz")


def split_names(values: list[str]) -> list[str]:
    """Split options such as ``a,b`` and ``c`` into names."""
    parts = [part.strip() for value in values for part in value.split(",")]
    return [part for part in dict.fromkeys(parts) if part]
