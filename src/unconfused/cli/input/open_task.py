"""A task from a file that fits into memory: `open_task`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from unconfused._columns.kinds import require as require_columns
from unconfused._files.errors import DataFileError
from unconfused._files.sparse import LabelledRows
from unconfused.cli.input.label_columns import (
    common_labels,
    present_labels,
    refuse_alike,
    refuse_measurements,
    refuse_strangers,
)
from unconfused.cli.input.task import Kind, Task, kept_rows, make_task, narrow, truth_of

if TYPE_CHECKING:
    from unconfused.cli.input.label_options import LabelOptions, ReadOptions
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
    return _with_matrix(_labelled(rows.X, rows.y, known, _checked_in(rows, known)), known)


def _checked_in(rows: Any, known: LabelOptions) -> CheckedRows | None:
    """Return the verdicts of --truth on these rows, if it names a verdict file."""
    if known.verdicts is None:
        return None
    from unconfused.cli.input.verdict_truth import checked_in

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
