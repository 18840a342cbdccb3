"""Labelled rows, and what is known about their noise: `Task`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from unconfused._confusion_names import is_rectangular
from unconfused._typing import IntArray, Labels
from unconfused.cli.input.label_columns import common_labels, distinct_labels, present_labels

if TYPE_CHECKING:
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
    def n_trusted(self) -> int:
        """Number of trusted rows."""
        return 0 if self.y_true is None else int(present_labels(self.y_true).sum())

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


def rows_of(table: Any, kept: IntArray) -> Any:
    """Return some rows, those of a frame renumbered."""
    return table.iloc[kept].reset_index(drop=True) if hasattr(table, "iloc") else table[kept]


def complete_task(task: Task, n_rows: int, checked: CheckedRows | None) -> Task:
    """Add notes on rows without a label, and how trusted rows were drawn, if by verdicts."""
    left = n_rows - len(task.place)
    if not len(task.place):
        raise ValueError("No row has a label, so there is nothing to learn from.")
    notes = [*task.notes]
    if left:
        notes.append(f"{left:,} of {n_rows:,} rows have no label and are skipped.")
    labels = set() if task.kind == "votes" else distinct_labels(task.y)
    names = set(task.y.classes.tolist()) if task.kind == "votes" else labels
    true = set() if task.y_true is None else distinct_labels(task.y_true)
    if true - names:
        never = ", ".join(sorted(map(repr, true - names))[:6])
        notes.append(
            f"True classes that never occur as a label: {never}. If one marks a missing truth, "
            "name it with --missing."
        )
    if -1 in labels and len(labels) > 2:
        notes.append("-1 is treated as a class. If it marks missing labels, pass --missing -1.")
    if checked is None:
        return replace(task, notes=notes)
    notes += checked.notes
    if not checked.known.any():
        kind = "nothing" if task.kind == "trusted" else task.kind
        notes.append("No verdict could be used: the truth of no row is known.")
        return replace(task, kind=kind, y_true=None, notes=notes)
    kept = replace(
        checked,
        y_true=checked.y_true[task.place],
        probability=checked.probability[task.place],
        drawn_by=checked.drawn_by[task.place],
    )
    return replace(task, checked=kept, notes=notes)
