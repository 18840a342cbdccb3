"""Tasks from files that fit into memory: labels, votes of annotators, verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import typer

from unconfused._columns.kinds import require_columns
from unconfused._files import DataFileError, LabelledRows
from unconfused._typing import Labels
from unconfused.cli.input.label_options import LabelOptions
from unconfused.cli.input.task import (
    Kind,
    Task,
    common_labels,
    kept_rows,
    label_texts,
    make_task,
    narrow,
    present_labels,
    refuse_alike,
    refuse_measurements,
    refuse_strangers,
)
from unconfused.cli.options import ReadOptions
from unconfused.confusion.annotators import refuse_measurements as refuse_measured_votes
from unconfused.confusion.annotators import refuse_no_votes
from unconfused.confusion.votes import votes_from_long, votes_from_wide

if TYPE_CHECKING:
    from unconfused.review.checked import CheckedRows


def open_task(path: Path, known: LabelOptions, reading: ReadOptions, as_text: list[str]) -> Task:
    """Read the data, its labels, and what is known about their noise."""
    table = reading.table(path, [*known.columns(), *as_text])
    if isinstance(table, LabelledRows):
        return _task_of_rows(path, table, known)
    refuse_unknown_columns(path, table, known)
    return task_of_table(path, table, known, reading, checked_in(table, known))


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
    checked: CheckedRows | None,
) -> Task:
    """Return the task of a table with column names, with verdicts on its rows."""
    if known.votes is not None:
        return _task_of_votes(path, table, known, reading, checked)
    if known.annotators:
        return _task_of_annotators(table, known, checked)
    if known.label in (known.truth, known.identity):
        raise typer.BadParameter(f"{known.label!r} cannot be both the label column and another.")
    return _task_of_labels(table, table[known.label], known, checked)


def _task_of_rows(path: Path, rows: LabelledRows, known: LabelOptions) -> Task:
    """Return the task of a file without column names."""
    known.refuse_other_file(())
    if known.truth or known.annotators or known.identity or known.votes or known.label:
        raise DataFileError(
            f"{path} has no column names: its own labels are used, and --label, --annotators, "
            "--votes and --id do not apply. --truth takes a file of verdicts."
        )

    if rows.y is None:
        raise DataFileError(f"{path} holds no labels: an array y is needed beside X.")
    return _task_of_labels(rows.X, rows.y, known, checked_in(rows, known))


def _labels_of(
    columns: list[Any], table: Any, known: LabelOptions, checked: CheckedRows | None
) -> tuple[Labels | None, list[Labels], Labels | None]:
    """Return the classes that are named, columns of labels, and the truth, all of one type."""
    given, truth = known.class_names(), [] if known.truth is None else [table[known.truth]]
    if checked is not None:
        truth = [checked.y_true]
    classes, *labels = common_labels([given, *columns, *truth], known.missing)
    if not given and known.confusion is None:
        refuse_alike(labels)
    y_true = labels.pop() if truth else None
    return classes if given else None, labels, y_true


def _task_of_labels(
    table: Any, labels: Any, known: LabelOptions, checked: CheckedRows | None
) -> Task:
    """Return the task of rows with one label each; the truth is a column's, or of verdicts."""
    matrix: Any = None
    names: list[Any] = [[], []]
    if known.confusion is not None:
        from unconfused.cli.input.matrix_file import read_matrix

        matrix, *names = read_matrix(known.confusion, other_labels=True)
    classes, (y, *names), y_true = _labels_of([labels, *names], table, known, checked)
    refuse_measurements(y, known.label or "y")
    if known.truth is not None and y_true is not None and not present_labels(y_true).any():
        raise ValueError(f"The column {known.truth!r} of --truth is empty.")
    if classes is None and matrix is None and y_true is not None:
        refuse_strangers(y, y_true)
    kept = kept_rows(present_labels(y), y_true)
    kind: Kind = "assumed" if known.trust_labels else "nothing"
    kind = kind if y_true is None else "trusted"
    reserved = [one for one in (known.label, known.truth, known.identity) if one is not None]
    if len(names[0]):
        import pandas as pd

        matrix = pd.DataFrame(matrix, *names)
    task = make_task(
        kind if matrix is None else "given", table, kept, narrow(y[kept]), y_true, checked,
        classes=classes, reserved=reserved, confusion=matrix,
    )  # fmt: skip
    others = [name for name in names[1].tolist() if name not in names[0].tolist()]
    if others:
        listed = ", ".join(map(str, others[:6]))
        task.notes.append(f"Labels that are not classes, by {known.confusion}: {listed}.")
    return task


