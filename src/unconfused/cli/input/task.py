"""Labelled rows, and what is known about their noise: `Task`; label columns of a common type."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from unconfused._columns.kinds import ColumnPlan
from unconfused._columns.row_hash import map_cells
from unconfused._columns.summary import as_written
from unconfused._typing import BoolArray, IntArray, Labels

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

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
    n_rows: int = 0
    """All rows of the file, those without a label included."""
    checked: CheckedRows | None = None
    """How the rows of `y_true` were drawn, if the truth comes from verdicts."""

    @property
    def is_frame(self) -> bool:
        """Whether columns have names."""
        return hasattr(self.table, "columns")

    @property
    def is_rectangular(self) -> bool:
        """Whether labels are other things than the classes, by the matrix."""
        from unconfused._matrix_labels import is_rectangular  # this takes SciPy

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


@dataclass(frozen=True)
class Plan:
    """Features, in memory or on disk, the fitted steps that made them, and a learner for them.

    `columns` are the kinds of the columns; `notes` tell of the choice of the learner.
    """

    steps: list[tuple[str, Any]]
    learner: Any
    rows: Any
    columns: ColumnPlan | None
    on_disk: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def model(self) -> Pipeline:
        """The pipeline that takes rows as they are in the file."""
        from sklearn.pipeline import Pipeline  # this takes a while to import

        return Pipeline([*self.steps, ("learner", self.learner)])


def narrow(labels: Labels) -> Labels:
    """Return labels in their plain type if none is missing."""
    return np.array(labels.tolist()) if present_labels(labels).all() else labels


def kept_rows(answered: BoolArray, y_true: Labels | None) -> IntArray:
    """Return the rows that have a label or a truth."""
    return np.flatnonzero(answered if y_true is None else answered | present_labels(y_true))


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
        have = "has no label and is" if left == 1 else "have no label and are"
        notes.append(f"{left:,} of {table.shape[0]:,} rows {have} skipped.")
    labels = set() if kind == "votes" else distinct_labels(y)
    if -1 in labels and len(labels) > 2:
        notes.append("-1 is treated as a class. If it marks missing labels, pass --missing -1.")
    truth = None if y_true is None else y_true[kept]
    names = set(y.classes.tolist()) if kind == "votes" else labels
    if truth is not None and (never := distinct_labels(truth) - names):
        if checked is None and more.get("classes") is None:
            _refuse_placeholder(truth, never)
        listed = ", ".join(sorted(map(repr, never))[:6])
        notes.append(
            f"True classes that never occur as a label: {listed}. If one marks a missing truth, "
            "name it with --missing."
        )
    task = Task(kind, rows, kept, y, truth, notes=notes, n_rows=table.shape[0], **more)
    if checked is None:
        return task
    notes += checked.notes
    if not checked.known.any():
        notes.append("No verdict could be used: the truth of no row is known.")
        return replace(task, kind="nothing" if kind == "trusted" else kind, y_true=None)
    return replace(task, checked=checked.at(kept))


def _refuse_placeholder(truth: Labels, never: set[Any]) -> None:
    """Raise if most truths are a value that is never a label: it surely marks missing ones."""
    known = truth[present_labels(truth)].tolist()
    value, times = Counter(known).most_common(1)[0]
    if value in never and 2 * times > len(known):
        raise ValueError(
            f"{times:,} of {len(known):,} true classes are {value!r}, which never occurs as a "
            f"label. If it marks a missing truth, pass --missing {value!r}; if it is a class, name "
            "all classes with --classes."
        )


WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,17})(\.0+)?")
"""Text that an integer represents exactly; a code such as 007 is not."""

MANY = 20
"""Fewer distinct values than this are always taken as classes."""


def common_labels(columns: Sequence[Iterable[Any]], missing: str | None = None) -> list[Labels]:
    """Return columns as arrays of one type: integers if all labels are, else text.

    A column of truths with missing values often has 1.0 where the labels have 1; both become 1.
    Missing labels are None.

    Examples
    --------
    >>> common_labels([["1", "2"], ["1.0", None]])
    [array([1, 2]), array([1, None], dtype=object)]
    >>> common_labels([["1", " x"], [1, "?"]], missing="?")
    [array(['1', 'x'], dtype='<U1'), array(['1', None], dtype=object)]
    """
    texts = [label_texts(column, missing) for column in columns]
    distinct = {text for column in texts for text in set(column) if text is not None}
    whole = all(map(WHOLE.fullmatch, distinct))
    meaning: dict[Any, Any] = {None: None}
    meaning |= {text: int(text.partition(".")[0]) if whole else text for text in distinct}
    found = [[meaning[text] for text in column] for column in texts]
    return [np.array(one, dtype=None if one and None not in one else object) for one in found]


def label_texts(column: Iterable[Any], missing: str | None = None, empty: Any = None) -> list[Any]:
    """Return cells as they would be written, `empty` where there is nothing."""
    texts = (text.strip() for text in map_cells(column, as_written))
    return [empty if text in ("", missing) else text for text in texts]


def present_labels(labels: Labels) -> BoolArray:
    """Return a mask of the rows with a label."""
    if labels.dtype != object:
        return np.ones(len(labels), dtype=bool)
    return np.array([label is not None for label in labels.tolist()], dtype=bool)


def distinct_labels(labels: Labels) -> set[Any]:
    """Return the distinct labels."""
    found = labels.tolist() if labels.dtype == object else np.unique(labels).tolist()
    return set(found) - {None}


def refuse_measurements(labels: Labels, name: str) -> None:
    """Raise if nearly all values of a label column are distinct."""
    n_present, distinct = int(present_labels(labels).sum()), len(distinct_labels(labels))
    if not n_present:
        raise ValueError(f"The column {name!r} holds no labels.")
    if distinct > max(MANY, n_present / 2):
        raise ValueError(
            f"The column {name!r} has {distinct:,} different values in {n_present:,} rows: "
            "these are measurements, names or text, not classes."
        )


def refuse_alike(columns: Iterable[Labels]) -> None:
    """Raise if two labels are the same but for upper and lower case."""
    spelt: dict[str, str] = {}
    for name in sorted(str(one) for labels in columns for one in distinct_labels(labels)):
        other = spelt.setdefault(name.casefold(), name)
        if other != name:
            raise ValueError(
                f"The labels {other!r} and {name!r} differ only in case. Write them alike; if they "
                "are different classes, name all classes with --classes."
            )


def refuse_strangers(labels: Labels, truth: Labels) -> None:
    """Raise if labels and true classes have no value in common."""
    observed, true = distinct_labels(labels), distinct_labels(truth)
    if observed and true and not observed & true:
        raise ValueError(
            f"The labels ({_few(observed)}) and the true classes ({_few(true)}) have no value in "
            "common. Write both alike."
        )


def _few(names: set[Any]) -> str:
    return ", ".join(sorted(map(repr, names))[:3]) + ", ..." * (len(names) > 3)
