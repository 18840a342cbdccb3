"""A fitted model, to be saved, reported and summarized: `FitResult`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unconfused.cli.console import console

if TYPE_CHECKING:
    from unconfused._report.analysis.case import Case
    from unconfused._report.analysis.confusion_source import ConfusionSource
    from unconfused._report.data import CheckedAccuracy
    from unconfused.cli.input.label_options import LabelOptions
    from unconfused.cli.input.source import TaskSource
    from unconfused.cli.input.task import Task
    from unconfused.cli.model import Plan
    from unconfused.cli.output.noise_summary import NoiseSummary


@dataclass(frozen=True)
class FitVerdict:
    """How wrong the labels are, and how good the model is on rows it has not seen."""

    noise: NoiseSummary
    accuracy: CheckedAccuracy | None
    source: ConfusionSource | None
    """Where the confusion matrix comes from; None if labels were taken as right."""


def judge_fit(task: Task, plan: Plan, known: LabelOptions, seed: int) -> FitVerdict:
    """Measure both, for the terminal, the metadata of the model and the report alike."""
    from unconfused._report.analysis.confusion_source import find_source
    from unconfused.cli.output.noise_summary import (
        NoiseSummary,
        not_counted,
        not_examined,
        source_words,
    )

    if task.is_rectangular:
        return FitVerdict(not_counted(task, known, plan.learner.classes_), None, None)
    case, accuracy = open_and_measure(task, plan, seed)
    if task.kind == "assumed":
        return FitVerdict(not_examined(case.classes), accuracy, None)
    source = find_source(case, seed)
    words = source_words(task, known)
    return FitVerdict(NoiseSummary(source.wrong, case.classes, task.kind, words), accuracy, source)


def open_and_measure(task: Task, plan: Plan, seed: int) -> tuple[Case, CheckedAccuracy | None]:
    """Measure the model on the checked rows, of verdicts on those drawn by chance."""
    from unconfused._report.analysis.accuracy import checked_accuracy
    from unconfused._report.analysis.case import open_case

    model = plan.model if plan.sample is None else plan.learner
    case = open_case(model, plan.rows, task.y, task.y_true)
    drawn = None if task.checked is None else task.checked.representative[case.place]
    return case, checked_accuracy(case, seed, drawn)


class FitResult:
    """A fitted model with its data and notes."""

    def __init__(
        self,
        task: Task,
        plan: Plan,
        found: FitVerdict,
        opened: TaskSource,
        notes: list[str],
    ):
        self.task, self.plan, self.verdict, self.known = task, plan, found.noise, opened.known
        self.notes, self.accuracy, self.source = notes, found.accuracy, found.source
        self.opened = opened

    @property
    def learner(self) -> Any:
        """The classifier at the end of the pipeline."""
        return self.plan.learner

    def write_report(self, path: Path, force: bool, seed: int) -> None:
        """Write the report: on all rows, or on a sample of rows on disk."""
        from unconfused._report.write import write_gathered

        said = self._report_on_sample() if self.plan.sample else self._report_on_all()
        said |= {"accuracy": self.accuracy, "source": self.source}
        write_gathered(path=path, **said, force=force, random_state=seed)

    def _report_on_all(self) -> dict[str, Any]:
        identity, table = self.known.identity, self.task.table
        return {
            "model": self.plan.model,
            "X": self.plan.rows,
            "y": self.task.y,
            "y_true": self.task.y_true,
            "row_names": table[identity] if identity else self.task.place,
            "row_text": self._text(table),
            "contents": self._contents() or None,
        }

    def _contents(self) -> Any:
        from unconfused.cli.output.row_contents import row_contents

        return row_contents(self.task, self.plan, self.opened, of_sample=True)

    def _report_on_sample(self) -> dict[str, Any]:
        assert self.plan.sample is not None
        rows, table, truth = self.plan.sample.rows, self.plan.sample.table, self.task.y_true
        y = self.task.y.take_items(rows) if self.task.kind == "votes" else self.task.y[rows]
        identity, total = self.known.identity, len(self.task.place)
        title = f"Are these labels right? ({len(rows):,} of {total:,} rows, drawn at random)"
        return {
            "model": self.learner,
            "X": self.plan.rows[rows],
            "y": y,
            "y_true": None if truth is None else truth[rows],
            "row_names": table[identity] if identity else self.task.place[rows],
            "row_text": self._text(table),
            "contents": self._contents() or None,
            "title": title if len(rows) < total else None,
        }

    def _text(self, table: Any) -> Any:
        columns = self.plan.columns
        if columns is None or not columns.text:
            return None
        return table[columns.text[0]].fillna("").astype(str).to_numpy()

    def save(self, path: Path, force: bool) -> None:
        """Save the model, with the verdict as metadata."""
        from unconfused import save

        metadata = {"label": self.known.label, "verdict": self.verdict.as_dict()}
        if self.accuracy is not None:
            metadata["accuracy"] = asdict(self.accuracy)
        save(self.plan.model, path, force=force, metadata=metadata)

    def as_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        from unconfused.cli.output.show import columns_as_dict

        return {
            "verdict": self.verdict.as_dict(),
            "accuracy": None if self.accuracy is None else asdict(self.accuracy),
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
        """Return the weight of noisy rows beside trusted ones."""
        weight = getattr(self.learner, "noisy_weight_", None)
        if weight is None or self.task.kind == "votes":
            return []
        if not 0 < self.task.n_trusted < len(self.task.place):
            return []
        return [f"A noisy row weighs {weight:.2g} times as much as a trusted one."]

    def show(self, output: Path, report: Path | None) -> None:
        """Print a summary."""
        from unconfused._report.analysis.accuracy import accuracy_words
        from unconfused.cli.output.show import describe_columns, say_notes

        out = console()
        if self.accuracy is not None:
            out.print(accuracy_words(self.accuracy), style="bold")
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
