"""`unconfused audit`: the rows whose labels are most likely wrong."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unconfused._atomic import refuse_folder
from unconfused._printable import printable
from unconfused.cli import options as opt
from unconfused.cli.console import console, print_json
from unconfused.cli.errors import in_options, plain_errors
from unconfused.cli.input.label_options import LabelOptions, ReadOptions
from unconfused.cli.output.targets import refuse_same_target
from unconfused.cli.progress import Stages

if TYPE_CHECKING:
    from unconfused._report.data import ReportData
    from unconfused.cli.input.source import TaskSource
    from unconfused.cli.input.task import Task
    from unconfused.cli.model import Plan

EXAMPLES = [
    "audit pets.csv --label kind -o check.csv --top 200",
    "audit pets.csv --label kind --truth checked --id name -o check.csv",
    "audit songs.csv --annotators ann,bob,eve -o check.csv",
]

PREVIEW = 5
"""Rows shown in the terminal."""

COLUMNS = ("row", "label", "suggested", "probability_wrong")
"""Columns of the output, besides that of --id."""

MOST_STREAMED = 100_000
"""Rows listed with --stream, unless --top is given."""

FOLDS_WORDS = "Computing out-of-fold predictions"


def audit(
    context: typer.Context,
    data: opt.Data,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Output file for the rows: .csv, .tsv, .jsonl, .parquet or .arrow.",
            rich_help_panel=opt.FILES,
        ),
    ],
    label: opt.Label = None,
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of rows to write, most suspicious first.",
            show_default="all, 100,000 with --stream",
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
    l2: Annotated[float, typer.Option(min=0.0, help="L2 penalty.")] = 1e-4,
    relabel: opt.Relabel = 0,
    identity: opt.Identity = None,
    text: opt.Text = None,
    categories: opt.Categories = None,
    ignore: opt.Ignore = None,
    as_is: opt.AsIs = False,
    missing: opt.Missing = None,
    classes: opt.Classes = None,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    file_format: opt.Format = None,
    stream: opt.Stream = None,
    scratch: opt.Scratch = None,
    seed: opt.Seed = 0,
    escape: opt.Escape = True,
    force: opt.Force = False,
    as_json: opt.AsJson = False,
) -> None:
    """List the rows most likely mislabelled, with a suggested label for each.

    OUTPUT has the columns `row` (row number in DATA, from 0), the column of --id if given,
    `label`, `suggested` and `probability_wrong`, and is sorted by the latter. Probabilities are
    out-of-fold: no row is judged by a model fitted to it. Trusted rows are not listed.
    """
    with plain_errors(context.obj):
        from unconfused._files.write import check_table_target, write_table
        from unconfused.cli.output.output_columns import refuse_clash

        reading = ReadOptions(delimiter, encoding, file_format)
        known = LabelOptions(
            label, confusion, truth, reading.names(data, annotators), votes, item, annotator,
            duplicates.value, identity, missing, classes, smoothing=smoothing,
        )  # fmt: skip
        refuse_clash("--id", [identity] if identity else [], COLUMNS)
        refuse_same_target(data, output)
        check_table_target(output, force=force)
        refuse_folder(output)
        with ExitStack() as files:
            stage = files.enter_context(Stages(4))
            stage(f"Reading {data.name}")
            from unconfused.cli.input.source import TaskSource
            from unconfused.cli.model import Settings

            settings = Settings(
                l2=l2, text=reading.names(data, text), categories=reading.names(data, categories),
                ignore=reading.names(data, ignore), smoothing=smoothing, seed=seed, as_is=as_is,
                relabel=relabel,
            )  # fmt: skip
            folder = scratch or output.parent
            source = TaskSource(data, known, reading, settings, stage, files, folder, stream)
            task, plan, page, notes = _judge(source, top)
            rows = _frame(task, plan, page, source)
        write_table(rows, output, force=force, escape=escape)
        _tell(page, rows, output, notes, as_json)


def _judge(source: TaskSource, top: int | None) -> tuple[Task, Plan, ReportData, list[str]]:
    from unconfused._report.analysis.gather import gather
    from unconfused.cli import model as modelling
    from unconfused.cli.output.show import suspicious_columns

    settings, stage = source.settings, source.stage
    caught: list[str] = []
    with modelling.warnings_as_notes(caught):
        task, plan = source.open()
        most = len(task.place) if plan.sample is None else min(len(task.place), MOST_STREAMED)
        stage("Estimating the confusion matrix")
        estimate = modelling.estimate_for_fit(task, plan, settings)
        stage(f"Fitting {len(task.place):,} rows")
        model = modelling.fit_plan(task, plan, estimate)
        stage(FOLDS_WORDS)
        page = gather(
            model if plan.sample is None else plan.learner,
            plan.rows,
            task.y,
            y_true=task.y_true,
            max_rows=most if top is None else top,
            sensitivity=False,
            random_state=settings.seed,
        )
    notes = task.notes_with(caught)
    notes += [*map(in_options, page.notes), *suspicious_columns(plan, model.classes_)]
    if top is None and most < page.n_ranked:
        notes.append(f"With --stream only the {most:,} most suspicious rows are listed; see --top.")
    return task, plan, page, notes


def _frame(task: Task, plan: Plan, page: ReportData, source: TaskSource) -> Any:
    import pandas as pd

    classes, identity = plan.model.classes_, source.known.identity
    places = [int(task.place[one.row]) for one in page.rows]
    columns: dict[str, Any] = {COLUMNS[0]: places}
    if identity is not None and plan.sample is None:
        columns[identity] = task.table[identity].iloc[[one.row for one in page.rows]].to_numpy()
    elif identity is not None:
        from unconfused.cli.input.parts import Parts

        columns[identity] = Parts(source.data, source.reading, lambda n: None).cells(
            identity, places
        )
    label, suggested, wrong = COLUMNS[1:]
    columns[label] = classes[[one.label for one in page.rows]]
    columns[suggested] = classes[[one.suggested for one in page.rows]]
    columns[wrong] = [one.wrong for one in page.rows]
    return pd.DataFrame(columns)


def _tell(page: ReportData, rows: Any, output: Path, notes: list[str], as_json: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from unconfused._report.words import percent
    from unconfused.cli.output.show import say_notes

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
        print_json(found)
        return
    out = console()
    out.print(f"{page.verdict.number} {page.verdict.sentence}.", style="bold")
    for sentence in page.verdict.detail:
        out.print(sentence)
    table = Table(title="The most suspicious rows")
    for name in rows.columns:
        table.add_column(Text(printable(str(name))))
    for *cells, wrong in rows.head(PREVIEW).itertuples(index=False):
        table.add_row(*(Text(printable(str(cell))) for cell in cells), percent(wrong))
    out.print(table)
    out.print(f"Rows: {output} ({len(rows):,} rows)")
    say_notes(notes)
