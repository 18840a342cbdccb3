"""Labels of Dask collections, summed up block by block.

The client sees which combinations of label and truth occur, and how often: all that the classes
and the confusion matrix depend on. It never sees the labels of all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused._labels import is_missing, label_array
from unconfused._typing import FloatArray, IntArray, Labels

Table = list[tuple[Any, Any, float]]
"""Label, truth (None where missing) and weight of every combination."""


def summarise_labels(y: Any, y_true: Any, weight: Any) -> tuple[int, Table]:
    """Return the number of rows, and what combinations of labels they carry."""
    labels = label_array(y)
    n_rows = len(labels)
    observed, kinds = _coded(labels)
    truth, truths = (np.full(n_rows, -1), []) if y_true is None else _coded(label_array(y_true))
    if len(truth) != n_rows:
        raise ValueError(f"y_true has {len(truth)} labels in a block where y has {n_rows}.")
    weights = np.ones(n_rows) if weight is None else np.asarray(weight, dtype=np.float64)
    width = len(truths) + 1
    pairs, place = np.unique((observed + 1) * width + truth + 1, return_inverse=True)
    sums = np.bincount(place, weights, minlength=len(pairs)).tolist()
    kinds, truths = [None, *kinds], [None, *truths]
    return n_rows, [
        (kinds[pair // width], truths[pair % width], total)
        for pair, total in zip(pairs.tolist(), sums, strict=True)
    ]


def refuse_changed_labels(before: Any, now: Any) -> None:
    """Raise if a block of labels is no longer what it was when it was summed up."""
    if before != now:
        raise ValueError(
            "Labels or weights were computed a second time and came out different. Make the Dask "
            "collections deterministic (seeded chance, files that do not change), or write them to "
            "disk first."
        )


def distinct_labels(labels: Labels) -> list[Any]:
    """Return every label that occurs, and None if one is missing."""
    coded, kinds = _coded(labels)
    return [None, *kinds] if np.any(coded < 0) else kinds


def _coded(labels: Labels) -> tuple[IntArray, list[Any]]:
    missing = is_missing(labels)
    coded = np.full(len(labels), -1, dtype=np.intp)
    present = labels[~missing]
    if labels.dtype.kind == "O":  # not sorted: mixed types are refused later, in words
        place = {label: k for k, label in enumerate(dict.fromkeys(present.tolist()))}
        coded[~missing] = [place[label] for label in present.tolist()]
        return coded, list(place)
    values, coded[~missing] = np.unique(present, return_inverse=True)
    return coded, list(values)


def merge_summaries(tables: list[Table]) -> tuple[Labels, Labels, FloatArray]:
    """Return labels, truths and weights of all combinations, one entry each."""
    totals: dict[tuple[Any, Any], float] = {}
    for table in tables:
        for seen, truth, total in table:
            totals[seen, truth] = totals.get((seen, truth), 0.0) + total
    observed, truths = zip(*totals, strict=True)
    return _column(observed), _column(truths), np.array(list(totals.values()))


def _column(labels: tuple[Any, ...]) -> Labels:
    column = np.empty(len(labels), dtype=object)
    column[:] = labels
    return column
