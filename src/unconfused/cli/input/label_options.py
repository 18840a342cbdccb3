"""How to read a file, and which columns and files describe its labels."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import typer

from unconfused.cli import options as opt

WILD = set("*?")
"""Wildcards in column names."""


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file."""

    delimiter: opt.Delimiter = None
    encoding: opt.Encoding = None
    format: opt.Format = None

    def table(self, path: Path, as_text: list[str]) -> Any:
        """Read it."""
        from unconfused._files.read import read_table

        return read_table(path, as_text=as_text, **vars(self))

    def parts(self, path: Path, rows: int, as_text: Collection[str] = ()) -> Iterator[Any]:
        """Read it in chunks."""
        from unconfused._files.read import iter_tables

        return iter_tables(path, rows=rows, as_text=as_text, **vars(self))

    def names(self, path: Path, values: list[str] | None) -> list[str]:
        """Expand options such as ``a,b`` and ``c*`` to column names, in the order of the file."""
        named = names_in(values)
        if not any(WILD & set(one) for one in named) or is_nameless(path, self):
            return named
        there = [str(name) for name in next(self.parts(path, 1)).columns]
        found = [one for name in named for one in _matches(name, there)]
        return list(dict.fromkeys(found))


def _matches(name: str, there: list[str]) -> list[str]:
    if name in there or not WILD & set(name):
        return [name]
    found = [one for one in there if fnmatchcase(one, name)]
    if not found:
        raise typer.BadParameter(f"No column matches {name!r}.")
    return found


@dataclass(frozen=True)
class LabelOptions:
    """Options that say where labels, trusted labels, votes and the confusion matrix are."""

    label: opt.Label = None
    confusion: opt.Confusion = None
    truth: opt.Truth = None
    annotators: opt.Annotators = field(default_factory=list)
    votes: opt.Votes = None
    item: opt.Item = None
    annotator: opt.Annotator = None
    duplicates: opt.OnDuplicates = opt.Duplicates.error
    trust_labels: opt.TrustLabels = False
    identity: opt.Identity = None
    missing: opt.Missing = None
    classes: opt.Classes = None
    verdicts: Path | None = None
    """The file of --truth, if that names a verdict file and not a column."""

    def __post_init__(self) -> None:
        """Raise if options contradict each other."""
        if self.truth is not None and "." in self.truth and Path(self.truth).is_file():
            from unconfused.review.verdicts import is_verdict_file

            if is_verdict_file(self.truth):
                object.__setattr__(self, "verdicts", Path(self.truth))
                object.__setattr__(self, "truth", None)
        given = {
            "--confusion": self.confusion is not None,
            "--annotators": bool(self.annotators),
            "--votes": self.votes is not None,
            "--trust-labels": self.trust_labels,
        }
        named = [name for name, there in given.items() if there]
        if len(named) > 1:
            raise typer.BadParameter(f"{' and '.join(named)} contradict each other; keep one.")
        if self.votes is not None and not (self.label and self.item and self.annotator):
            raise typer.BadParameter(
                "--votes needs --item, --annotator and --label: its columns for what was "
                "labelled, by whom, and as what."
            )
        if self.votes is None and (self.item or self.annotator):
            raise typer.BadParameter("--item and --annotator are columns of the --votes file.")

    def of_file(self, path: Path, reading: ReadOptions) -> LabelOptions:
        """Return the options with the names of columns that wildcards match."""
        return replace(self, annotators=reading.names(path, self.annotators))

    def columns(self) -> list[str]:
        """Return the columns that are named; those of --votes may be in another file."""
        names = [self.label, self.truth, self.identity, self.item, *self.annotators]
        return [name for name in names if name is not None]

    def refuse_other_file(self, columns: Collection[str]) -> None:
        """Raise if --truth names a file that holds no verdicts, and no column of the data."""
        if self.truth is None or self.truth in columns:
            return
        file = Path(self.truth)
        if file.is_file() or file.suffix == ".csv":
            why = "is not a verdict file" if file.is_file() else "does not exist"
            raise ValueError(
                f"--truth takes a column of the data, or a verdict file that `unconfused review` "
                f"wrote: {self.truth!r} is no column, and the file {why}."
            )

    def class_names(self) -> list[str]:
        """Return the classes that are named."""
        return names_in([self.classes] if self.classes is not None else [])

    def refuse_other_labels(self) -> None:
        """Raise if the matrix has labels that are not classes: none of them is right or wrong."""
        if self.confusion is not None:
            from unconfused.cli.input.matrix_file import read_matrix

            read_matrix(self.confusion)


@dataclass(frozen=True)
class Settings:
    """Learner and column options."""

    learner: str = "logistic"
    smoothing: opt.Smoothing = 0.0
    l2: opt.L2 = None
    relabel: opt.Relabel = None
    max_iter: opt.MaxIter = None
    text: opt.Text = field(default_factory=list)
    categories: opt.Categories = field(default_factory=list)
    numbers: opt.Numbers = field(default_factory=list)
    ignore: opt.Ignore = field(default_factory=list)
    as_is: opt.AsIs = False
    seed: opt.Seed = 0

    def of_file(self, path: Path, reading: ReadOptions, learner: str = "logistic") -> Settings:
        """Return the settings of a learner, with the names of columns that wildcards match."""
        kinds = ("text", "categories", "numbers", "ignore")
        named: dict[str, Any] = {kind: reading.names(path, getattr(self, kind)) for kind in kinds}
        return replace(self, learner=learner, **named)


def is_nameless(path: Path, reading: ReadOptions) -> bool:
    """Return whether a file is of a format without column names."""
    from unconfused._files.formats import find_source

    return find_source(path, reading.format).format in ("svmlight", "npz")


def names_in(values: list[str] | None) -> list[str]:
    """Split options such as ``a,b`` and ``c`` into names."""
    parts = [part.strip() for value in values or [] for part in value.split(",")]
    return [part for part in dict.fromkeys(parts) if part]


def refuse_column_options(settings: Settings) -> None:
    """Raise if options name columns of a file without column names."""
    if settings.text or settings.categories or settings.numbers or settings.ignore:
        raise ValueError(
            "This file has no column names, so --text, --categories, --numbers and --ignore do not "
            "apply."
        )


def refuse_as_is(settings: Settings) -> None:
    """Raise if --as-is is given for a file with column names."""
    if settings.as_is:
        raise ValueError(
            "--as-is is for files without column names (.svm, .npz); drop it: scaling columns that "
            "are scaled already is harmless."
        )
