"""Label columns as arrays of a common type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from unconfused._labels import is_missing
from unconfused._typing import BoolArray, IntArray, Labels

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
    coded = [code_labels(column, missing) for column in columns]
    whole = all(WHOLE.fullmatch(text) for _, texts in coded for text in texts)
    return [_array(codes, texts, whole) for codes, texts in coded]


def code_labels(column: Iterable[Any], missing: str | None = None) -> tuple[IntArray, list[str]]:
    """Return labels as numbers, -1 where there is none, and the texts they stand for.

    Examples
    --------
    >>> code_labels(["cat", None, " dog", "cat"])
    (array([ 0, -1,  1,  0]), ['cat', 'dog'])
    """
    levels = getattr(column, "cat", None)  # a column of pandas that is coded already
    if levels is None:
        cells = label_texts(column, missing)
        codes = np.arange(len(cells))
    else:
        cells = label_texts(levels.categories, missing)
        codes = levels.codes.to_numpy()
    distinct = [text for text in dict.fromkeys(cells) if text is not None]
    texts = {text: code for code, text in enumerate(distinct)}
    # The last place stands for -1: a cell without a label.
    new = np.array([*(-1 if text is None else texts[text] for text in cells), -1])
    return new[codes], distinct


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


def _array(codes: IntArray, texts: list[str], whole: bool) -> Labels:
    meaning = [int(text.partition(".")[0]) if whole else text for text in texts]
    if len(codes) and codes.min() >= 0:
        return np.array(meaning)[codes]
    array = np.empty(len(meaning) + 1, dtype=object)  # the last place stands for -1
    array[:-1] = meaning
    return array[codes]


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
