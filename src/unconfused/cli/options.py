"""Options shared by several commands."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

KNOWN = "What is known about the noise (by default it is estimated from the labels)"
COLUMNS = "Columns"
FILES = "Files"
CHANCE = "Randomness"


class Learner(StrEnum):
    """Which learner is at the end of the pipeline."""

    auto = "auto"
    logistic = "logistic"
    trees = "trees"
    uma = "uma"


class AuditLearner(StrEnum):
    """Which learner judges rows."""

    auto = "auto"
    logistic = "logistic"
    trees = "trees"


class Predicts(StrEnum):
    """What probabilities are of."""

    label = "label"
    true_class = "class"


class Duplicates(StrEnum):
    """What to do when an annotator answers twice on an item."""

    error = "error"
    last = "last"


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A .csv, .tsv, .jsonl, .parquet, .arrow, .svm or .npz file; text also as .gz or .bz2.",
        show_default=False,
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label",
        "-l",
        metavar="COLUMN",
        help="Column with the labels; with --votes, the column of that file with the answers. Rows "
        "without a label are skipped.",
    ),
]
Confusion = Annotated[
    Path | None,
    typer.Option(
        "--confusion",
        "-c",
        metavar="C.csv",
        help="Confusion matrix: one row per true class, starting with its name, one column per "
        "label; rows sum to 1. A matrix without names follows the sorted classes.",
        rich_help_panel=KNOWN,
    ),
]
Truth = Annotated[
    str | None,
    typer.Option(
        "--truth",
        "-t",
        metavar="COLUMN|VERDICTS.csv",
        help="Column with the true class of some rows, empty elsewhere; or a file of verdicts from "
        "`unconfused review` or a report.",
        rich_help_panel=KNOWN,
    ),
]
Annotators = Annotated[
    list[str] | None,
    typer.Option(
        "--annotators",
        "-a",
        metavar="COL,COL,...",
        help="One column of labels per annotator, empty where there is none; 'ann*' matches by "
        "prefix.",
        rich_help_panel=KNOWN,
    ),
]
Votes = Annotated[
    Path | None,
    typer.Option(
        "--votes",
        metavar="FILE",
        help="File with one answer per line, as exported by crowdsourcing platforms.",
        rich_help_panel=KNOWN,
    ),
]
Item = Annotated[
    str | None,
    typer.Option(
        "--item",
        metavar="COLUMN",
        help="Column of --votes with the row of DATA that was labelled: its value in --id, or its "
        "row number, counted from 0.",
        rich_help_panel=KNOWN,
    ),
]
Annotator = Annotated[
    str | None,
    typer.Option(
        "--annotator",
        metavar="COLUMN",
        help="Column of --votes with the annotator.",
        rich_help_panel=KNOWN,
    ),
]
OnDuplicates = Annotated[
    Duplicates,
    typer.Option(
        "--duplicates",
        help="What to do when an annotator answers twice on a row of --votes: raise an error, or "
        "use the last answer.",
        rich_help_panel=KNOWN,
    ),
]
TrustLabels = Annotated[
    bool,
    typer.Option(
        "--trust-labels", help="Assume that every label is correct.", rich_help_panel=KNOWN
    ),
]
Smoothing = Annotated[
    float,
    typer.Option(
        "--smoothing",
        min=0.0,
        help="With --truth: pseudocount added to every cell of the matrix, for classes without a "
        "trusted row.",
        rich_help_panel=KNOWN,
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
Identity = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="Column that identifies the rows; not used as a feature.",
        rich_help_panel=COLUMNS,
    ),
]
Text = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        metavar="COL,COL,...",
        help="Columns of free text; long cells that mostly differ are recognised.",
        rich_help_panel=COLUMNS,
    ),
]
Categories = Annotated[
    list[str] | None,
    typer.Option(
        "--categories",
        metavar="COL,COL,...",
        help="Numeric columns that hold codes.",
        rich_help_panel=COLUMNS,
    ),
]
Numbers = Annotated[
    list[str] | None,
    typer.Option(
        "--numbers",
        metavar="COL,COL,...",
        help="Columns of numbers or dates to use although they look like identifiers.",
        rich_help_panel=COLUMNS,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        metavar="COL,COL,...",
        help="Columns not to use as features.",
        rich_help_panel=COLUMNS,
    ),
]
AsIs = Annotated[
    bool,
    typer.Option(
        "--as-is",
        help="Do not scale the columns of a file without column names (.svm, .npz). Sparse rows "
        "that all have the same norm are never scaled.",
        rich_help_panel=COLUMNS,
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        "--missing",
        metavar="VALUE",
        help="Value that marks a missing label, such as -1 or '?', besides empty cells and NA.",
        rich_help_panel=COLUMNS,
    ),
]
Classes = Annotated[
    str | None,
    typer.Option(
        "--classes",
        metavar="A,B,...",
        help="All classes, if some may not occur among the labels; also the order of a matrix "
        "without names.",
        rich_help_panel=COLUMNS,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option("--delimiter", help="Field separator of a .csv file.", rich_help_panel=FILES),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        help="Text encoding, such as cp1252; UTF-8 if not given.",
        rich_help_panel=FILES,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="File format, if the extension does not tell: csv, tsv, jsonl, parquet, arrow, "
        "svmlight or npz.",
        rich_help_panel=FILES,
    ),
]
Stream = Annotated[
    bool | None,
    typer.Option(
        "--stream/--no-stream",
        help="Read DATA in chunks and keep the features on disk, for data larger than memory; the "
        "model is the same.",
        show_default="above 512 MB",
        rich_help_panel=FILES,
    ),
]
Scratch = Annotated[
    Path | None,
    typer.Option(
        "--scratch",
        metavar="FOLDER",
        help="Folder for the temporary files of --stream.",
        show_default="beside the output",
        rich_help_panel=FILES,
    ),
]
Escape = Annotated[
    bool,
    typer.Option(
        "--escape/--no-escape",
        help="Prefix text that a spreadsheet would run as a formula (=, +, -, @) with an "
        "apostrophe, in CSV and TSV; these commands remove it when they read a file.",
        rich_help_panel=FILES,
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", "-f", help="Overwrite existing files.", rich_help_panel=FILES),
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print the result as one JSON object.", rich_help_panel=FILES),
]
Seed = Annotated[
    int,
    typer.Option("--seed", min=0, max=2**31, help="Random seed.", rich_help_panel=CHANCE),
]
