"""Options shared by several commands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
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

AuditLearner = StrEnum("AuditLearner", ["auto", "logistic", "trees"])
"""Which learner scores the labels."""

Predicts = StrEnum("Predicts", {"label": "label", "true_class": "class"})
"""What probabilities are of."""

Duplicates = StrEnum("Duplicates", ["error", "last"])
"""What to do when an annotator answers twice on an item."""


@dataclass(frozen=True)
class Without:
    """Fields of a group that are no options of a command; they keep their defaults."""

    names: tuple[str, ...]


def without(*names: str) -> Without:
    """Mark a group, as ``Annotated[LabelOptions, without("votes")]``."""
    return Without(names)


def _option(
    panel: str | None, names: str, words: str, metavar: str | None = None, **more: Any
) -> Any:
    return typer.Option(*names.split(), help=words, metavar=metavar, rich_help_panel=panel, **more)


known = partial(_option, KNOWN)
"""An option on what is known about the noise."""

column = partial(_option, COLUMNS)
"""An option that names a column, or says how one is read."""

columns = partial(_option, COLUMNS, metavar="COL,COL,...", show_default=False)
"""An option that names several columns."""

file = partial(_option, FILES)
"""An option on files."""

output = partial(_option, FILES, "--output -o")
"""The option that names the output file."""


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A .csv, .tsv, .jsonl, .parquet, .arrow, .svm or .npz file; text also as .gz or .bz2.",
        show_default=False,
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by `fit`.")]
Label = Annotated[
    str | None,
    _option(
        None,
        "--label -l",
        "Column with the labels; with --votes, the column of that file with the answers. Rows "
        "without a label are skipped.",
        "COLUMN",
    ),
]
Confusion = Annotated[
    Path | None,
    known(
        "--confusion -c",
        "Confusion matrix: one row per true class, starting with its name, one column per label; "
        "rows sum to 1. A matrix without names follows the sorted classes. For `fit`, columns may "
        "name labels that are not classes, such as 'unsure'.",
        "C.csv",
    ),
]
Truth = Annotated[
    str | None,
    known(
        "--truth -t",
        "Column with the true class of some rows, empty elsewhere; or a file of verdicts from "
        "`unconfused review` or a report.",
        "COLUMN|VERDICTS.csv",
    ),
]
Annotators = Annotated[
    list[str],
    known(
        "--annotators -a",
        "One column of labels per annotator, empty where there is none; 'ann*' matches by prefix.",
        "COL,COL,...",
        show_default=False,
    ),
]
Votes = Annotated[
    Path | None,
    known("--votes", "File with one answer per line, as crowdsourcing platforms export.", "FILE"),
]
Item = Annotated[
    str | None,
    known(
        "--item",
        "Column of --votes with the row of DATA that was labelled: its value in --id, or its row "
        "number, counted from 0.",
        "COLUMN",
    ),
]
Annotator = Annotated[
    str | None, known("--annotator", "Column of --votes with the annotator.", "COLUMN")
]
OnDuplicates = Annotated[
    Duplicates,
    known(
        "--duplicates",
        "What to do when an annotator answers twice on a row of --votes: raise an error, or use "
        "the last answer.",
    ),
]
TrustLabels = Annotated[bool, known("--trust-labels", "Assume that every label is correct.")]
Smoothing = Annotated[
    float,
    known(
        "--smoothing",
        "With --truth: pseudocount added to every cell of the matrix, for classes without a "
        "trusted row.",
        min=0.0,
    ),
]
L2 = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        help="L2 penalty (logistic); without it, chosen by cross-validation.",
        show_default="automatic",
    ),
]
Relabel = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Rounds of refitting to the probable classes of the rows (logistic); 0 for none. "
        "Without it, up to 4, where held-out labels show that they help.",
        show_default="automatic",
    ),
]
MaxIter = Annotated[
    int | None,
    typer.Option(min=1, help="Maximum number of iterations.", show_default="by learner"),
]
Level = Annotated[
    float, typer.Option(min=0.01, max=0.999, help="Confidence level of the intervals.")
]
Identity = Annotated[
    str | None, column("--id", "Column that identifies the rows; not used as a feature.", "COLUMN")
]
Text = Annotated[
    list[str],
    columns("--text", "Columns of free text; long cells that mostly differ are recognised."),
]
Categories = Annotated[list[str], columns("--categories", "Numeric columns that hold codes.")]
Numbers = Annotated[
    list[str],
    columns("--numbers", "Columns of numbers or dates to use although they look like identifiers."),
]
Ignore = Annotated[list[str], columns("--ignore", "Columns not to use as features.")]
AsIs = Annotated[
    bool,
    column(
        "--as-is",
        "Do not scale the columns of a file without column names (.svm, .npz). Sparse rows that "
        "all have the same norm are never scaled.",
    ),
]
Missing = Annotated[
    str | None,
    column(
        "--missing",
        "Value that marks a missing label, such as -1 or '?', besides empty cells and NA.",
        "VALUE",
    ),
]
Classes = Annotated[
    str | None,
    column(
        "--classes",
        "All classes, if some may not occur among the labels; also the order of a matrix without "
        "names.",
        "A,B,...",
    ),
]
Delimiter = Annotated[str | None, file("--delimiter", "Field separator of a .csv file.")]
Encoding = Annotated[
    str | None, file("--encoding", "Text encoding, such as cp1252; UTF-8 if not given.")
]
Format = Annotated[
    str | None,
    file(
        "--format",
        "File format, if the extension does not tell: csv, tsv, jsonl, parquet, arrow, svmlight "
        "or npz.",
    ),
]
Rows = Annotated[int, file("--rows", "Rows per chunk.", min=1)]
Stream = Annotated[
    bool | None,
    file(
        "--stream/--no-stream",
        "Read DATA in chunks and keep the features on disk, for data larger than memory; the model "
        "is the same.",
        show_default="above 512 MB",
    ),
]
Scratch = Annotated[
    Path | None,
    file(
        "--scratch",
        "Folder for the temporary files of --stream.",
        "FOLDER",
        show_default="beside the output",
    ),
]
Escape = Annotated[
    bool,
    file(
        "--escape/--no-escape",
        "Prefix text that a spreadsheet would run as a formula (=, +, -, @) with an apostrophe, in "
        "CSV and TSV; these commands remove it when they read a file.",
    ),
]
Force = Annotated[bool, file("--force -f", "Overwrite existing files.")]
AsJson = Annotated[bool, file("--json", "Print the result as one JSON object.")]
Seed = Annotated[int, _option(CHANCE, "--seed", "Random seed.", min=0, max=2**31)]
