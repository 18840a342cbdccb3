"""A fitted task: what `fit` and `audit` share, save, report and print."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._columns.kinds import require_columns
from unconfused._columns.row_hash import beginning_hash
from unconfused._columns.steps import prepare_frame
from unconfused._matrix_labels import is_guess
from unconfused._report.case import Case, open_case
from unconfused._report.source import ConfusionSource, find_source, sampled_source
from unconfused._text import class_names, noisy_weight_words, shorten
from unconfused.cli.errors import in_options
from unconfused.cli.input.task import present_labels
from unconfused.cli.model import fit_plan, warnings_as_notes
from unconfused.cli.summary import (
    columns_as_dict,
    doubts,
    summarize,
    suspicious_columns,
)
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.confusion.estimation.balance import HELD_BY_COUNTS
from unconfused.estimators.relabel.pseudo_labels import NOT_MADE

if TYPE_CHECKING:
    from unconfused._report.data import ReportData
    from unconfused._text.checked_accuracy import CheckedAccuracy
    from unconfused.cli.input.source import TaskSource

BELIEVED = "Held-out labels do not support this estimate, so the model took the labels as right."


class FittedTask:
    """A task with a fitted model: the source is opened, read and fitted here."""

    def __init__(self, source: TaskSource) -> None:
        self.source, self.known, self.seed = source, source.known, source.settings.seed
        self._caught: list[str] = []
        with warnings_as_notes(self._caught):
            self.task, self.plan = source.open()
            source.stage(f"Fitting {len(self.task.place):,} rows")
            self.plan = fit_plan(self.task, self.plan, source.settings)
        self.learner = self.plan.learner
        self.accuracy: CheckedAccuracy | None = None
        self.confusion: ConfusionSource | None = None
        wrong, classes = None, self.learner.classes_
        with warnings_as_notes(self._caught):
            if not self.task.is_rectangular:
                case = open_case(self.learner, self.plan.rows, self.task.y, self.task.y_true)
                self.accuracy = self._accuracy_of(case)
                if self.task.kind != "assumed":
                    self.confusion = self._source_of(case)
                    wrong = self.confusion.wrong
        self.noise = summarize(self.task, self.known, classes, wrong)
        guessed = wrong is not None and wrong.basis == "guessed" and wrong.share > 0
        if guessed and not self._uses_guess():
            self.noise["source"] = f"{BELIEVED} {self.noise['source']}"
        if self.confusion is not None:
            self.confusion = replace(self.confusion, basis=self.noise["source"])

    def _accuracy_of(self, case: Case) -> CheckedAccuracy | None:
        """Measure the model on the checked rows, of verdicts on those drawn at random."""
        if self.task.y_true is None:
            return None
        from unconfused._report.accuracy import checked_accuracy

        checked = self.task.checked
        drawn = None if checked is None else checked.representative[case.place]
        return checked_accuracy(case, self.seed, drawn)

    def _source_of(self, case: Case) -> ConfusionSource:
        """Return what is known about C; verdicts on rows drawn at random count before the model."""
        source = find_source(case, self.seed)
        if self.task.checked is None or self.task.kind == "votes":
            return source
        drawn = self.task.verdicts().sample_counts(self.task.y, classes=case.classes)
        return source if drawn is None else sampled_source(source, drawn, case.classes)

    def _uses_guess(self) -> bool:
        return hasattr(self.learner, "guessed_confusion_") or is_guess(self.learner.confusion)

    def _notes(self) -> list[str]:
        notes = dict.fromkeys([*self.task.notes, *self.plan.notes, *self._caught])
        return [*notes, *suspicious_columns(self.plan, self.learner.classes_)]

    def judge(self) -> None:
        """Collect notes on the labels and the model."""
        self.notes = [*self._notes(), *doubts(self.noise)]
        rounds = self.learner.history_.get("relabelled")
        if rounds is not None:
            if getattr(self.learner, "noise_depends_on_rows_", False):
                self.notes.append(HELD_BY_COUNTS)
            elif len(rounds) == 0 and self.source.settings.relabel:
                self.notes.append(NOT_MADE)

    def estimate(self) -> tuple[ConfusionEstimate, dict[str, Any], list[str]]:
        """Return C of all votes together, or a guess; how many labels are wrong; and notes."""
        assert self.confusion is not None
        found = self.confusion.estimate
        if found is None:  # too little even for a guess
            raise ValueError(self.confusion.words)
        return found, self.noise, [*self._notes(), *doubts(self.noise)]

    def report(
        self, most: int = 1000, details: bool = True, shown: Collection[str] = (), **options: Any
    ) -> ReportData:
        """Compute a report that lists the `most` suspicious rows.

        With `details` it shows their names and columns: those `shown`, or most.
        """
        from unconfused._report.gather import gather
        from unconfused._report.tables import RowListing
        from unconfused.cli.input.open_task import left_out

        known, columns, place = self.known, self.plan.columns, self.task.place
        text = columns.text[:1] if columns is not None and not shown else []
        listing = RowListing(
            fetch=(lambda some: self._rows(place[some])) if details else None,
            max_rows=most,
            numbers=place,
            shown=shown or None,
            leave_out=left_out(known),
            hidden=[*filter(None, [known.truth, *known.annotators])],
            name=known.identity,
            text=text[0] if text else None,
        )
        found: dict[str, Any] = {"accuracy": self.accuracy, "source": self.confusion}
        found |= {"random_state": self.seed, "listing": listing, "y_true": self.task.y_true}
        return gather(self.learner, self.plan.rows, self.task.y, **found, **options)

    def _rows(self, place: Any, columns: Collection[str] = ()) -> Any:
        """Return rows of the file by their numbers, with all columns or some."""
        if self.plan.on_disk:
            as_text = [one for one in (self.known.label, self.known.identity) if one is not None]
            some = self.source.parts().rows(place, as_text, columns)
        else:
            table = self.task.table
            some = getattr(table, "iloc", table)[np.searchsorted(self.task.place, place)]
        if columns:
            require_columns(some, columns)
        return some

    def save(self, path: Path, force: bool) -> None:
        """Save the model, with the verdict as metadata."""
        from unconfused import save

        metadata = {"label": self.known.label, "verdict": self.noise}
        if self.accuracy is not None:
            metadata["accuracy"] = asdict(self.accuracy)
        source, kind = self.confusion, self.task.kind
        if source is not None and source.kind == "trusted" and kind == "trusted":
            assert source.counts is not None
            metadata["counts"] = source.counts.tolist()
        if not self.plan.on_disk:
            table, votes = self.task.table, kind == "votes"
            rows = prepare_frame(self.plan.model, table) if self.task.is_frame else table
            labelled = self.task.place >= 0 if votes else present_labels(np.asarray(self.task.y))
            metadata["rows"] = beginning_hash(rows, labelled)
        save(self.plan.model, path, force=force, metadata=metadata)

    def as_dict(self) -> dict[str, Any]:
        """Return what `fit --json` prints."""
        return {
            "verdict": self.noise,
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

    def lines(self) -> list[str]:
        """Return a summary."""
        names, lines = class_names(self.learner.classes_), list[str]()
        if self.accuracy is not None:
            from unconfused._text.checked_accuracy import accuracy_words

            lines.append(accuracy_words(self.accuracy))
        lines += [
            self.noise["sentence"],
            self.noise["source"],
            f"\n{type(self.learner).__name__} on {len(self.task.place):,} rows, "
            f"{len(names)} classes: {shorten(', '.join(names))}.",
        ]
        weight, known = getattr(self.learner, "noisy_weight_", None), self.task.trusted
        if weight is not None and self.task.kind != "votes" and 0 < known.sum() < len(known):
            lines.append(noisy_weight_words(weight))
        return lines

    def judge_rows(self, top: int, kept: list[str], details: bool) -> ReportData:
        """Rank the `top` rows by how likely their label is wrong.

        With `details` they have their names and columns, of which those `kept` are shown.
        """
        with warnings_as_notes(self._caught):
            self.source.stage("Computing out-of-fold predictions")
            page = self.report(top, details, kept, sensitivity=False)
        self.notes = [*self._notes(), *map(in_options, page.notes)]
        return page

    def frame_of(self, page: ReportData, columns: tuple[str, ...], kept: list[str]) -> Any:
        """Return the rows of a page as a frame.

        `columns` are the names for row number, label, suggestion and probability; columns of the
        data that are `kept` stand after the first.
        """
        import pandas as pd

        identity, classes = self.known.identity, self.learner.classes_
        places = [one.row for one in page.rows]
        row, label, suggested, wrong = columns
        frame: dict[str, Any] = {row: places}
        copied = [one for one in (identity, *kept) if one is not None]
        if copied:
            some = self._rows(places, copied)
            frame |= {name: some[name].to_numpy() for name in copied}
        frame[label] = classes[[one.label for one in page.rows]]
        frame[suggested] = classes[[one.suggested for one in page.rows]]
        frame[wrong] = [one.wrong for one in page.rows]
        return pd.DataFrame(frame)
