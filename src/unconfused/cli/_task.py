"""What a learner takes: rows, labels or votes, and what is known of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from unconfused._typing import BoolArray, IntArray, Labels
from unconfused.cli._label_columns import common_labels

Kind = Literal["given", "trusted", "votes", "nothing", "assumed"]


@dataclass(frozen=True)
class Task:
    """Rows that have a label, and what is known about it."""

    kind: Kind
    table: Any
    """The rows: a frame, or a matrix if the file names no columns."""

    place: IntArray
    """Where each row stands in the file, from 0."""

    y: Any
    """Labels, or votes."""

    y_true: Labels | None = None
    confusion: Any = None
    classes: Labels | None = None
    reserved: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def is_frame(self) -> bool:
        """Whether columns have names."""
        return hasattr(self.table, "columns")

    @property
    def n_trusted(self) -> int:
        """How many rows' truth is known."""
        return 0 if self.y_true is None else int(present(self.y_true).sum())


def present(labels: Labels) -> BoolArray:
    """Mark where there is a label."""
    return np.array([label is not None for label in labels.tolist()], dtype=bool)


def narrow(labels: Labels) -> Labels:
    """Give labels their plain type back once none is missing."""
    return common_labels([labels])[0]


def rows_of(table: Any, kept: IntArray) -> Any:
    return table.iloc[kept].reset_index(drop=True)


def tell_missing(task: Task, n_rows: int) -> Task:
    left = n_rows - len(task.place)
    if not len(task.place):
        raise ValueError("No row has a label, so there is nothing to learn from.")
    notes = [*task.notes]
    if left:
        notes.append(f"{left:,} of {n_rows:,} rows have no label and are left out.")
    labels = [] if task.kind == "votes" else task.y.tolist()
    if -1 in labels and len(set(labels)) > 2:
        notes.append("-1 is taken for a class. If it stands for no label, say --missing -1.")
    return replace(task, notes=notes)
