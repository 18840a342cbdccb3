"""Options that several commands share: one place for their names and their help."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

KNOWN = "What is known of the noise (nothing: it is guessed from the labels)"
COLUMNS = "Columns"
FILES = "Files"
CHANCE = "Chance"


class Learner(StrEnum):
    """Which learner is at the end of the pipeline."""

    logistic = "logistic"
    uma = "uma"


class Duplicates(StrEnum):
    """What to do when an annotator answers twice on one item."""

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
        help="The column with the labels; with --votes, the answers in that file. Rows without "
        "a label are left out.",
    ),
]
Confusion = Annotated[
    Path | None,
    typer.Option(
        "--confusion",
        "-c",
        metavar="C.csv",
        help="The confusion matrix: a row per true class that begins with its name, a column per "
        "label; rows sum to 1. Numbers alone follow the sorted classes.",
        rich_help_panel=KNOWN,
    ),
]
Truth = Annotated[
    str | None,
    typer.Option(
        "--truth",
        "-t",
        metavar="COLUMN",
        help="A column with the truth of some rows, empty elsewhere.",
        rich_help_panel=KNOWN,
    ),
]
Annotators = Annotated[
    list[str] | None,
    typer.Option(
        "--annotators",
        "-a",
        metavar="COL,COL,...",
        help="Columns with the answers of one person each, empty where there is none; 'ann*' for "
        "all that begin so.",
        rich_help_panel=KNOWN,
    ),
]
Votes = Annotated[
    Path | None,
    typer.Option(
        "--votes",
        metavar="FILE",
        help="A file with one answer per line, as crowd platforms export it.",
        rich_help_panel=KNOWN,
    ),
]
Item = Annotated[
    str | None,
    typer.Option(
        "--item",
        metavar="COLUMN",
        help="With --votes: its column that says which row of DATA was labelled, by what DATA has "
        "in --id, or by row number from 0.",
        rich_help_panel=KNOWN,
    ),
]
Annotator = Annotated[
    str | None,
    typer.Option(
        "--annotator",
        metavar="COLUMN",
        help="With --votes: its column that says who answered.",
        rich_help_panel=KNOWN,
    ),
]
OnDuplicates = Annotated[
    Duplicates,
    typer.Option(
        "--duplicates",
        help="With --votes: if someone answers twice on a row, refuse or take the last answer.",
        rich_help_panel=KNOWN,
    ),
]
TrustLabels = Annotated[
    bool,
    typer.Option("--trust-labels", help="Take every label as right.", rich_help_panel=KNOWN),
]
Smoothing = Annotated[
    float,
    typer.Option(
        "--smoothing",
        min=0.0,
        help="With --truth: added to every count, for classes without a row whose truth is known.",
        rich_help_panel=KNOWN,
    ),
]
Relabel = Annotated[
    int,
    typer.Option(
        min=0,
        help="Rounds that fit anew to the classes rows probably have (logistic): 4 is often "
        "better than 0, and takes up to forty times longer.",
    ),
]
Identity = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="A column that names the rows; it is not learnt from.",
        rich_help_panel=COLUMNS,
    ),
]
Text = Annotated[
    list[str] | None,
    typer.Option(
        "--text", metavar="COL,COL,...", help="Columns of free text.", rich_help_panel=COLUMNS
    ),
]
Categories = Annotated[
    list[str] | None,
    typer.Option(
        "--categories",
        metavar="COL,COL,...",
        help="Columns of numbers that are codes.",
        rich_help_panel=COLUMNS,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        metavar="COL,COL,...",
        help="Columns not to learn from.",
        rich_help_panel=COLUMNS,
    ),
]
AsIs = Annotated[
    bool,
    typer.Option(
        "--as-is",
        help="Do not scale the columns of a file that does not name them (.svm, .npz); sparse rows "
        "that are all of one length never are.",
        rich_help_panel=COLUMNS,
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        "--missing",
        metavar="VALUE",
        help="What stands for no label, besides an empty cell, NA and the like: -1, or '?'.",
        rich_help_panel=COLUMNS,
    ),
]
Classes = Annotated[
    str | None,
    typer.Option(
        "--classes",
        metavar="A,B,...",
        help="All classes, if the labels may not show every one; also the order of a matrix "
        "without names.",
        rich_help_panel=COLUMNS,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter", help="What divides the cells of a .csv file.", rich_help_panel=FILES
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding", help="Of text, such as cp1252; usually UTF-8.", rich_help_panel=FILES
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="If the ending does not say it: csv, tsv, jsonl, parquet, arrow, svmlight or npz.",
        rich_help_panel=FILES,
    ),
]
Stream = Annotated[
    bool | None,
    typer.Option(
        "--stream/--no-stream",
        help="Read DATA in parts and keep its features on disk, so that it need not fit into "
        "memory; the model is the same.",
        show_default="above 512 MB",
        rich_help_panel=FILES,
    ),
]
Scratch = Annotated[
    Path | None,
    typer.Option(
        "--scratch",
        metavar="FOLDER",
        help="With --stream: where the features are kept meanwhile; nothing is left there.",
        show_default="beside the output",
        rich_help_panel=FILES,
    ),
]
Escape = Annotated[
    bool,
    typer.Option(
        "--escape/--no-escape",
        help="In CSV and TSV, put an apostrophe before text that a spreadsheet would take for a "
        "formula (=, +, -, @); the commands take it away when they read it.",
        rich_help_panel=FILES,
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", "-f", help="Replace files that are there.", rich_help_panel=FILES),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json", help="Print one JSON object instead of sentences.", rich_help_panel=FILES
    ),
]
Seed = Annotated[
    int,
    typer.Option("--seed", min=0, max=2**31, help="Seed of all chance.", rich_help_panel=CHANCE),
]
