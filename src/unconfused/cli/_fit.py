"""`unconfused fit`: from a file with noisy labels to a saved model."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unconfused.cli import _options as opt
from unconfused.cli._errors import plain_errors
from unconfused.cli._known import Known, Reading, names_in
from unconfused.cli._progress import Stages
from unconfused.cli._targets import check_target, refuse_same_target

if TYPE_CHECKING:
    from unconfused.cli._model import Plan
    from unconfused.cli._task import Task
    from unconfused.cli._verdict import Verdict

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
    max_iter: Annotated[
        int | None, typer.Option(min=1, help="Most steps of the fit.", show_default="by learner")
    ] = None,
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
    """Learn from noisy labels, and save the model.

    Numbers are scaled, words become categories, missing values are filled in; all that is saved
    with the model, so that `predict` takes files like this one as they are.
    """
    with plain_errors(context.obj):
        known = Known(
            label, confusion, truth, names_in(annotators), votes, item, annotator,
            duplicates.value, identity, missing, classes, trust_labels, smoothing,
        )  # fmt: skip
        refuse_same_target(data, output, report)
        check_target(output, [".skops"], force=force)
        if report is not None:
            check_target(report, [".html", ".htm"], force=force)
        begun = time.perf_counter()
        with Stages(3 if report is None else 4) as stage:
            stage(f"Reading {data.name}")
            from unconfused.cli._model import Settings
            from unconfused.persistence import import_extra

            import_extra("skops.io", "save", "Saving a model")  # not after a long fit
            settings = Settings(
                learner.value, l2, max_iter, names_in(text), names_in(categories),
                names_in(ignore), smoothing, seed,
            )  # fmt: skip
            done = _run(data, known, Reading(delimiter, encoding, file_format), settings, stage)
            if report is not None:
                stage(f"Writing {report.name}")
                done.write_report(report, force, seed)
            done.save(output, force)
        found = done.as_dict() | {
            "model": str(output),
            "report": None if report is None else str(report),
            "seconds": round(time.perf_counter() - begun, 2),
        }
        print(json.dumps(found, indent=2)) if as_json else done.show(output, report)


class Done:
    """A fitted model, and all that is to be said about it."""

    def __init__(self, task: Task, plan: Plan, verdict: Verdict, known: Known, notes: list[str]):
        self.task, self.plan, self.verdict, self.known = task, plan, verdict, known
        self.notes = notes

    @property
    def learner(self) -> Any:
        """The classifier at the end of the pipeline."""
        return self.plan.model.steps[-1][1]

    def write_report(self, path: Path, force: bool, seed: int) -> None:
        """Write the page."""
        from unconfused import write_report

        identity = self.known.identity
        write_report(
            self.plan.model,
            self.plan.rows,
            self.task.y,
            path,
            y_true=self.task.y_true,
            row_names=self.task.table[identity] if identity else self.task.place,
            row_text=self._text(),
            force=force,
            random_state=seed,
        )

    def _text(self) -> Any:
        columns = self.plan.columns
        if columns is None or not columns.text:
            return None
        return self.task.table[columns.text[0]].fillna("").astype(str).to_numpy()

    def save(self, path: Path, force: bool) -> None:
        """Write the model, with where it comes from."""
        from unconfused import save

        metadata = {"label": self.known.label, "verdict": self.verdict.as_dict()}
        save(self.plan.model, path, force=force, metadata=metadata)

    def as_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        from unconfused.cli._show import columns_as_dict

        return {
            "verdict": self.verdict.as_dict(),
            "rows": len(self.task.place),
            "learner": type(self.learner).__name__,
            "classes": self.learner.classes_.tolist(),
            "class_shares": self.learner.class_prior_.tolist(),
            "confusion": self.learner.confusion_.tolist(),
            "noisy_weight": getattr(self.learner, "noisy_weight_", None),
            "columns": columns_as_dict(self.plan.columns),
            "notes": self.notes,
        }

    def _weight_in_words(self) -> list[str]:
        """Say what the rows without a known truth were worth, where the fit had a choice."""
        weight = getattr(self.learner, "noisy_weight_", None)
        if weight is None or self.task.kind == "votes":
            return []
        if not 0 < self.task.n_trusted < len(self.task.place):
            return []
        return [f"A row without a known truth counts {weight:.2g} times as much as one with."]

    def show(self, output: Path, report: Path | None) -> None:
        """Print the sentences."""
        from unconfused.cli._show import console, describe_columns, say_notes

        out = console()
        out.print(self.verdict.sentence(), style="bold")
        out.print(self.verdict.source)
        out.print(
            f"\n{type(self.learner).__name__} on {len(self.task.place):,} rows, "
            f"{len(self.learner.classes_)} classes."
        )
        for line in [*describe_columns(self.plan), *self._weight_in_words()]:
            out.print(line)
        out.print(f"Model: {output}")
        if report is not None:
            out.print(f"Report: {report}")
        say_notes(self.notes)


def _run(data: Path, known: Known, reading: Reading, settings: Any, stage: Stages) -> Done:
    from unconfused.cli import _model, _verdict
    from unconfused.cli._open_task import open_task
    from unconfused.cli._show import suspicious_columns

    task = open_task(data, known, reading, [*settings.text, *settings.categories])
    notes = list(task.notes)
    with _model.warnings_as_notes(notes):
        plan = _model.make_plan(task, settings)
        stage("Asking how labels go wrong")
        estimate = _model.estimate_for_fit(task, plan, settings)
        stage(f"Fitting {len(task.place):,} rows")
        _model.fit_plan(task, plan, estimate)
        learner = plan.model.steps[-1][1]
        matrix, prior = learner.confusion_, learner.class_prior_
        if task.kind == "trusted" and task.n_trusted == len(task.place):
            matrix = _model.count_confusion(task, settings.smoothing).matrix
        source = _verdict.source_words(task, _verdict.where_of(known))
        verdict = _verdict.make_verdict(task, matrix, prior, learner.classes_, source)
    notes += suspicious_columns(task, plan, learner.classes_)
    notes += _verdict.doubts(verdict)
    return Done(task, plan, verdict, known, notes)
