"""A fitted task: what `fit` and `audit` share, save, report and print."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._columns.kinds import require_columns
from unconfused._columns.row_hash import beginning_hash
from unconfused._matrix_labels import is_guess
from unconfused._report.case import Case, open_case
from unconfused._report.source import ConfusionSource, find_source, sampled_source
from unconfused._text import class_names, shorten
from unconfused.cli.console import console, say_notes
from unconfused.cli.errors import in_options
from unconfused.cli.input.task import present_labels
from unconfused.cli.model import estimate_for_fit, fit_plan, warnings_as_notes
from unconfused.cli.summary import (
    MOST_NAMES,
    NoiseSummary,
    columns_as_dict,
    describe_columns,
    summarize,
    suspicious_columns,
)
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.confusion.estimation.balance import HELD_BY_COUNTS
from unconfused.estimators.relabel.pseudo_labels import NOT_MADE
from unconfused.persistence.onnx import export_obstacle

if TYPE_CHECKING:
    from unconfused._report.data import CheckedAccuracy, ReportData
    from unconfused._report.tables import RowContents, RowListing
    from unconfused.cli.input.source import TaskSource

BELIEVED = (
    "The model took the labels as right: held-out labels are not predicted better through the "
    "estimated confusion matrix, so the estimate may be wrong."
)

MOST_COUNTED = 200
"""Classes up to which the counts of checked rows are saved with the model."""

MOST_STREAMED = 100_000
"""Rows that `audit --stream` lists, unless --top is given."""


class FittedTask:
    """A task with a fitted model: the source is opened, read and fitted here."""

    def __init__(self, source: TaskSource) -> None:
        self.source, self.known, self.seed = source, source.known, source.settings.seed
        self._caught: list[str] = []
        with warnings_as_notes(self._caught):
            self.task, self.plan = source.open()
            source.stage("Estimating the confusion matrix")
            estimate = estimate_for_fit(self.task, self.plan, source.settings)
            source.stage(f"Fitting {len(self.task.place):,} rows")
            fit_plan(self.task, self.plan, estimate)
        self.learner, self.sample = self.plan.learner, self.plan.sample
        # Rows on disk are features already: the learner alone takes them.
        self.model = self.plan.model if self.sample is None else self.learner

        self.accuracy: CheckedAccuracy | None = None
        self.confusion: ConfusionSource | None = None
        wrong, classes = None, self.learner.classes_
        with warnings_as_notes(self._caught):
            if not self.task.is_rectangular:
                case = open_case(self.model, self.plan.rows, self.task.y, self.task.y_true)
                self.accuracy = self._accuracy_of(case)
                if self.task.kind != "assumed":
                    self.confusion = self._source_of(case)
                    wrong = self.confusion.wrong
        self.noise = summarize(self.task, self.known, classes, wrong)
        if self.confusion is not None:
            self.confusion = replace(self.confusion, basis=self.noise.source)

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

    def _notes(self, more: list[str]) -> list[str]:
        notes = [*self.task.notes_with([*self.plan.notes, *self._caught]), *map(in_options, more)]
        return [*notes, *suspicious_columns(self.plan, self.learner.classes_)]

    def judge(self) -> None:
        """Collect notes on the labels and the model."""
        guessed = hasattr(self.learner, "guessed_confusion_") or is_guess(self.learner.confusion)
        if self.task.kind == "nothing" and not guessed:
            self._caught.insert(0, BELIEVED)
        self.notes = [*self._notes([]), *self.noise.doubts()]
        rounds = self.learner.history_.get("relabelled")
        if rounds is not None:
            if getattr(self.learner, "noise_depends_on_rows_", False):
                self.notes.append(HELD_BY_COUNTS)
            elif len(rounds) == 0 and self.source.settings.relabel:
                self.notes.append(NOT_MADE)
        if (why := export_obstacle(self.learner)) is not None:
            self.notes.append(in_options(why))

    def estimate(self) -> tuple[ConfusionEstimate, NoiseSummary, list[str]]:
        """Return C where nothing was checked, with the share of wrong labels in words, and notes.

        It is that of all votes together, or a guess.
        """
        assert self.confusion is not None
        if self.confusion.counts is None:  # too little even for a guess
            raise ValueError(self.confusion.words)
        classes, caveat = self.learner.classes_, self.confusion.caveat
        found = ConfusionEstimate(
            self.confusion.matrix, self.confusion.counts, classes, caveat=caveat
        )
        return found, self.noise, [*self._notes([]), *self.noise.doubts()]

    def write_report(self, path: Path, force: bool) -> None:
        """Write the report: on all rows, or on a sample of rows on disk."""
        from unconfused._report.html.page import write_page
        from unconfused._report.tables import RowListing

        n_rows, sample, identity = len(self.task.place), self.sample, self.known.identity
        rows = np.arange(n_rows) if sample is None else sample.rows
        table = self.task.table if sample is None else sample.table
        title, text = None, self._text_column()
        if len(rows) < n_rows:
            title = f"Are these labels right? ({len(rows):,} of {n_rows:,} rows, drawn at random)"
        listing = RowListing(
            names=table[identity] if identity else None,
            numbers=self.task.place[rows],
            texts=table[text[0]].fillna("").astype(str).to_numpy() if text else None,
            contents=self._contents(self.task.place[rows]),
        )
        page = self._gather(listing, None if sample is None else rows, title=title)
        write_page(page, path, force=force)

    def _gather(self, listing: RowListing, rows: Any = None, **options: Any) -> ReportData:
        """Compute a report on all rows, or some."""
        from unconfused._report.gather import gather

        X, y, y_true = self.plan.rows, self.task.y, self.task.y_true
        if rows is not None:
            X, y, y_true = X[rows], y[rows], None if y_true is None else y_true[rows]
        found: dict[str, Any] = {
            "accuracy": self.accuracy,
            "source": self.confusion,
            "random_state": self.seed,
        }
        return gather(self.model, X, y, y_true=y_true, listing=listing, **found, **options)

    def _contents(self, places: Any, shown: Collection[str] | None = None) -> RowContents | None:
        """Return access to the rows at these places of the file; None if it has none by number."""
        from unconfused._report.tables import RowContents
        from unconfused.cli.input.open_task import left_out

        known, table = self.known, self.task.table
        hidden = [known.identity, known.truth, *self._text_column()]
        given: dict[str, Any] = {
            "shown": shown,
            "leave_out": left_out(known),
            "hidden": [] if shown is not None else [*filter(None, hidden), *known.annotators],
        }
        if self.sample is None:
            fetch = table.iloc.__getitem__ if self.task.is_frame else table.__getitem__
            return RowContents(fetch, **given)
        if self.plan.columns is None:
            return None
        names = [one for one in (known.label, known.identity) if one is not None]

        def read(rows: list[int]) -> Any:
            return self.source.parts().rows([int(places[row]) for row in rows], names)

        return RowContents(read, **given)

    def _text_column(self) -> list[str]:
        return [] if self.plan.columns is None else self.plan.columns.text[:1]

    def save(self, path: Path, force: bool) -> None:
        """Save the model, with the verdict as metadata."""
        from unconfused import save

        metadata = {"label": self.known.label, "verdict": self.noise.as_dict()}
        if self.accuracy is not None:
            metadata["accuracy"] = asdict(self.accuracy)
        source, kind = self.confusion, self.task.kind
        if source is not None and source.kind == "trusted" and kind == "trusted":
            assert source.counts is not None
            if len(source.counts) <= MOST_COUNTED:
                metadata["counts"] = source.counts.tolist()
        if self.sample is None:
            votes = kind == "votes"
            labelled = self.task.place >= 0 if votes else present_labels(np.asarray(self.task.y))
            metadata["rows"] = beginning_hash(self.plan.rows, labelled)
        save(self.plan.model, path, force=force, metadata=metadata)

    def as_dict(self) -> dict[str, Any]:
        """Return what `fit --json` prints."""
        return {
            "verdict": self.noise.as_dict(),
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
        known, votes = self.task.trusted, self.task.kind == "votes"
        if weight is None or votes or known.all() or not known.any():
            return []
        return [f"A noisy row has {weight:.2g} times the weight of a trusted one."]

    def show(self, output: Path, report: Path | None) -> None:
        """Print a summary."""
        out = console()
        if self.accuracy is not None:
            from unconfused._report.accuracy import accuracy_words

            out.print(accuracy_words(self.accuracy), style="bold")
        out.print(self.noise.sentence(), style="bold")
        out.print(self.noise.source)
        names = class_names(self.learner.classes_)
        few = f": {shorten(', '.join(names))}" if len(names) <= MOST_NAMES else ""
        out.print(
            f"\n{type(self.learner).__name__} on {len(self.task.place):,} rows, "
            f"{len(names)} classes{few}."
        )
        for line in [describe_columns(self.plan), *self._weight_in_words()]:
            out.print(line)
        out.print(f"Model: {output}")
        if report is not None:
            out.print(f"Report: {report}")
        said = [] if self.plan.columns is None else map(in_options, self.plan.columns.notes)
        say_notes([*said, *self.notes])

    def judge_rows(self, top: int | None, kept: list[str], details: bool) -> ReportData:
        """Rank the `top` rows by how likely their label is wrong.

        With `details` they have their names and columns, of which those `kept` are shown.
        """
        from unconfused._report.tables import RowListing

        place, identity = self.task.place, self.known.identity
        names = contents = None
        most = len(place) if self.sample is None else min(len(place), MOST_STREAMED)
        with warnings_as_notes(self._caught):
            self.source.stage("Computing out-of-fold predictions")
            if details:
                contents = self._contents(place, kept or None)
                if identity:
                    names = self._columns_at(place, [identity])[identity].tolist()
            listing = RowListing(
                most if top is None else top, names, contents=contents, numbers=place
            )
            page = self._gather(listing, sensitivity=False)
        self.notes = self._notes(page.notes)
        if top is None and most < page.n_ranked:
            self.notes.append(
                f"With --stream only the {most:,} most suspicious rows are listed; see --top."
            )
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
        copied = [*([identity] if identity is not None else []), *kept]
        if copied:
            some = self._columns_at(places, copied)
            frame |= {name: some[name].to_numpy() for name in copied}
        frame[label] = classes[[one.label for one in page.rows]]
        frame[suggested] = classes[[one.suggested for one in page.rows]]
        frame[wrong] = [one.wrong for one in page.rows]
        return pd.DataFrame(frame)

    def _columns_at(self, places: Any, names: list[str]) -> Any:
        """Return columns of the rows with these numbers in the file."""
        if self.sample is None:
            some = self.task.table.iloc[np.searchsorted(self.task.place, places)]
        else:
            as_text = [self.known.identity] if self.known.identity is not None else []
            some = self.source.parts().rows(list(places), as_text, names)
        require_columns(some, names)
        return some
