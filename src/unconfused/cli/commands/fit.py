"""`unconfused fit`: from a file with noisy labels to a saved model."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unconfused.cli import options as opt
from unconfused.cli.console import print_json
from unconfused.cli.errors import in_options
from unconfused.cli.input.label_options import LabelOptions, ReadOptions, Settings
from unconfused.cli.output.targets import check_target, refuse_same_target
from unconfused.cli.progress import Stages

if TYPE_CHECKING:
    from unconfused.cli.input.source import TaskSource
    from unconfused.cli.output.fit_result import FitResult

EXAMPLES = [
    "fit pets.csv --label kind",
    "fit pets.csv --label kind --truth checked --report report.html",
    "fit pets.csv --label kind --confusion C.csv --text remark -o pets.skops",
    "fit songs.csv --annotators ann,bob,eve --id song",
    "fit songs.csv --votes answers.csv --item song --annotator worker --label answer",
]

DEFAULT_MODEL = Path("model.skops")


def fit(
    data: opt.Data,
    *,
    labels: LabelOptions,
    output: Annotated[Path, opt.output("Output file for the model.")] = DEFAULT_MODEL,
    report: Annotated[
        Path | None,
        opt.file(
            "--report",
            "Also write an HTML report on the labels, with the rows most likely mislabelled.",
            "FILE.html",
        ),
    ] = None,
    learner: Annotated[
        opt.Learner,
        typer.Option(
            help="logistic: logistic regression through the confusion matrix; trees: boosted trees "
            "through it; auto: trees where they predict held-out labels better; uma: the algorithm "
            "of the paper, without probabilities."
        ),
    ] = opt.Learner.auto,
    settings: Settings,
    stream: opt.Stream = None,
    scratch: opt.Scratch = None,
    reading: ReadOptions,
    force: opt.Force = False,
    as_json: opt.AsJson = False,
) -> None:
    """Fit a classifier to noisy labels, and save it.

    Numbers are scaled, words become categories, and missing values are imputed. These steps are
    saved with the model, so `predict` takes files in the same format as DATA.
    """
    labels, settings = labels.of_file(data, reading), settings.of_file(data, reading, learner)
    refuse_same_target(data, output, report)
    check_target(output, [".skops"], force=force)
    if report is not None:
        check_target(report, [".html", ".htm"], force=force)
        labels.refuse_other_labels()
    begun = time.perf_counter()
    with ExitStack() as files:
        stage = files.enter_context(Stages(3 if report is None else 4))
        stage(f"Reading {data.name}")
        from unconfused._text.extras import import_extra
        from unconfused.cli.input.source import TaskSource

        import_extra("skops.io", "save", "Saving a model")  # not after a long fit
        folder = scratch or output.parent
        done = _run(TaskSource(data, labels, reading, settings, stage, files, folder, stream))
        if report is not None:
            stage(f"Writing {report.name}")
            done.write_report(report, force, settings.seed)
        done.save(output, force)
    found = done.as_dict() | {
        "model": str(output),
        "report": None if report is None else str(report),
        "seconds": round(time.perf_counter() - begun, 2),
    }
    print_json(found) if as_json else done.show(output, report)


def _run(source: TaskSource) -> FitResult:
    from unconfused.cli import model as modelling
    from unconfused.cli.output import noise_summary
    from unconfused.cli.output.fit_result import FitResult, judge_fit
    from unconfused.cli.output.show import show_columns, suspicious_columns
    from unconfused.confusion.estimation.balance import HELD_BY_COUNTS
    from unconfused.estimators.relabel.pseudo_labels import NOT_MADE
    from unconfused.persistence.onnx import export_obstacle

    known, settings, stage = source.known, source.settings, source.stage
    notes: list[str] = []
    with modelling.warnings_as_notes(notes):
        task, plan = source.open()
        show_columns(plan)
        stage("Estimating the confusion matrix")
        estimate = modelling.estimate_for_fit(task, plan, settings)
        stage(f"Fitting {len(task.place):,} rows")
        modelling.fit_plan(task, plan, estimate)
        learner = plan.learner
        found = judge_fit(task, plan, known, settings.seed)
        if modelling.believed_without_knowing(task, learner):
            notes.append(modelling.BELIEVED)
    notes = task.notes_with([*plan.notes, *notes])
    notes += suspicious_columns(plan, learner.classes_)
    notes += noise_summary.doubts(found.noise)
    rounds = learner.history_.get("relabelled")
    if rounds is not None:
        if getattr(learner, "noise_depends_on_rows_", False):
            notes.append(HELD_BY_COUNTS)
        elif len(rounds) == 0 and settings.relabel:
            notes.append(NOT_MADE)
    if (why := export_obstacle(learner)) is not None:
        notes.append(in_options(why))
    return FitResult(task, plan, found, source, notes)