def checked_in(
    rows: Any, known: LabelOptions, fetch: Callable[[list[int]], Any] | None = None
) -> CheckedRows | None:
    """Find the rows of the verdicts of --truth, if it names a file of them.

    If `rows` are not all columns, as of a file that is read in chunks, `fetch` returns all columns
    of rows with these numbers.
    """
    if known.verdicts is None:
        return None
    from unconfused.review.checked import match_verdicts
    from unconfused.review.verdicts import read_verdicts

    keys = None
    if isinstance(rows, LabelledRows):
        content, labels, n_rows = rows.X, rows.y, rows.X.shape[0]
    else:
        content, n_rows = fetch or rows, len(rows)
        labels = None if known.label is None else rows.get(known.label)
        keys = None if known.identity is None else _texts(rows[known.identity], n_rows)
    verdicts, outside = read_verdicts(known.verdicts), left_out(known)
    checked = match_verdicts(
        verdicts, content, _texts(labels, n_rows), keys=keys, leave_out=outside
    )
    seen = checked.known.any() or len(checked.skipped) or len(checked.conflicts)
    if checked.notes and not seen:
        raise ValueError(
            f"No verdict of {known.verdicts} can be used. {' '.join(checked.notes)} The data, "
            "--label and --id must be those of the review."
        )
    return checked


def left_out(known: LabelOptions) -> list[str]:
    """Return the columns that are no part of a row's content: that of the labels."""
    return [] if known.label is None else [known.label]


def _texts(column: Any, n_rows: int) -> Any:
    cells = [""] * n_rows if column is None else label_texts(column, empty="")
    return np.array(cells, dtype=object)


FIRST = 3
"""Number of unmatched items listed in an error."""


def _task_of_annotators(table: Any, known: LabelOptions, checked: CheckedRows | None) -> Task:
    """Return a task whose votes are columns of the table, one per annotator."""
    columns = known.annotators
    if len(columns) < 2:
        raise typer.BadParameter("--annotators needs two columns or more; for one, use --label.")
    others = [n for n in (known.label, known.truth, known.identity) if n is not None]
    require_columns(table, others)
    answers = [table[name] for name in columns]
    classes, labels, y_true = _labels_of(answers, table, known, checked)
    votes = np.stack([one.astype(object) for one in labels], axis=1)
    kept = kept_rows(np.logical_or.reduce([present_labels(one) for one in labels]), y_true)
    refuse_no_votes(votes[kept], classes)
    y = votes_from_wide(votes[kept], classes=classes, annotators=columns, missing_label=None)
    refuse_measured_votes(y)
    reserved = [*dict.fromkeys([*columns, *others])]
    return make_task("votes", table, kept, y, y_true, checked, classes=classes, reserved=reserved)


def _task_of_votes(
    path: Path,
    table: Any,
    known: LabelOptions,
    reading: ReadOptions,
    checked: CheckedRows | None,
) -> Task:
    """Return a task whose votes are in a file of their own, one per line."""
    item, annotator, label = _read_answers(known, reading)
    named = known.identity or (known.item if known.item in table.columns else None)
    items = _match_items(path, table, named, item, known)
    classes, (labels,), y_true = _labels_of([label], table, known, checked)
    refuse_measurements(labels, known.label or "")
    votes = votes_from_long(
        item, annotator, labels, items=items, classes=classes,
        duplicates=cast(Any, known.duplicates.value), missing_label=None,
    )  # fmt: skip
    answered = np.isin(np.arange(len(items)), votes.item)
    kept = kept_rows(answered, y_true)
    others = dict.fromkeys([known.label, known.truth, known.identity, named])
    reserved = [str(name) for name in others if name in table.columns]
    task = make_task(
        "votes", table, kept, votes[kept], y_true, checked, classes=classes, reserved=reserved
    )
    if votes.n_annotators > answered.sum():
        task.notes.append(
            f"{votes.n_annotators:,} annotators gave answers on only {answered.sum():,} rows: "
            "check that --item and --annotator are not swapped."
        )
    return task


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
            f"{known.votes} has answers on items that are not {whose}: {shown} "
            f"({len(strangers):,} in all).{hint}"
        )
    return items
