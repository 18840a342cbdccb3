"""`unconfused estimate`: the confusion matrix, with intervals and a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from unconfused.cli import options as opt
from unconfused.cli.console import console, tell
from unconfused.cli.errors import check_target, refuse_same_target
from unconfused.cli.input.label_options import LabelOptions, Settings
from unconfused.cli.input.matrix_file import write_matrix
from unconfused.cli.input.source import TaskSource
from unconfused.cli.options import ReadOptions, without

if TYPE_CHECKING:
    from unconfused.confusion.estimate import ConfusionEstimate

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
    output: Path | None = opt.output(
        "Output file for the matrix, as read by `fit --confusion`.", "C.csv", default=None
    ),
    level: float = opt.level(),
    settings: Annotated[Settings, without("learner", "l2", "relabel", "max_iter")],
    stream: bool | None = opt.stream(),
    scratch: Path | None = opt.scratch(),
    reading: ReadOptions,
    escape: bool = opt.escape(),
    force: bool = opt.force(),
    as_json: bool = opt.as_json(),
) -> None:
    """Estimate the confusion matrix of the labels, with intervals and a verdict.

    It is estimated from trusted rows (--truth), from the answers of several annotators and the
    features (--annotators, --votes) or, with neither, from features and labels alone. The last is
    only a guess.
    """
    labels, settings = labels.of_file(data, reading), settings.of_file(data, reading)
    refuse_same_target(data, output)
    if output is not None:
        check_target(output, [".csv", ".tsv"], force=force)
    folder = Path() if output is None else output.parent
    with TaskSource(data, labels, reading, settings, scratch or folder, stream) as source:
        from unconfused.cli.summary import confusion_table

        found, verdict, notes = _estimated(source)
    if output is not None:
        write_matrix(output, found.matrix, found.classes, force=force, escape=escape)
    low, high = found.interval(level)
    told: dict[str, Any] = {
        "verdict": verdict | {"quality": found.verdict},
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
    table = confusion_table(found, level, console().width)
    lines = [verdict["sentence"], verdict["source"], f"{found.verdict}\n", table]
    tell(as_json, told, lines if output is None else [*lines, f"Matrix: {output}"], notes)


def _estimated(source: TaskSource) -> tuple[ConfusionEstimate, dict[str, Any], list[str]]:
    """Return C, the share of wrong labels in words, and notes."""
    from unconfused._columns.kinds import NoFeaturesError
    from unconfused._text.wrong_labels import wrong_labels
    from unconfused.cli.fitting import FittedTask
    from unconfused.cli.model import count_labels, warnings_as_notes
    from unconfused.cli.summary import basis_of, doubts, summarize

    known = source.known
    votes = bool(known.annotators) or known.votes is not None
    if votes or (known.truth is None and known.verdicts is None):
        try:  # with the features, as `fit` does: both must find the same
            return FittedTask(source).estimate()
        except NoFeaturesError:
            if not votes:
                raise
    task, caught = source.open_labels(), list[str]()
    if task.kind == "nothing":  # there are verdicts, but none can be used
        return FittedTask(source).estimate()
    with warnings_as_notes(caught):
        source.stage("Estimating the confusion matrix")
        found = count_labels(task)
        wrong = found.wrong_labels(basis_of(task))
        if task.checked is not None and task.kind == "trusted":
            counts = task.verdicts().sample_counts(task.y, classes=found.classes)
            wrong = wrong if counts is None else wrong_labels(counts, "trusted")
    verdict = summarize(task, source.known, found.classes, wrong)
    return found, verdict, [*dict.fromkeys([*task.notes, *caught]), *doubts(verdict)]
