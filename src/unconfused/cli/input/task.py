"""What a learner takes: rows, labels or votes, and what is known of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from unconfused._typing import IntArray, Labels
from unconfused.cli.input.label_columns import common_labels, distinct_labels, present_labels

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
        return 0 if self.y_true is None else int(present_labels(self.y_true).sum())

    def notes_with(self, others: list[str]) -> list[str]:
        """Return its notes and further ones, each once."""
        return list(dict.fromkeys([*self.notes, *others]))


def narrow(labels: Labels) -> Labels:
    """Give labels their plain type back once none is missing."""
    return common_labels([labels])[0] if labels.dtype == object else labels


def rows_of(table: Any, kept: IntArray) -> Any:
    """Return some rows of a frame, renumbered."""
    return table.iloc[kept].reset_index(drop=True)


def tell_missing(task: Task, n_rows: int) -> Task:
    """Add notes on rows without a label; raise if there is no other row."""
    left = n_rows - len(task.place)
    if not len(task.place):
        raise ValueError("No row has a label, so there is nothing to learn from.")
    notes = [*task.notes]
    if left:
        notes.append(f"{left:,} of {n_rows:,} rows have no label and are left out.")
    labels = set() if task.kind == "votes" else distinct_labels(task.y)
    if -1 in labels and len(labels) > 2:
        notes.append("-1 is taken for a class. If it stands for no label, say --missing -1.")
    return replace(task, notes=notes)
