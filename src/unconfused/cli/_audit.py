"""`unconfused audit`: the rows whose labels are most likely wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unconfused._atomic import refuse_folder
from unconfused.cli import _options as opt
from unconfused.cli._errors import plain_errors
from unconfused.cli._known import Known, Reading
from unconfused.cli._progress import Stages
from unconfused.cli._targets import refuse_same_target

if TYPE_CHECKING:
    from unconfused._report.data import ReportData
    from unconfused.cli._model import Plan
    from unconfused.cli._task import Task

EXAMPLES = [
    "audit pets.csv --label kind -o check.csv --top 200",
    "audit pets.csv --label kind --truth checked --id name -o check.csv",
    "audit songs.csv --annotators ann,bob,eve -o check.csv",
]

PREVIEW = 5
"""Rows shown in the terminal."""

FOLDS_WORDS = "Judging every row by models that have not seen it"


def audit(
    context: typer.Context,
    data: opt.Data,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Where the rows go: a .csv, .tsv, .jsonl, .parquet or .arrow file.",
            rich_help_panel=opt.FILES,
        ),
    ],
    label: opt.Label = None,
    top: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many rows to write, the worst first.", show_default="all of them"
        ),
    ] = None,
    confusion: opt.Confusion = None,
    truth: opt.Truth = None,
    annotators: opt.Annotators = None,
    votes: opt.Votes = None,
    item: opt.Item = None,
    annotator: opt.Annotator = None,
    duplicates: opt.OnDuplicates = opt.Duplicates.error,
    smoothing: opt.Smoothing = 0.0,
    l2: Annotated[float, typer.Option(min=0.0, help="Penalty on the weights.")] = 1e-4,
    identity: opt.Identity = None,
    text: opt.Text = None,
    categories: opt.Categories = None,
    ignore: opt.Ignore = None,
    missing: opt.Missing = None,
    classes: opt.Classes = None,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    file_format: opt.Format = None,
    seed: opt.Seed = 0,
    force: opt.Force = False,
    as_json: opt.AsJson = False,
) -> None:
    """List the rows most likely mislabelled, with a better label for each.

    OUTPUT has the columns `row` (its number in DATA, from 0), that of --id if given, `label`,
    `suggested` and `probability_wrong`, the most suspicious first. Each row is judged by a model
    that was fitted without it; rows whose truth is known are not listed.
    """
    with plain_errors(context.obj):
        from unconfused._files import check_table_target, write_table

        reading = Reading(delimiter, encoding, file_format)
        known = Known(
            label, confusion, truth, reading.names(data, annotators), votes, item, annotator,
            duplicates.value, identity, missing, classes, smoothing=smoothing,
        )  # fmt: skip
        refuse_same_target(data, output)
        check_table_target(output, force=force)
        refuse_folder(output)
        with Stages(4) as stage:
            stage(f"Reading {data.name}")
            from unconfused.cli._model import Settings

            settings = Settings(
                l2=l2, text=reading.names(data, text), categories=reading.names(data, categories),
                ignore=reading.names(data, ignore), smoothing=smoothing, seed=seed,
            )  # fmt: skip
            task, plan, page, notes = _judge(data, known, reading, settings, top, stage)
        rows = _frame(task, plan, page, identity)
        write_table(rows, output, force=force)
        _tell(page, rows, output, notes, as_json)


def _judge(
    data: Path, known: Known, reading: Reading, settings: Any, top: int | None, stage: Stages
) -> tuple[Task, Plan, ReportData, list[str]]:
    from unconfused._report.gather import gather
    from unconfused.cli import _model
    from unconfused.cli._open_task import open_task
    from unconfused.cli._show import suspicious_columns

    task = open_task(data, known, reading, [*settings.text, *settings.categories])
    notes = list(task.notes)
    with _model.warnings_as_notes(notes):
        plan = _model.make_plan(task, settings)
        stage("Asking how labels go wrong")
        estimate = _model.estimate_for_fit(task, plan, settings)
        stage(f"Fitting {len(task.place):,} rows")
        model = _model.fit_plan(task, plan, estimate)
        stage(FOLDS_WORDS)
        page = gather(
            model,
            plan.rows,
            task.y,
            y_true=task.y_true,
            max_rows=len(task.place) if top is None else top,
            sensitivity=False,
            random_state=settings.seed,
        )
    notes += [*page.notes, *suspicious_columns(plan, model.classes_)]
    return task, plan, page, notes


def _frame(task: Task, plan: Plan, page: ReportData, identity: str | None) -> Any:
    import pandas as pd

    classes = plan.model.classes_
    columns: dict[str, Any] = {"row": [int(task.place[one.row]) for one in page.rows]}
    if identity is not None:
        columns[identity] = task.table[identity].iloc[[one.row for one in page.rows]].to_numpy()
    columns["label"] = classes[[one.label for one in page.rows]]
    columns["suggested"] = classes[[one.suggested for one in page.rows]]
    columns["probability_wrong"] = [one.wrong for one in page.rows]
    return pd.DataFrame(columns)


def _tell(page: ReportData, rows: Any, output: Path, notes: list[str], as_json: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from unconfused._report._words import percent
    from unconfused.cli._show import console, say_notes

    if as_json:
        found = {
            "verdict": f"{page.verdict.number} {page.verdict.sentence}",
            "detail": page.verdict.detail,
            "labels": page.n_labels,
            "expected_wrong": page.n_wrong,
            "rows": len(rows),
            "output": str(output),
            "notes": notes,
        }
        print(json.dumps(found, indent=2))
        return
    out = console()
    out.print(f"{page.verdict.number} {page.verdict.sentence}.", style="bold")
    for sentence in page.verdict.detail:
        out.print(sentence)
    table = Table(title="The most suspicious rows")
    for name in rows.columns:
        table.add_column(str(name))
    for *cells, wrong in rows.head(PREVIEW).itertuples(index=False):
        table.add_row(*(Text(str(cell)) for cell in cells), percent(wrong))
    out.print(table)
    out.print(f"Rows: {output} ({len(rows):,} rows)")
    say_notes(notes)
