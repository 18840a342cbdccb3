"""`unconfused audit`: the rows whose labels are most likely wrong."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unconfused._atomic import refuse_folder
from unconfused._text.printable import printable
from unconfused.cli import options as opt
from unconfused.cli.console import console, print_json
from unconfused.cli.errors import in_options
from unconfused.cli.input.label_options import LabelOptions, ReadOptions, Settings
from unconfused.cli.option_groups import without
from unconfused.cli.output.targets import check_target, refuse_same_target
from unconfused.cli.progress import Stages

if TYPE_CHECKING:
    from unconfused._report.data import ReportData
    from unconfused.cli.input.source import TaskSource
    from unconfused.cli.input.task import Task
    from unconfused.cli.model import Plan

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

MOST_STREAMED = 100_000
"""Rows listed with --stream, unless --top is given."""

FOLDS_WORDS = "Computing out-of-fold predictions"


def audit(
    data: opt.Data,
    *,
    labels: Annotated[LabelOptions, without("trust_labels")],
    output: Annotated[Path, opt.output(f"Output file for the rows: {opt.TABLE_FILES}.")],
    report: Annotated[
        Path | None,
        opt.file(
            "--report",
            "Also write an HTML report, in which rows can be kept, changed or skipped.",
            "FILE.html",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        opt.columns("--keep", "Columns of DATA to copy into OUTPUT, and to show in the report."),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of rows to write, most suspicious first.",
            show_default="all, 100,000 with --stream",
        ),
    ] = None,
    probabilities: Annotated[
        Path | None,
        opt.known(
            "--probabilities",
            "Out-of-fold probabilities of any model, a row per row of DATA and a column per class: "
            ".csv, .parquet, or .npy in the order of the sorted classes. No model is fitted then.",
            "FILE",
        ),
    ] = None,
    predicts: Annotated[
        opt.Predicts,
        opt.known(
            "--predicts",
            "What --probabilities are of: the noisy label, if the model was trained on noisy "
            "labels, or the true class.",
        ),
    ] = opt.Predicts.label,
    learner: Annotated[
        opt.AuditLearner,
        typer.Option(
            help="Model that judges the rows: logistic regression or boosted trees through the "
            "confusion matrix; auto: trees where they predict held-out labels better."
        ),
    ] = opt.AuditLearner.auto,
    settings: Annotated[Settings, without("max_iter")],
    stream: opt.Stream = None,
    scratch: opt.Scratch = None,
    reading: ReadOptions,
    escape: opt.Escape = True,
    force: opt.Force = False,
    as_json: opt.AsJson = False,
) -> None:
    """List the rows most likely mislabelled, with a suggested label for each.

    OUTPUT has the columns `row` (row number in DATA, from 0), the column of --id if given,
    `label`, `suggested` and `probability_wrong`, and is sorted by the latter. Probabilities are
    out-of-fold: no row is judged by a model fitted to it. Trusted rows are not listed.
    """
    from unconfused._files.write import check_table_target, write_table
    from unconfused.cli.output.output_columns import refuse_clash

    labels, settings = labels.of_file(data, reading), settings.of_file(data, reading, learner)
    labels.refuse_other_labels()
    identity = labels.identity
    kept = [one for one in reading.names(data, keep) if one != identity]
    refuse_clash("--id", [identity] if identity else [], COLUMNS)
    refuse_clash("--keep", kept, COLUMNS)
    _refuse_unknown(data, reading, kept)
    refuse_same_target(data, output, report)
    if report is not None:
        check_target(report, [".html", ".htm"], force=force)
    check_table_target(output, force=force)
    refuse_folder(output)
    if probabilities is not None:
        from unconfused.cli.commands.audit_probabilities import rank_rows, tell_ranked

        of_labels = predicts is opt.Predicts.label
        ranked, told = rank_rows(data, probabilities, of_labels, labels, reading, COLUMNS)
        ranked = ranked if top is None else ranked.head(top)
        write_table(ranked, output, force=force, escape=escape)
        tell_ranked(told, ranked, output, as_json)
        return
    with ExitStack() as files:
        stage = files.enter_context(Stages(4))
        stage(f"Reading {data.name}")
        from unconfused.cli.input.source import TaskSource

        folder = scratch or output.parent
        source = TaskSource(data, labels, reading, settings, stage, files, folder, stream)
        task, plan, page, notes = _judge(source, top, kept, report is not None)
        rows = _frame(task, plan, page, source, kept)
    write_table(rows, output, force=force, escape=escape)
    if report is not None:
        from unconfused._report.write import write_page

        shown = replace(page, rows=page.rows[:MOST_SHOWN])
        write_page(shown, report, force=force)
    _tell(page, rows, output, notes, as_json)


def _refuse_unknown(data: Path, reading: ReadOptions, kept: list[str]) -> None:
    """Raise before any work if a column to keep is not there."""
    from unconfused._columns.kinds import require as require_columns
    from unconfused._files.formats import find_source
    from unconfused.cli.input.parts import Parts

    found = find_source(data, reading.format).format if kept else "none"
    if found in ("svmlight", "npz"):
        raise ValueError("This file has no column names, so --keep does not apply.")
    if found not in ("none", "jsonl"):  # a line of JSON may lack a name that others have
        require_columns(Parts(data, reading, lambda n: None).first_row(), kept)


def _names(source: TaskSource, task: Task, identity: str) -> Any:
    from unconfused.cli.input.parts import Parts

    return Parts(source.data, source.reading, lambda n: None).cells(identity, task.place.tolist())


def _judge(
    source: TaskSource, top: int | None, kept: list[str], details: bool
) -> tuple[Task, Plan, ReportData, list[str]]:
    from unconfused._report.analysis.gather import gather
    from unconfused._report.analysis.tables import RowListing
    from unconfused.cli import model as modelling
    from unconfused.cli.output.fit_result import open_and_measure
    from unconfused.cli.output.row_contents import row_contents
    from unconfused.cli.output.show import show_columns, suspicious_columns

    settings, stage = source.settings, source.stage
    caught: list[str] = []
    with modelling.warnings_as_notes(caught):
        task, plan = source.open()
        show_columns(plan)
        most = len(task.place) if plan.sample is None else min(len(task.place), MOST_STREAMED)
        stage("Estimating the confusion matrix")
        estimate = modelling.estimate_for_fit(task, plan, settings)
        stage(f"Fitting {len(task.place):,} rows")
        model = modelling.fit_plan(task, plan, estimate)
        stage(FOLDS_WORDS)
        identity = source.known.identity
        named = task.place
        if details and identity:
            named = task.table[identity] if plan.sample is None else _names(source, task, identity)
        contents = row_contents(task, plan, source, shown=kept or None) if details else None
        _, accuracy = open_and_measure(task, plan, settings.seed)
        page = gather(
            model if plan.sample is None else plan.learner,
            plan.rows,
            task.y,
            y_true=task.y_true,
            listing=RowListing(
                most if top is None else top,
                names=named if details else None,
                contents=contents or None,
            ),
            sensitivity=False,
            random_state=settings.seed,
            accuracy=accuracy,
        )
    notes = task.notes_with([*plan.notes, *caught])
    notes += [*map(in_options, page.notes), *suspicious_columns(plan, model.classes_)]
    if top is None and most < page.n_ranked:
        notes.append(f"With --stream only the {most:,} most suspicious rows are listed; see --top.")
    return task, plan, page, notes


def _frame(task: Task, plan: Plan, page: ReportData, source: TaskSource, kept: list[str]) -> Any:
    import pandas as pd

    from unconfused._columns.kinds import require as require_columns

    classes, identity = plan.model.classes_, source.known.identity
    places = [int(task.place[one.row]) for one in page.rows]
    columns: dict[str, Any] = {COLUMNS[0]: places}
    copied = [*([identity] if identity is not None else []), *kept]
    if copied and plan.sample is None:
        require_columns(task.table, copied)
        some = task.table.iloc[[one.row for one in page.rows]]
        columns |= {name: some[name].to_numpy() for name in copied}
    elif copied:
        from unconfused.cli.input.parts import Parts

        some = Parts(source.data, source.reading, lambda n: None).rows(places, [copied[0]])
        require_columns(some, copied)
        columns |= {name: some[name].to_numpy() for name in copied}
    label, suggested, wrong = COLUMNS[1:]
    columns[label] = classes[[one.label for one in page.rows]]
    columns[suggested] = classes[[one.suggested for one in page.rows]]
    columns[wrong] = [one.wrong for one in page.rows]
    return pd.DataFrame(columns)


def _tell(page: ReportData, rows: Any, output: Path, notes: list[str], as_json: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from unconfused._text.words import percent, shorten
    from unconfused.cli.output.show import say_notes

    if as_json:
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
        print_json(found)
        return
    out = console()
    out.print(f"About {page.verdict.number} {page.verdict.sentence}.", style="bold")
    for sentence in page.verdict.detail:
        out.print(sentence)
    if page.accuracy is not None:
        out.print(page.verdict.model)
    table = Table(title="The most suspicious rows")
    for name in rows.columns:
        table.add_column(Text(printable(str(name))))
    for *cells, wrong in rows.head(PREVIEW).itertuples(index=False):
        table.add_row(*(Text(printable(shorten(str(cell)))) for cell in cells), percent(wrong))
    out.print(table)
    out.print(f"Rows: {output} ({len(rows):,} rows)")
    say_notes(notes)
