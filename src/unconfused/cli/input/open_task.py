"""A task from a file that fits into memory: `open_task`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from unconfused._columns.kinds import require as require_columns
from unconfused._files.errors import DataFileError
from unconfused._files.sparse import LabelledRows
from unconfused._typing import Labels
from unconfused.cli.input.label_columns import common_labels, present_labels, refuse_measurements
from unconfused.cli.input.label_options import LabelOptions, ReadOptions, names_in
from unconfused.cli.input.task import Kind, Task, narrow, rows_of, tell_missing
from unconfused.cli.input.verdict_truth import checked_in_rows, checked_in_table, with_checked

if TYPE_CHECKING:
    from unconfused.review.checked import CheckedRows


def open_task(path: Path, known: LabelOptions, reading: ReadOptions, as_text: list[str]) -> Task:
    """Read the data, its labels, and what is known about their noise."""
    table = reading.table(path, [*label_columns(known), *as_text])
    if isinstance(table, LabelledRows):
        return task_of_rows(path, table, known)
    refuse_unknown_columns(path, table, known)
    checked = None if known.verdicts is None else checked_in_table(table, known)
    return task_of_table(path, table, known, reading, checked)


def label_columns(known: LabelOptions) -> list[str]:
    """Return the columns named by label options; those of --votes may be in another file."""
    names = [known.label, known.truth, known.identity, known.item, *known.annotators]
    return [name for name in names if name is not None]


def refuse_unknown_columns(path: Path, table: Any, known: LabelOptions) -> None:
    """Raise if a named column does not exist, or no label column is named."""
    named = [known.truth, known.identity, *known.annotators]
    if known.votes is None:
        named.append(known.label)
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
    """Return the task of a table with column names, and what verdicts say of its rows."""
    if known.votes is not None:
        from unconfused.cli.input.crowd_task import task_of_votes

        return task_of_votes(path, table, known, reading, checked)
    if known.annotators:
        from unconfused.cli.input.crowd_task import task_of_annotators

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
    checked = checked_in_rows(rows, known) if known.verdicts is not None else None
    y, y_true = _with_truth(rows.y, known, None, checked)
    refuse_measurements(y, "y")
    kept = np.flatnonzero(present_labels(y) | (False if y_true is None else present_labels(y_true)))
    kind: Kind = "assumed" if known.trust_labels else "nothing"
    task = Task(
        "trusted" if y_true is not None else kind,
        rows.X[kept],
        kept,
        narrow(y[kept]),
        None if y_true is None else y_true[kept],
    )
    return _with_matrix(with_checked(tell_missing(task, len(y)), checked), known)


def _with_truth(
    labels: Any, known: LabelOptions, truth: Any, checked: CheckedRows | None
) -> tuple[Labels, Labels | None]:
    """Return labels and truths in a common type; the truth is a column's, or that of verdicts."""
    if checked is not None:
        truth = checked.y_true
    columns = [labels] if truth is None else [labels, truth]
    found = common_labels(columns, known.missing)
    return found[0], found[1] if truth is not None else None


def _task_of_labels(table: Any, known: LabelOptions, checked: CheckedRows | None) -> Task:
    assert known.label is not None
    if known.label in (known.truth, known.identity):
        raise typer.BadParameter(f"{known.label!r} cannot be both the label column and another.")
    columns = [known.label] if known.truth is None else [known.label, known.truth]
    truth = None if known.truth is None else table[known.truth]
    y, y_true = _with_truth(table[known.label], known, truth, checked)
    refuse_measurements(y, known.label)
    if known.truth is not None and y_true is not None and not present_labels(y_true).any():
        raise ValueError(f"The column {known.truth!r} of --truth is empty.")
    kept = np.flatnonzero(present_labels(y) | (False if y_true is None else present_labels(y_true)))
    kind: Kind = "assumed" if known.trust_labels else "nothing"
    task = Task(
        "trusted" if y_true is not None else kind,
        rows_of(table, kept),
        kept,
        narrow(y[kept]),
        None if y_true is None else y_true[kept],
        reserved=[*columns, *([known.identity] if known.identity else [])],
    )
    return with_checked(tell_missing(task, len(table)), checked)


def _with_matrix(task: Task, known: LabelOptions) -> Task:
    """Add the matrix of --confusion and the classes of --classes."""
    given = names_in([known.classes]) if known.classes is not None else []
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
