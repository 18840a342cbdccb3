"""Label columns as arrays of a common type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from unconfused._labels import is_missing
from unconfused._typing import BoolArray, Labels

WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,17})(\.0+)?")
"""Text that an integer represents exactly; a code such as 007 is not."""

MANY = 20
"""Fewer distinct values than this are always taken as classes."""


def common_labels(columns: Sequence[Iterable[Any]], missing: str | None = None) -> list[Labels]:
    """Return columns as arrays of one type: integers if all labels are, else text.

    A truth with gaps is often written as 1.0 where the labels say 1; both are 1 here. None stands
    where there is no label.

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
    return [_array([meaning[text] for text in column]) for column in texts]


def _array(labels: list[Any]) -> Labels:
    if labels and None not in labels:
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def label_texts(column: Iterable[Any], missing: str | None = None) -> list[str | None]:
    """Return cells as they would be written, None where there is nothing."""
    cells = np.asarray(column, dtype=object)
    absent = is_missing(cells).tolist()
    texts = [
        None if nothing else _text(cell)
        for cell, nothing in zip(cells.tolist(), absent, strict=True)
    ]
    empty = {"", missing}
    return [None if text in empty else text for text in texts]


def _text(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


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
