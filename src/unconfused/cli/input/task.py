"""Labelled rows, and what is known about their noise: `Task`, and `open_task` to read one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import typer

from unconfused._columns.kinds import require as require_columns
from unconfused._confusion_names import is_rectangular
from unconfused._files.errors import DataFileError
from unconfused._files.formats import LabelledRows
from unconfused._typing import BoolArray, IntArray, Labels
from unconfused.cli.input.label_columns import (
    common_labels,
    distinct_labels,
    label_texts,
    present_labels,
    refuse_alike,
    refuse_measurements,
    refuse_strangers,
)
from unconfused.cli.input.label_options import LabelOptions

if TYPE_CHECKING:
    from unconfused.cli.input.label_options import LabelOptions, ReadOptions
    from unconfused.cli.input.stream import Parts
    from unconfused.review.checked import CheckedRows

Kind = Literal["given", "trusted", "votes", "nothing", "assumed"]


@dataclass(frozen=True)
class Task:
    """Labelled rows, and what is known about the noise."""

    kind: Kind
    table: Any
    """The rows: a frame, or a matrix if the file names no columns."""

    place: IntArray
    """Row numbers in the file, from 0."""

    y: Any
    """Labels, or votes."""

    y_true: Labels | None = None
    confusion: Any = None
    classes: Labels | None = None
    reserved: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    checked: CheckedRows | None = None
    """How the rows of `y_true` were drawn, if the truth comes from verdicts."""

    @property
    def is_frame(self) -> bool:
        """Whether columns have names."""
        return hasattr(self.table, "columns")

    @property
    def is_rectangular(self) -> bool:
        """Whether labels are other things than the classes, by the matrix."""
        return is_rectangular(self.confusion)

    @property
    def trusted(self) -> BoolArray:
        """Which rows' truth is known."""
        if self.y_true is None:
            return np.zeros(len(self.place), dtype=bool)
        return present_labels(self.y_true)

    def verdicts(self) -> CheckedRows:
        """Return how trusted rows were drawn, with truths in the type of the labels."""
        assert self.checked is not None and self.y_true is not None
        return replace(self.checked, y_true=np.asarray(self.y_true, dtype=object))

    def notes_with(self, others: list[str]) -> list[str]:
        """Return its notes and others, without duplicates."""
        return list(dict.fromkeys([*self.notes, *others]))


def narrow(labels: Labels) -> Labels:
    """Return labels without missing ones in their plain type."""
    return common_labels([labels])[0] if labels.dtype == object else labels


def kept_rows(answered: BoolArray, y_true: Labels | None) -> IntArray:
    """Return the rows that have a label or a truth."""
    return np.flatnonzero(answered if y_true is None else answered | present_labels(y_true))


def truth_of(table: Any, known: LabelOptions, checked: CheckedRows | None) -> list[Any]:
    """Return the truth, of verdicts or a column's, as a list of one; empty if there is none."""
    if checked is not None:
        return [checked.y_true]
    return [] if known.truth is None else [table[known.truth]]


def make_task(
    kind: Kind,
    table: Any,
    kept: IntArray,
    y: Any,
    y_true: Labels | None,
    checked: CheckedRows | None,
    **more: Any,
) -> Task:
    """Return the task of some rows of a table, with notes on the others and on verdicts."""
    if not len(kept):
        raise ValueError("No row has a label, so there is nothing to learn from.")
    rows = table.iloc[kept].reset_index(drop=True) if hasattr(table, "iloc") else table[kept]
    notes, left = [], table.shape[0] - len(kept)
    if left:
        notes.append(f"{left:,} of {table.shape[0]:,} rows have no label and are skipped.")
    labels = set() if kind == "votes" else distinct_labels(y)
    if -1 in labels and len(labels) > 2:
        notes.append("-1 is treated as a class. If it marks missing labels, pass --missing -1.")
    truth = None if y_true is None else y_true[kept]
    names = set(y.classes.tolist()) if kind == "votes" else labels
    if truth is not None and (never := distinct_labels(truth) - names):
        listed = ", ".join(sorted(map(repr, never))[:6])
        notes.append(
            f"True classes that never occur as a label: {listed}. If one marks a missing truth, "
            "name it with --missing."
        )
    task = Task(kind, rows, kept, y, truth, notes=notes, **more)
    if checked is None:
        return task
    notes += checked.notes
    if not checked.known.any():
        notes.append("No verdict could be used: the truth of no row is known.")
        return replace(task, kind="nothing" if kind == "trusted" else kind, y_true=None)
    drawn = replace(
        checked,
        y_true=checked.y_true[kept],
        probability=checked.probability[kept],
        drawn_by=checked.drawn_by[kept],
    )
    return replace(task, checked=drawn)


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
