"""`unconfused fit`: from a file with noisy labels to a saved model."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unconfused.cli import _options as opt
from unconfused.cli._console import print_json
from unconfused.cli._errors import plain_errors
from unconfused.cli._known import Known, Reading
from unconfused.cli._progress import Stages
from unconfused.cli._targets import check_target, refuse_same_target

if TYPE_CHECKING:
    from unconfused.cli._fitted import Done
    from unconfused.cli._opened import Source

EXAMPLES = [
    "fit pets.csv --label kind",
    "fit pets.csv --label kind --truth checked --report report.html",
    "fit pets.csv --label kind --confusion C.csv --text remark -o pets.skops",
    "fit songs.csv --annotators ann,bob,eve --id song",
    "fit songs.csv --votes answers.csv --item song --annotator worker --label answer",
]

DEFAULT_MODEL = Path("model.skops")


def fit(
    context: typer.Context,
    data: opt.Data,
    label: opt.Label = None,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Where the model goes.", rich_help_panel=opt.FILES),
    ] = DEFAULT_MODEL,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE.html",
            help="Also write a page that shows which rows are probably wrong.",
            rich_help_panel=opt.FILES,
        ),
    ] = None,
    confusion: opt.Confusion = None,
    truth: opt.Truth = None,
    annotators: opt.Annotators = None,
    votes: opt.Votes = None,
    item: opt.Item = None,
    annotator: opt.Annotator = None,
    duplicates: opt.OnDuplicates = opt.Duplicates.error,
    trust_labels: opt.TrustLabels = False,
    smoothing: opt.Smoothing = 0.0,
    learner: Annotated[
        opt.Learner,
        typer.Option(
            help="logistic gives probabilities; uma, the algorithm of the paper, labels alone."
        ),
    ] = opt.Learner.logistic,
    l2: Annotated[float, typer.Option(min=0.0, help="Penalty on the weights (logistic).")] = 1e-4,
    relabel: opt.Relabel = 0,
    max_iter: Annotated[
        int | None, typer.Option(min=1, help="Most steps of the fit.", show_default="by learner")
    ] = None,
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
    force: opt.Force = False,
    as_json: opt.AsJson = False,
) -> None:
    """Learn from noisy labels, and save the model.

    Numbers are scaled, words become categories, missing values are filled in; all that is saved
    with the model, so that `predict` takes files like this one as they are.
    """
    with plain_errors(context.obj):
        reading = Reading(delimiter, encoding, file_format)
        known = Known(
            label, confusion, truth, reading.names(data, annotators), votes, item, annotator,
            duplicates.value, identity, missing, classes, trust_labels, smoothing,
        )  # fmt: skip
        refuse_same_target(data, output, report)
        check_target(output, [".skops"], force=force)
        if report is not None:
            check_target(report, [".html", ".htm"], force=force)
        begun = time.perf_counter()
        with ExitStack() as files:
            stage = files.enter_context(Stages(3 if report is None else 4))
            stage(f"Reading {data.name}")
            from unconfused.cli._model import Settings
            from unconfused.cli._opened import Source
            from unconfused.persistence import import_extra

            import_extra("skops.io", "save", "Saving a model")  # not after a long fit
            settings = Settings(
                learner.value, l2, max_iter, reading.names(data, text),
                reading.names(data, categories), reading.names(data, ignore), smoothing, seed,
                relabel, as_is,
            )  # fmt: skip
            folder = scratch or output.parent
            done = _run(Source(data, known, reading, settings, stage, files, folder, stream))
            if report is not None:
                stage(f"Writing {report.name}")
                done.write_report(report, force, seed)
            done.save(output, force)
        found = done.as_dict() | {
            "model": str(output),
            "report": None if report is None else str(report),
            "seconds": round(time.perf_counter() - begun, 2),
        }
        print_json(found) if as_json else done.show(output, report)


def _run(source: Source) -> Done:
    from unconfused.cli import _model, _verdict
    from unconfused.cli._fitted import Done
    from unconfused.cli._show import suspicious_columns
    from unconfused.confusion._balance import HELD_BY_COUNTS
    from unconfused.estimators._relabel import NOT_MADE

    known, settings, stage = source.known, source.settings, source.stage
    notes: list[str] = []
    with _model.warnings_as_notes(notes):
        task, plan = source.open()
        stage("Asking how labels go wrong")
        estimate = _model.estimate_for_fit(task, plan, settings)
        stage(f"Fitting {len(task.place):,} rows")
        _model.fit_plan(task, plan, estimate)
        learner = plan.learner
        matrix, prior = learner.confusion_, learner.class_prior_
        if task.kind == "trusted" and task.n_trusted == len(task.place):
            matrix = _model.count_confusion(task, settings.smoothing).matrix
        words = _verdict.source_words(task, _verdict.where_of(known))
        verdict = _verdict.make_verdict(task, matrix, prior, learner.classes_, words)
    notes = task.notes_with(notes)
    notes += suspicious_columns(plan, learner.classes_)
    notes += _verdict.doubts(verdict)
    rounds = learner.history_.get("relabelled")
    if rounds is not None:
        if learner.noise_depends_on_rows_:
            notes.append(HELD_BY_COUNTS)
        elif len(rounds) == 0:
            notes.append(NOT_MADE)
    return Done(task, plan, verdict, known, notes)
