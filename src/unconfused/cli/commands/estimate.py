"""`unconfused estimate`: the confusion matrix, with intervals and a verdict."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from unconfused.cli import options as opt
from unconfused.cli.console import console, print_json
from unconfused.cli.input.label_options import LabelOptions, ReadOptions, Settings
from unconfused.cli.option_groups import without
from unconfused.cli.output.targets import check_target, refuse_same_target
from unconfused.cli.progress import Stages

if TYPE_CHECKING:
    from unconfused.cli.input.task import Task
    from unconfused.cli.model import Plan
    from unconfused.cli.output.noise_summary import NoiseSummary
    from unconfused.confusion import ConfusionEstimate

EXAMPLES = [
    "estimate pets.csv --label kind --truth checked",
    "estimate songs.csv --annotators ann,bob,eve -o C.csv",
    "estimate songs.csv --votes answers.csv --item song --annotator worker --label answer",
    "estimate pets.csv --label kind --json",
]


def estimate(
    data: opt.Data,
    *,
    labels: Annotated[LabelOptions, without("confusion", "trust_labels")],
    output: Annotated[
        Path | None,
        opt.output("Output file for the matrix, as read by `fit --confusion`.", "C.csv"),
    ] = None,
    level: opt.Level = 0.95,
    settings: Annotated[Settings, without("l2", "relabel", "max_iter", "as_is")],
    stream: opt.Stream = None,
    scratch: opt.Scratch = None,
    reading: ReadOptions,
    escape: opt.Escape = True,
    force: opt.Force = False,
    as_json: opt.AsJson = False,
) -> None:
    """Estimate the confusion matrix of the labels, with intervals and a verdict.

    From trusted rows (--truth), from several annotators (--annotators, --votes), or, with neither,
    from features and labels alone, which is a guess.
    """
    labels, settings = labels.of_file(data, reading), settings.of_file(data, reading)
    refuse_same_target(data, output)
    if output is not None:
        check_target(output, [".csv", ".tsv"], force=force)
    with ExitStack() as files:
        stage = files.enter_context(Stages(2))
        stage(f"Reading {data.name}")
        from unconfused.cli.input.matrix_file import write_matrix
        from unconfused.cli.input.source import TaskSource
        from unconfused.cli.model import warnings_as_notes
        from unconfused.cli.output.noise_summary import doubts

        folder = scratch or (Path() if output is None else output.parent)
        source = TaskSource(data, labels, reading, settings, stage, files, folder, stream)
        caught: list[str] = []
        with warnings_as_notes(caught):
            task, plan = source.open_labels()
            stage("Estimating the confusion matrix")
            found = _estimate(task, plan, settings)
        notes = task.notes_with(caught)
        verdict = _verdict(task, found, labels)
        notes += doubts(verdict)
    if output is not None:
        write_matrix(output, found.matrix, found.classes, force=force, escape=escape)
    show = _print_dict if as_json else _show
    show(verdict, found, level, output, notes)


def _estimate(task: Task, plan: Plan | None, settings: Any) -> ConfusionEstimate:
    from unconfused.cli.model import count_confusion, guess_confusion, make_plan
    from unconfused.confusion import from_annotators

    if task.kind == "votes":
        return from_annotators(
            task.y,
            y_true=task.y_true,
            classes=task.classes,
            smoothing=settings.smoothing,
            missing_label=None,
        )
    if task.kind == "trusted":
        return count_confusion(task, settings.smoothing)
    plan = make_plan(task, settings) if plan is None else plan
    return guess_confusion(task, plan, settings.seed, settings.smoothing)


def _verdict(task: Task, found: ConfusionEstimate, known: LabelOptions) -> NoiseSummary:
    from unconfused.cli.output.noise_summary import BASES, NoiseSummary, source_words

    wrong = found.wrong_labels(BASES[task.kind])
    return NoiseSummary(wrong, found.classes, task.kind, source_words(task, known))


def _print_dict(
    verdict: NoiseSummary,
    found: ConfusionEstimate,
    level: float,
    output: Path | None,
    notes: list[str],
) -> None:
    low, high = found.interval(level)
    told: dict[str, Any] = {
        "verdict": verdict.as_dict() | {"quality": found.verdict},
        "classes": found.classes.tolist(),
        "matrix": found.matrix.tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
        "level": level,
        "counts": found.counts.tolist(),
        "condition_number": found.condition_number,
        "output": None if output is None else str(output),
        "notes": notes,
    }
    print_json(told)


def _show(
    verdict: NoiseSummary,
    found: ConfusionEstimate,
    level: float,
    output: Path | None,
    notes: list[str],
) -> None:
    from unconfused.cli.output.confusion_table import class_table, matrix_table, matrix_width
    from unconfused.cli.output.show import say_notes

    out = console()
    out.print(verdict.sentence(), style="bold")
    out.print(verdict.source)
    out.print(f"{found.verdict}\n")
    whole = matrix_width(found) <= out.width
    out.print(matrix_table(found, level) if whole else class_table(found, level, out.width))
    if output is not None:
        out.print(f"Matrix: {output}")
    say_notes(notes)
