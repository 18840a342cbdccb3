"""A review of a task: what its page shows, and models fitted with the verdicts so far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Group
from rich.table import Table
from sklearn.base import clone

from unconfused._labels import encode_labels
from unconfused._report.case import most_frequent
from unconfused._text import percent_range
from unconfused._text.wrong_labels import wrong_labels
from unconfused.cli.console import say_notes
from unconfused.cli.input.label_options import LabelOptions, Settings
from unconfused.cli.input.open_task import left_out
from unconfused.cli.input.task import Plan, Task, common_labels, label_texts
from unconfused.cli.model import make_plan, warnings_as_notes
from unconfused.cli.summary import suspicious_columns
from unconfused.confusion.votes import Votes
from unconfused.review.checked import CheckedRows
from unconfused.review.fit import fit_checked
from unconfused.review.left_out import judge_left_out
from unconfused.review.serve.judged import Judged
from unconfused.review.serve.rows import ReviewRows
from unconfused.review.serve.session import Session
from unconfused.review.stopping import when_to_stop


def open_session(
    task: Task,
    known: LabelOptions,
    settings: Settings,
    verdicts: Path,
    images: Path | None = None,
    hidden: list[str] | None = None,
    **drawing: Any,
) -> Session:
    """Return a session on a task."""
    y = majority_of(task.y) if task.kind == "votes" else task.y
    labels = label_texts(y, empty="")
    if known.identity is None:
        keys = [str(one) for one in task.place.tolist()]
    else:
        keys = label_texts(task.table[known.identity], empty="")
        if len(set(keys)) < len(keys) or "" in keys:
            raise ValueError(f"The values in the column {known.identity!r} of --id are not unique.")
    fetch = task.table.iloc.__getitem__ if task.is_frame else task.table.__getitem__
    outside = left_out(known) if task.is_frame else []
    # The key is the row's title, and answers are shown as votes.
    hidden = [*filter(None, [known.identity, *(hidden or [])]), *known.annotators]
    rows = ReviewRows(keys, labels, fetch, outside, hidden, images)
    if task.kind == "votes":
        rows = replace(rows, votes=lambda row: votes_on(task.y, row))

    plan = make_plan(task, settings)
    classes = np.array(sorted({*labels} - {""}), dtype=object)
    say_notes(suspicious_columns(plan, classes, "--ignore and --hide"))

    def judge(checked: CheckedRows) -> Iterator[Judged]:
        if task.kind == "votes":
            yield judge_votes(task, plan, y, checked)
        else:
            yield from judge_labels(task, plan, settings.seed, checked)

    return Session(rows, verdicts, judge, seed=settings.seed, **drawing)


def majority_of(votes: Votes) -> Any:
    """Return the most frequent answer on each row, as in the report; None without any."""
    found = np.array([*votes.classes.tolist(), None], dtype=object)
    return found[most_frequent(votes.tally)[0]]


def votes_on(votes: Votes, row: int) -> list[tuple[str, str]]:
    """Return who labelled a row, and as what."""
    own = np.flatnonzero(votes.item == row)
    who, what = votes.annotators[votes.annotator[own]], votes.classes[votes.label[own]]
    return list(zip(map(str, who.tolist()), map(str, what.tolist()), strict=True))


def tell_when_to_stop(task: Task, settings: Settings, more: int) -> Any:
    """Return a table of error and wrong labels against rows checked, with the sentence."""
    if task.kind == "votes":
        raise typer.BadParameter("--when-to-stop does not work with votes.")
    if task.checked is None:
        raise ValueError("There is no verdict on a row of the data yet.")
    plan = make_plan(task, settings)
    with warnings_as_notes([]):
        curve = when_to_stop(plan.learner, plan.rows, task.y, checked := task.verdicts(), more=more)
    table = Table(caption="±: one standard error, on held-out rows that were drawn at random.")
    for name in ("rows checked", "error of the model", "labels still wrong", "95 % interval"):
        table.add_column(name, justify="right")
    lines = zip(
        curve.checked, curve.error, curve.error_spread, curve.wrong, curve.wrong_low,
        curve.wrong_high, strict=True,
    )  # fmt: skip
    for count, error, spread, wrong, low, high in lines:
        table.add_row(
            f"{count:,}", f"{error:.3f} ± {spread:.3f}", f"{100 * wrong:.1f} %",
            percent_range(low, high),
        )  # fmt: skip
    said = [curve.left.sentence]
    counts = checked.sample_counts(task.y)
    if curve.left.by_model and counts is not None:
        alone = wrong_labels(counts, "trusted")
        said.append(
            f"`fit`, `audit` and `estimate` show the count on these rows alone: {alone.number} "
            f"before any was corrected ({percent_range(alone.low, alone.high)})."
        )
    return Group(table, *said, curve.sentence)


def judge_labels(task: Task, plan: Plan, seed: int, checked: CheckedRows) -> Iterator[Judged]:
    """Judge each row by models without it; then fit the task with the verdicts, for reasons."""
    y, y_true = common_labels([task.y, checked.y_true.tolist()])
    checked = replace(checked, y_true=np.asarray(y_true, dtype=object))
    with warnings_as_notes([]):
        left_out = judge_left_out(plan.rows, y, checked, classes=task.classes, random_state=seed)
        judged = Judged(
            None, left_out.classes, plan.rows, left_out.observed, left_out.posterior,
            left_out.ranking, left_out.alone, left_out.matrix,
        )  # fmt: skip
    yield judged
    with warnings_as_notes([]):
        learner = fit_checked(plan.learner, plan.rows, y, checked, left_out=left_out)
    yield replace(judged, model=replace(plan, learner=learner).model)


def judge_votes(task: Task, plan: Plan, majority: Any, checked: CheckedRows) -> Judged:
    """Fit a task with votes to the verdicts so far, and judge the most frequent answers."""
    y_true = None
    if checked.known.any():
        y_true = common_labels([task.y.classes, checked.y_true.tolist()])[1]
    with warnings_as_notes([]):
        learner = clone(plan.learner).fit(plan.rows, task.y, y_true=y_true)
    codes = encode_labels(majority, classes=learner.classes_, missing_label=None).observed
    posterior = np.asarray(learner.label_posterior(plan.rows, task.y))
    alone = np.asarray(learner.predict_proba(plan.rows))
    model = replace(plan, learner=learner).model
    return Judged(model, learner.classes_, plan.rows, codes, posterior, posterior, alone)
