"""Tasks from files that fit into memory: labels, votes of annotators, verdicts."""

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
    refuse_measurements,
    refuse_strangers,
)
from unconfused.cli.input.label_options import LabelOptions
from unconfused.cli.input.task import Kind, Task, kept_rows, make_task, narrow, truth_of
from unconfused.confusion.votes import votes_from_long, votes_from_wide

if TYPE_CHECKING:
    from unconfused.cli.input.label_options import LabelOptions, ReadOptions
    from unconfused.cli.input.stream import Parts
    from unconfused.review.checked import CheckedRows


def open_task(path: Path, known: LabelOptions, reading: ReadOptions, as_text: list[str]) -> Task:
    """Read the data, its labels, and what is known about their noise."""
    table = reading.table(path, [*known.columns(), *as_text])
    if isinstance(table, LabelledRows):
        return task_of_rows(path, table, known)
    refuse_unknown_columns(path, table, known)
    return task_of_table(path, table, known, reading, _checked_in(table, known))


def refuse_unknown_columns(path: Path, table: Any, known: LabelOptions) -> None:
    """Raise if a named column does not exist, or no label column is named."""
    named = [known.truth, known.identity, *known.annotators]
    if known.votes is None:
        named.append(known.label)
    known.refuse_other_file(table.columns)
    require_columns(table, [name for name in named if name is not None])
    if known.label is None and not known.annotators:
        raise typer.BadParameter(
            f"Which column holds the labels? Name it with --label. {path} has "
            f"{', '.join(map(repr, table.columns[:12]))}{' ...' * (table.shape[1] > 12)}."
        )


def task_of_table(
    path: Path,
    table: Any,
    known: LabelOptions,
    reading: ReadOptions,
    checked: CheckedRows | None = None,
) -> Task:
    """Return the task of a table with column names, with verdicts on its rows."""
    if known.votes is not None:
        return task_of_votes(path, table, known, reading, checked)
    if known.annotators:
        return task_of_annotators(table, known, checked)
    return _with_matrix(_task_of_labels(table, known, checked), known)


def task_of_rows(path: Path, rows: LabelledRows, known: LabelOptions) -> Task:
    """Return the task of a file without column names."""
    if known.truth or known.annotators or known.identity or known.votes or known.label:
        raise DataFileError(
            f"{path} has no column names: its own labels are used, and --label, --truth, "
            "--annotators, --votes and --id do not apply. Use a format with column names."
        )
    if rows.y is None:
        raise DataFileError(f"{path} holds no labels: an array y is needed beside X.")
    return _with_matrix(_labelled(rows.X, rows.y, known, _checked_in(rows, known)), known)


def _checked_in(rows: Any, known: LabelOptions) -> CheckedRows | None:
    """Return the verdicts of --truth on these rows, if it names a verdict file."""
    if known.verdicts is None:
        return None
    return checked_in(rows, known)


def _task_of_labels(table: Any, known: LabelOptions, checked: CheckedRows | None) -> Task:
    assert known.label is not None
    if known.label in (known.truth, known.identity):
        raise typer.BadParameter(f"{known.label!r} cannot be both the label column and another.")
    named = [one for one in (known.label, known.truth, known.identity) if one is not None]
    return _labelled(table, table[known.label], known, checked, reserved=named)


def _labelled(
    rows: Any, labels: Any, known: LabelOptions, checked: CheckedRows | None, **more: Any
) -> Task:
    """Return the task of rows with one label each; the truth is a column's, or of verdicts."""
    y, *truth = common_labels([labels, *truth_of(rows, known, checked)], known.missing)
    y_true = truth[0] if truth else None
    refuse_measurements(y, known.label or "y")
    if known.truth is not None and y_true is not None and not present_labels(y_true).any():
        raise ValueError(f"The column {known.truth!r} of --truth is empty.")
    if known.confusion is None and known.classes is None:
        refuse_alike([y, *truth])
        if y_true is not None:
            refuse_strangers(y, y_true)
    kept = kept_rows(present_labels(y), y_true)
    kind: Kind = "assumed" if known.trust_labels else "nothing"
    kind = kind if y_true is None else "trusted"
    return make_task(kind, rows, kept, narrow(y[kept]), y_true, checked, **more)


def _with_matrix(task: Task, known: LabelOptions) -> Task:
    """Add the matrix of --confusion and the classes of --classes."""
    given = known.class_names()
    truth = [] if task.y_true is None else [task.y_true]
    if known.confusion is None:
        if not given:
            return task
        y, classes, *truth = common_labels([task.y, given, *truth])
        return replace(task, y=y, classes=classes, y_true=truth[0] if truth else None)
    from unconfused.cli.input.matrix_file import labelled, read_matrix

    matrix, *names = read_matrix(known.confusion, other_labels=True)
    y, classes, rows, columns, *truth = common_labels([task.y, given, *names, *truth])
    others = [name for name in names[1] if name not in names[0]]
    said = [f"Labels that are not classes, by {known.confusion}: {', '.join(others[:6])}."]
    return replace(
        task,
        kind="given",
        notes=[*task.notes, *(said if others else [])],
        y=y,
        y_true=truth[0] if truth else None,
        confusion=labelled(matrix, rows, columns) if len(rows) else matrix,
        classes=classes if given else None,
    )


def checked_in(rows: Any, known: LabelOptions) -> CheckedRows:
    """Find the rows of the verdicts in a table, or in a file without column names."""
    from unconfused.review.checked import match_verdicts
    from unconfused.review.verdicts import read_verdicts

    assert known.verdicts is not None
    verdicts = read_verdicts(known.verdicts)
    if isinstance(rows, LabelledRows):
        return match_verdicts(verdicts, rows.X, _texts(rows.y, rows.X.shape[0]))
    labels = None if known.label is None else rows.get(known.label)
    keys = None if known.identity is None else _texts(rows[known.identity], len(rows))
    return match_verdicts(
        verdicts, rows, _texts(labels, len(rows)), keys=keys, leave_out=left_out(known)
    )


def checked_in_parts(parts: Parts, labels: Any, known: LabelOptions) -> CheckedRows:
    """Find the rows of the verdicts in a file that is read in chunks."""
    from unconfused._columns.row_hash import row_hashes
    from unconfused.review.checked import place_verdicts
    from unconfused.review.verdicts import read_verdicts

    assert known.verdicts is not None
    verdicts = read_verdicts(known.verdicts)
    named, place, hashes = known.identity, dict[str, int](), dict[int, str]()
    for part in parts([one for one in (known.label, named) if one is not None]):
        numbers = [int(one) for one in part.index]
        keys = list(map(str, numbers)) if named is None else label_texts(part[named])
        here = [spot for spot, key in enumerate(keys) if key in verdicts.by_key]
        found = row_hashes(part.iloc[here].reindex(columns=parts.names), left_out(known))
        for spot, digest in zip(here, found, strict=True):
            key = str(keys[spot])
            if key in place:
                raise ValueError(f"{key!r} occurs more than once in the column {named!r}.")
            place[key], hashes[numbers[spot]] = numbers[spot], digest
    return place_verdicts(verdicts, _texts(labels, parts.n_rows), place, hashes)


def left_out(known: LabelOptions) -> list[str]:
    """Return the columns that are no part of a row's content: that of the labels."""
    return [] if known.label is None else [known.label]


def _texts(column: Any, n_rows: int) -> Any:
    cells = [None] * n_rows if column is None else label_texts(column)
    return np.array(["" if one is None else one for one in cells], dtype=object)


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
