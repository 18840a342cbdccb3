"""`unconfused audit`: the rows whose labels are most likely wrong."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from unconfused._columns.kinds import require_columns
from unconfused._files import DataFileError, find_source
from unconfused._files.write import check_table_target, write_table
from unconfused._text import percent, printable, roughly, shorten
from unconfused.cli import options as opt
from unconfused.cli.console import tell
from unconfused.cli.errors import check_target, in_options, refuse_clash, refuse_same_target
from unconfused.cli.input.label_options import LabelOptions, Settings
from unconfused.cli.input.source import TaskSource
from unconfused.cli.input.task import common_labels
from unconfused.cli.options import ReadOptions, is_nameless, without

if TYPE_CHECKING:
    from unconfused._report.data import ReportData

EXAMPLES = [
    "audit pets.csv --label kind -o check.csv --top 200",
    "audit pets.csv --label kind --truth checked --id name -o check.csv",
    "audit pets.csv --label kind --probabilities probs.parquet -o check.csv",
    "audit pets.csv --label kind -o check.csv --keep size,remark --report check.html",
    "audit songs.csv --annotators ann,bob,eve -o check.csv",
]

PREVIEW = 5
"""Rows shown in the terminal."""

MOST_SHOWN = 1000
"""Rows listed in the report."""

COLUMNS = ("row", "label", "suggested", "probability_wrong")
"""Columns of the output, besides that of --id."""

NO_PROBABILITY = "suspicion"
"""The last of them where rows are ranked by self-confidence."""


def audit(
    data: opt.Data,
    *,
    labels: Annotated[LabelOptions, without("trust_labels")],
    output: Path = opt.output(f"Output file for the rows: {opt.TABLE_FILES}."),
    report: Path | None = opt.report(),
    keep: list[str] = opt.columns(
        "--keep", "Columns of DATA to copy into OUTPUT, and to show in the report."
    ),
    top: int = opt.plain(
        "--top", "Number of rows to write, most suspicious first.", min=1, default=100_000
    ),
    probabilities: Path | None = opt.known(
        "--probabilities",
        "Out-of-fold probabilities of any model, used instead of fitting one. A .csv or .parquet "
        "file with a row for each row of DATA and a column for each class, or .npy with columns "
        "in the order of the sorted classes.",
        "FILE",
    ),
    predicts: opt.Predicts = opt.known(
        "--predicts",
        "What --probabilities are of: the noisy label, if the model was trained on noisy "
        "labels, or the true class.",
        default=opt.Predicts.label,
    ),
    settings: Annotated[Settings, without("max_iter")],
    stream: bool | None = opt.stream(),
    scratch: Path | None = opt.scratch(),
    reading: ReadOptions,
    escape: bool = opt.escape(),
    force: bool = opt.force(),
    as_json: bool = opt.as_json(),
) -> None:
    """List the rows most likely mislabelled, with a suggested label for each.

    OUTPUT has the columns `row` (row number in DATA, from 0), the column of --id if given, `label`,
    `suggested` and `probability_wrong`, most suspicious rows first. Each label is scored by models
    that were not fitted to it. If no probability can be estimated, rows are ranked by 1 minus the
    probability of their label, in a column `suspicion`. Trusted rows are not listed.
    """
    labels, settings = labels.of_file(data, reading), settings.of_file(data, reading)
    labels.refuse_other_labels()
    identity = labels.identity
    kept = [one for one in reading.names(data, keep) if one != identity]
    refuse_clash("--id", [identity] if identity else [], (*COLUMNS, NO_PROBABILITY))
    refuse_clash("--keep", kept, (*COLUMNS, NO_PROBABILITY))
    _refuse_unknown(data, reading, kept)
    refuse_same_target(data, output, report)
    if report is not None:
        check_target(report, [".html", ".htm"], force=force)
    check_table_target(output, force=force)
    if probabilities is not None:
        ranked, told = _ranked(data, probabilities, predicts.value, labels, reading)
        ranked = ranked if top is None else ranked.head(top)
        write_table(ranked, output, force=force, escape=escape)
        _tell_ranked(told, ranked, output, as_json)
        return
    with TaskSource(data, labels, reading, settings, scratch or output.parent, stream) as source:
        from unconfused.cli.fitting import FittedTask

        done = FittedTask(source)
        page = done.judge_rows(top, kept, details=report is not None)
        columns = COLUMNS if page.are_probabilities else (*COLUMNS[:-1], NO_PROBABILITY)
        rows = done.frame_of(page, columns, kept)
    write_table(rows, output, force=force, escape=escape)
    if report is not None:
        from unconfused._report.html.page import write_page

        write_page(replace(page, rows=page.rows[:MOST_SHOWN]), report, force=force)
    _tell(page, rows, output, report, done.notes, as_json)


def _refuse_unknown(data: Path, reading: ReadOptions, kept: list[str]) -> None:
    """Raise before any work if a column to keep is not there."""
    if kept and is_nameless(data, reading):
        raise ValueError("This file has no column names, so --keep does not apply.")
    # A line of JSON may lack a name that others have.
    if kept and find_source(data, reading.format).format != "jsonl":
        require_columns(reading.first_row(data), kept)


def _tell(
    page: ReportData,
    rows: Any,
    output: Path,
    report: Path | None,
    notes: list[str],
    as_json: bool,
) -> None:
    found = {
        "verdict": f"{page.verdict.number} {page.verdict.sentence}",
        "detail": page.verdict.detail,
        "accuracy": None if page.accuracy is None else asdict(page.accuracy),
        "labels": page.n_labels,
        "expected_wrong": page.n_wrong,
        "rows": len(rows),
        "output": str(output),
        "notes": notes,
    }
    lines = [f"{roughly(page.verdict.number)} {page.verdict.sentence}.", *page.verdict.detail]
    lines += [] if page.accuracy is None else [page.verdict.model]
    table = Table(title="The most suspicious rows")
    for name in rows.columns:
        table.add_column(Text(printable(str(name))))
    for *cells, wrong in rows.head(PREVIEW).itertuples(index=False):
        table.add_row(*(Text(printable(shorten(str(cell)))) for cell in cells), percent(wrong))
    written = [f"Rows: {output} ({len(rows):,} rows)"]
    written += [] if report is None else [f"Report: {report}"]
    tell(as_json, found, [*lines, table, *written], notes)


def _ranked(
    data: Path, probabilities: Path, predicts: str, known: LabelOptions, reading: ReadOptions
) -> tuple[Any, dict[str, Any]]:
    """Return the rows ranked by probabilities from another file, and what to tell of them."""
    import pandas as pd

    from unconfused.cli.input.open_task import open_task
    from unconfused.cli.model import warnings_as_notes
    from unconfused.confusion.probabilities import rank_from_probabilities

    if known.annotators or known.votes is not None:
        raise typer.BadParameter("--probabilities goes with --label, not with several annotators.")
    task = open_task(data, known, reading, [])
    values, names = read_probabilities(probabilities)
    if len(values) != task.n_rows:
        raise DataFileError(
            f"{probabilities} has {len(values):,} rows, but {data} has {task.n_rows:,}; both need "
            "the same rows in the same order."
        )
    y, classes = task.y, task.classes
    if names is not None:
        y, classes, _ = common_labels([y, names, [] if task.y_true is None else task.y_true])
    values = values if len(task.place) == len(values) else values[task.place]
    caught: list[str] = []
    with warnings_as_notes(caught):
        given: dict[str, Any] = {"predicts": predicts, "classes": classes}
        issues = rank_from_probabilities(values, y, task.confusion, **given)
    issues = issues[~task.trusted[issues.row]]
    row, *others = COLUMNS
    if issues.criterion != "posterior":
        others[-1] = NO_PROBABILITY
    frame: dict[str, Any] = {row: task.place[issues.row]}
    if known.identity is not None:
        frame[known.identity] = task.table[known.identity].to_numpy()[issues.row]
    found = (issues.observed, issues.suggested, issues.probability)
    frame |= dict(zip(others, found, strict=True))
    told = {
        "labels": len(issues),
        "expected_wrong": issues.expected_errors,
        "criterion": issues.criterion,
        "notes": dict.fromkeys([*task.notes, *map(in_options, caught)]),
    }
    return pd.DataFrame(frame), told


def read_probabilities(path: Path) -> tuple[Any, Any]:
    """Return probabilities, and the names of their columns if the file has them.

    An NPY file is mapped, not read.
    """
    if path.suffix.lower() == ".npy":
        try:
            values = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise DataFileError(f"{path} cannot be read as NPY ({error}).") from None
        return values, None
    table = ReadOptions().table(path, [])
    if not hasattr(table, "columns"):
        raise DataFileError(f"{path}: probabilities are read from .csv, .tsv, .parquet or .npy.")
    text = [str(name) for name in table.columns if table[name].dtype.kind not in "fiu"]
    if text:
        raise DataFileError(
            f"{path}: the columns {', '.join(map(repr, text[:5]))} hold no numbers. Each "
            "column must hold the probabilities of the class it is named after, and nothing else."
        )
    return table.to_numpy(dtype=np.float64), np.asarray(table.columns)


def _tell_ranked(told: dict[str, Any], rows: Any, output: Path, as_json: bool) -> None:
    """Print what was found."""
    lines = [
        "No confusion matrix explains these labels better than none:",
        "rows are ranked by how unlikely the model finds their label.",
    ]
    if told["criterion"] == "posterior":
        share = told["expected_wrong"] / max(1, told["labels"])
        lines = [f"{roughly(percent(share))} of the labels are wrong."]
    found = {**told, "rows": len(rows), "output": str(output)}
    lines.append(f"Rows: {output} ({len(rows):,} rows)")
    tell(as_json, found, lines, told["notes"])
