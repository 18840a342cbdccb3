"""Options on labels, the learner and the columns: `LabelOptions`, `Settings`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from unconfused.cli import options as opt
from unconfused.cli.options import ReadOptions, split_names

if TYPE_CHECKING:
    from unconfused._columns.kinds import ColumnRoles


@dataclass(frozen=True)
class LabelOptions:
    """Options that say where labels, trusted labels, votes and the confusion matrix are."""

    label: str | None = opt.label()
    confusion: Path | None = opt.confusion()
    truth: str | None = opt.known(
        "--truth -t",
        "Column with the true class of some rows, empty elsewhere; or a file of verdicts from "
        "`unconfused review` or a report.",
        "COLUMN|VERDICTS.csv",
    )
    annotators: list[str] = opt.known(
        "--annotators -a",
        "One column of labels per annotator, empty where there is none; 'ann*' matches by prefix.",
        "COL,COL,...",
        default=list,
        show_default=False,
    )
    votes: Path | None = opt.known(
        "--votes", "File with one answer per line, as crowdsourcing platforms export.", "FILE"
    )
    item: str | None = opt.known(
        "--item",
        "Column of --votes that says which row of DATA was labelled: by its value in --id, or by "
        "its row number, counted from 0.",
        "COLUMN",
    )
    annotator: str | None = opt.known(
        "--annotator", "Column of --votes with the annotator.", "COLUMN"
    )
    duplicates: opt.Duplicates = opt.known(
        "--duplicates",
        "What to do when an annotator answers twice on a row of --votes: raise an error, or "
        "use the last answer.",
        default=opt.Duplicates.error,
    )
    trust_labels: bool = opt.known(
        "--trust-labels", "Assume that every label is correct.", default=False
    )
    identity: str | None = opt.identity()
    missing: str | None = opt.missing()
    classes: str | None = opt.column(
        "--classes",
        "All classes, if some may not occur among the labels; also the order of a matrix "
        "without names.",
        "A,B,...",
    )
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
        if self.label and self.annotators:
            raise typer.BadParameter(
                "--label and --annotators both name columns of labels: leave out --label, or add "
                "its column to --annotators. (--ignore keeps a column out of the features.)"
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
        return split_names([self.classes] if self.classes is not None else [])

    def refuse_other_labels(self) -> None:
        """Raise if the matrix has labels that are not classes: none of them is right or wrong."""
        if self.confusion is not None:
            from unconfused.cli.input.matrix_file import read_matrix

            read_matrix(self.confusion)


@dataclass(frozen=True)
class Settings:
    """Learner and column options."""

    learner: opt.Learner = opt.plain(
        "--learner",
        "logistic: logistic regression through the confusion matrix; trees: boosted trees "
        "through it; auto: trees where they predict held-out labels better; uma: the UMA "
        "algorithm, which has no probabilities.",
        default=opt.Learner.auto,
    )
    l2: float | None = opt.plain(
        "--l2",
        "L2 penalty (logistic); by default chosen by cross-validation.",
        min=0.0,
        show_default="automatic",
    )
    relabel: int | None = opt.plain(
        "--relabel",
        "Rounds in which the model is fitted again to the probable classes of the rows "
        "(logistic); 0 for none. By default up to 4, as long as held-out labels support them.",
        min=0,
        show_default="automatic",
    )
    max_iter: int | None = opt.plain(
        "--max-iter", "Maximum number of iterations.", min=1, show_default="by learner"
    )
    text: list[str] = opt.columns(
        "--text", "Columns of free text; long cells that mostly differ are recognised."
    )
    categories: list[str] = opt.columns("--categories", "Numeric columns that hold codes.")
    numbers: list[str] = opt.columns(
        "--numbers", "Columns of numbers or dates to use although they look like identifiers."
    )
    ignore: list[str] = opt.columns("--ignore", "Columns not to use as features.")
    seed: int = opt.seed()

    def of_file(self, path: Path, reading: ReadOptions) -> Settings:
        """Return the settings with the names of columns that wildcards match."""
        kinds = ("text", "categories", "numbers", "ignore")
        named: dict[str, Any] = {kind: reading.names(path, getattr(self, kind)) for kind in kinds}
        return replace(self, **named)

    def roles(self, reserved: list[str]) -> ColumnRoles:
        """Return what is said of columns; those reserved, of labels say, are left out as well."""
        from unconfused._columns.kinds import ColumnRoles

        return ColumnRoles([*reserved, *self.ignore], self.text, self.categories, self.numbers)

    def refuse_names(self) -> None:
        """Raise if columns are named, of a file without column names."""
        if self.text or self.categories or self.numbers or self.ignore:
            raise ValueError(
                "This file has no column names, so --text, --categories, --numbers and --ignore do "
                "not apply."
            )
