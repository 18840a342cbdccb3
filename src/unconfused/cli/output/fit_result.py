"""A fitted model, to be saved, reported and summarized: `FitResult`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

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
        from unconfused._report.analysis.gather import gather
        from unconfused._report.analysis.tables import RowListing
        from unconfused._report.write import write_page
        from unconfused.cli.output.row_contents import row_contents

        task, sample, identity = self.task, self.plan.sample, self.known.identity
        rows = np.arange(len(task.place)) if sample is None else sample.rows
        table = task.table if sample is None else sample.table
        title = None
        if len(rows) < len(task.place):
            total = f"{len(rows):,} of {len(task.place):,} rows, drawn at random"
            title = f"Are these labels right? ({total})"
        listing = RowListing(
            names=table[identity] if identity else task.place[rows],
            texts=self._text(table),
            contents=row_contents(task, self.plan, self.opened, of_sample=True) or None,
        )
        page = gather(
            self.plan.model if sample is None else self.learner,
            self.plan.rows if sample is None else self.plan.rows[rows],
            task.y.take_items(rows) if task.kind == "votes" else task.y[rows],
            y_true=None if task.y_true is None else task.y_true[rows],
            listing=listing,
            title=title,
            random_state=seed,
            accuracy=self.accuracy,
            source=self.source,
        )
        write_page(page, path, force=force)

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
        if weight == 1:
            return ["Noisy and trusted rows have the same weight."]
        if weight == 0:
            return ["The noisy labels were of no help: they have weight 0."]
        return [f"A noisy row has {weight:.2g} times the weight of a trusted one."]

    def show(self, output: Path, report: Path | None) -> None:
        """Print a summary."""
        from unconfused._report.analysis.accuracy import accuracy_words
        from unconfused._text.words import class_names, shorten
        from unconfused.cli.output.show import MOST_NAMES, describe_columns, say_notes

        out = console()
        if self.accuracy is not None:
            out.print(accuracy_words(self.accuracy), style="bold")
        out.print(self.verdict.sentence(), style="bold")
        out.print(self.verdict.source)
        names = class_names(self.learner.classes_)
        few = f": {shorten(', '.join(names))}" if len(names) <= MOST_NAMES else ""
        said = f"{type(self.learner).__name__} on {len(self.task.place):,} rows, "
        out.print(f"\n{said}{len(names)} classes{few}.")
        for line in [*describe_columns(self.plan), *self._weight_in_words()]:
            out.print(line)
        out.print(f"Model: {output}")
        if report is not None:
            out.print(f"Report: {report}")
        say_notes(self.notes)
