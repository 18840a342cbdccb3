"""Tasks with labels from several annotators, in columns or in a file of votes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from unconfused._columns.kinds import require as require_columns
from unconfused._files.errors import DataFileError
from unconfused._files.formats import LabelledRows
from unconfused.cli.input.label_columns import (
    common_labels,
    label_texts,
    present_labels,
    refuse_alike,
)
from unconfused.cli.input.task import Task, kept_rows, make_task, truth_of
from unconfused.confusion.votes import votes_from_long, votes_from_wide

if TYPE_CHECKING:
    from unconfused.cli.input.label_options import LabelOptions, ReadOptions
    from unconfused.review.checked import CheckedRows

FIRST = 3
"""Number of unmatched items listed in an error."""


def task_of_annotators(table: Any, known: LabelOptions, checked: CheckedRows | None = None) -> Task:
    """Return a task whose votes are columns of the table, one per annotator."""
    columns = known.annotators
    if len(columns) < 2:
        raise typer.BadParameter("--annotators needs two columns or more; for one, use --label.")
    others = [n for n in (known.label, known.truth, known.identity) if n is not None]
    require_columns(table, [*columns, *others])
    given, truth = known.class_names(), truth_of(table, known, checked)
    answers = [table[name] for name in columns]
    classes, *labels = common_labels([given, *answers, *truth], known.missing)
    if not given:
        refuse_alike(labels)
    y_true = labels.pop() if truth else None
    votes = np.stack([one.astype(object) for one in labels], axis=1)
    answered = np.logical_or.reduce([present_labels(one) for one in labels])
    kept = kept_rows(answered, y_true)
    named = classes if given else None
    y = votes_from_wide(votes[kept], classes=named, annotators=columns, missing_label=None)
    reserved = [*dict.fromkeys([*columns, *others])]
    return make_task("votes", table, kept, y, y_true, checked, classes=named, reserved=reserved)


def task_of_votes(
    path: Path,
    table: Any,
    known: LabelOptions,
    reading: ReadOptions,
    checked: CheckedRows | None = None,
) -> Task:
    """Return a task whose votes are in a file of their own, one per line."""
    item, annotator, label = _read_answers(known, reading)
    named = known.identity or (known.item if known.item in table.columns else None)
    items = _match_items(path, table, named, item, known)
    given, truth = known.class_names(), truth_of(table, known, checked)
    classes, labels, *truth = common_labels([given, label, *truth], known.missing)
    if not given:
        refuse_alike([labels, *truth])
    y_true = truth[0] if truth else None
    answered = {one for one, there in zip(item, present_labels(labels), strict=True) if there}
    kept = kept_rows(np.array([one in answered for one in items], dtype=bool), y_true)
    wanted = [items[place] for place in kept.tolist()]
    there = set(wanted)
    used = [number for number, one in enumerate(item) if one in there]
    votes = votes_from_long(
        [item[one] for one in used],
        [annotator[one] for one in used],
        labels[used],
        items=wanted,
        classes=classes if given else None,
        duplicates=known.duplicates.value,
        missing_label=None,
    )
    others = dict.fromkeys([known.label, known.truth, known.identity, named])
    return make_task(
        "votes", table, kept, votes, y_true, checked,
        classes=classes if given else None,
        reserved=[str(name) for name in others if name in table.columns],
    )  # fmt: skip


def _read_answers(known: LabelOptions, reading: ReadOptions) -> tuple[list[str], list[str], Any]:
    """Return the columns of --votes: what was labelled, by whom, and as what; all are text."""
    assert known.votes and known.item and known.annotator and known.label
    names = [known.item, known.annotator, known.label]
    # The format is that of DATA; the votes may have another, which their ending says.
    table = replace(reading, format=None).table(known.votes, names)
    if isinstance(table, LabelledRows):
        raise DataFileError(f"{known.votes}: votes need named columns; use CSV or Parquet.")
    try:
        require_columns(table, names)
    except ValueError as error:
        raise type(error)(f"{known.votes}: {error}") from None
    item, annotator = (_complete(known.votes, name, table) for name in names[:2])
    return item, annotator, table[known.label]


def _complete(path: Path, name: str, table: Any) -> list[str]:
    cells = label_texts(table[name])
    found = [cell for cell in cells if cell is not None]
    if len(found) < len(cells):
        raise DataFileError(
            f"{path}: the column {name!r} is empty in row {cells.index(None) + 1}; every answer "
            "needs a value there."
        )
    return found


def _match_items(
    path: Path, table: Any, named: str | None, voted: list[str], known: LabelOptions
) -> list[str]:
    """Return the item name of each row; raise if there are votes on other items."""
    if named is None:
        items = [str(row) for row in range(len(table))]
        whose = f"a row number of {path} (0 to {len(table) - 1})"
        hint = f" Name the column of {path} that holds them with --id."
    else:
        items = _complete(path, named, table)
        whose, hint = f"in the column {named!r} of {path}", ""
        twice = [item for item, times in Counter(items).items() if times > 1]
        if twice:
            raise DataFileError(
                f"{path}: {twice[0]!r} occurs more than once in the column {named!r}, so votes on "
                "it are ambiguous. Every row needs a unique id."
            )
    there = set(items)
    strangers = [item for item in dict.fromkeys(voted) if item not in there]
    if strangers:
        shown = ", ".join(map(repr, strangers[:FIRST])) + " ..." * (len(strangers) > FIRST)
        raise DataFileError(
            f"{known.votes} has answers on {len(strangers):,} items that are not {whose}: "
            f"{shown}.{hint}"
        )
    return items
