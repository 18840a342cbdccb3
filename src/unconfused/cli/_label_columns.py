"""Columns of labels, from whatever file, as arrays that can be compared with one another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from unconfused._labels import is_missing
from unconfused._typing import Labels

WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,17})(\.0+)?")
"""A number that loses nothing as an integer; a code such as 007 is none."""

MANY = 20
"""Fewer different values than this are taken for classes, however few rows there are."""


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
    present = {text for column in texts for text in column if text is not None}
    whole = all(WHOLE.fullmatch(text) for text in present)
    meaning: dict[str | None, Any] = {
        text: int(text.partition(".")[0]) if whole else text for text in present
    }
    meaning[None] = None
    return [_array([meaning[text] for text in column]) for column in texts]


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


def _array(labels: list[Any]) -> Labels:
    if labels and None not in labels:
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def refuse_measurements(labels: Labels, name: str) -> None:
    """Raise if what was named as labels is hardly ever the same twice."""
    present = [label for label in labels.tolist() if label is not None]
    distinct = len(set(present))
    if not present:
        raise ValueError(f"The column {name!r} holds no label at all.")
    if distinct > max(MANY, len(present) / 2):
        raise ValueError(
            f"The column {name!r} has {distinct:,} different values in {len(present):,} rows: "
            "these are measurements, names or text, not classes."
        )
