"""Tasks with labels from several annotators."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from unconfused._columns.kinds import require as require_columns
from unconfused.cli.input.label_columns import common_labels, present_labels, refuse_alike
from unconfused.cli.input.label_options import LabelOptions, ReadOptions, names_in
from unconfused.cli.input.task import Task, complete_task, rows_of
from unconfused.cli.input.votes import read_answers, tell_unmatched
from unconfused.confusion.votes import votes_from_long, votes_from_wide

if TYPE_CHECKING:
    from unconfused.review.checked import CheckedRows


def task_of_annotators(table: Any, known: LabelOptions, checked: CheckedRows | None = None) -> Task:
    """Return a task whose votes are columns of the table, one per annotator."""
    columns = known.annotators
    if len(columns) < 2:
        raise typer.BadParameter("--annotators needs two columns or more; for one, use --label.")
    others = [n for n in (known.label, known.truth, known.identity) if n is not None]
    require_columns(table, [*columns, *others])
    given = names_in([known.classes]) if known.classes is not None else []
    truth_column = _truth(table, known, checked)
    answers = [table[name] for name in columns]
    classes, *labels = common_labels([given, *answers, *truth_column], known.missing)
    if not given:
        refuse_alike(labels)
    y_true = labels[-1] if truth_column else None
    votes = np.stack([one.astype(object) for one in labels[: len(columns)]], axis=1)
    answered = np.array([[one is not None for one in row] for row in votes.tolist()]).any(axis=1)
    kept = np.flatnonzero(answered | (False if y_true is None else present_labels(y_true)))
    import pandas as pd

    frame = pd.DataFrame(votes[kept], columns=columns, dtype=object)
    task = Task(
        "votes",
        rows_of(table, kept),
        kept,
        votes_from_wide(frame, classes=classes if given else None, missing_label=None),
        None if y_true is None else y_true[kept],
        classes=classes if given else None,
        reserved=[*dict.fromkeys([*columns, *others])],
    )
    return complete_task(task, len(table), checked)


def _truth(table: Any, known: LabelOptions, checked: CheckedRows | None) -> list[Any]:
    if checked is not None:
        return [checked.y_true]
    return [] if known.truth is None else [table[known.truth]]


def task_of_votes(
    path: Path,
    table: Any,
    known: LabelOptions,
    reading: ReadOptions,
    checked: CheckedRows | None = None,
) -> Task:
    """Return a task whose votes are in a file of their own, one per line."""
    answers = read_answers(known, reading)
    named = known.identity or (known.item if known.item in table.columns else None)
    items = tell_unmatched(path, table, named, answers.item, known)
    truth_column = _truth(table, known, checked)
    given = names_in([known.classes]) if known.classes is not None else []
    classes, labels, *truth = common_labels([given, answers.label, *truth_column], known.missing)
    if not given:
        refuse_alike([labels, *truth])
    y_true = truth[0] if truth else None
    answered = set(np.array(answers.item, dtype=object)[present_labels(labels)].tolist())
    voted = np.array([item in answered for item in items], dtype=bool)
    kept = np.flatnonzero(voted | (False if y_true is None else present_labels(y_true)))
    wanted = {items[place] for place in kept.tolist()}
    used = [number for number, item in enumerate(answers.item) if item in wanted]
    votes = votes_from_long(
        [answers.item[one] for one in used],
        [answers.annotator[one] for one in used],
        labels[used],
        items=[items[place] for place in kept.tolist()],
        classes=classes if given else None,
        duplicates=known.duplicates.value,
        missing_label=None,
    )
    others = [known.label, known.truth, known.identity, named]
    reserved = [name for name in dict.fromkeys(others) if name in table.columns]
    task = Task(
        "votes",
        rows_of(table, kept),
        kept,
        votes,
        None if y_true is None else y_true[kept],
        classes=classes if given else None,
        reserved=[str(name) for name in reserved],
    )
    return complete_task(task, len(table), checked)
