"""Votes of several annotators on the rows of Dask collections.

The client sees which labels occur, and splits votes and truths into the blocks of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from unconfused._labels import label_array
from unconfused._typing import Labels
from unconfused.confusion._columns_as_votes import with_truth
from unconfused.confusion.votes import Votes, votes_from_wide
from unconfused.estimators.annotators.crowd import collect_votes, crowd_of, refuse_one_class
from unconfused.estimators.annotators.voted_rows import refuse_no_rows, row_weights
from unconfused.estimators.dask.align import cut_like, cut_votes, row_blocks
from unconfused.estimators.dask.data import (
    check_block_rows,
    check_block_weights,
    lazy_rows,
    refuse_no_weight,
)
from unconfused.estimators.dask.labels import distinct_labels, refuse_changed_labels
from unconfused.estimators.dask.lazy import check_columns
from unconfused.estimators.dask.voted_parts import DaskVotes, VotedBlock


def check_dask_votes(
    estimator: Any, X: Any, y: Any, y_true: Any, sample_weight: Any, noisy_weight: float
) -> DaskVotes:
    """Check the input of `fit`; only votes, truths and weights are computed here."""
    import dask

    check_columns(estimator, X, reset=True)
    blocks, n_rows = row_blocks(X)
    y = y if hasattr(y, "shape") or isinstance(y, Votes) else label_array(y)
    votes = cut_votes(n_rows, y)
    truths = cut_like(n_rows, y_true, "y_true")
    weights = cut_like(n_rows, sample_weight, "sample_weight")
    summarise = dask.delayed(_summary_of, pure=False)
    found = dask.compute(*map(summarise, votes, truths, weights))
    counts, totals, shown, known = zip(*found, strict=True)
    lengths = np.array(counts, dtype=np.float64)
    refuse_no_weight(lengths, sum(totals))
    classes, annotators, trusted = _classes_of(y, _column(shown), _column(known), estimator)
    refuse_no_rows(noisy_weight, trusted)
    check = dask.delayed(_voted_block, pure=False)
    settings = (classes, estimator.missing_label, noisy_weight)
    checked = [
        check(*parts, *settings)
        for parts in zip(blocks, votes, truths, weights, found, strict=True)
    ]
    rows = lazy_rows(X, checked, lengths)
    return DaskVotes(rows, classes, annotators, intercept=estimator.fit_intercept)


def _summary_of(votes: Any, truths: Any, weight: Any) -> tuple[int, float, list[Any], list[Any]]:
    """Return rows and weight of a block, and its distinct labels and truths, missing ones too."""
    if isinstance(votes, Votes):
        n_rows, shown = votes.n_items, votes.classes.tolist()
    else:
        table = np.asarray(votes) if hasattr(votes, "columns") else label_array(votes)
        n_rows, shown = len(table), distinct_labels(table.ravel())
    known = [] if truths is None else distinct_labels(label_array(truths))
    return n_rows, n_rows if weight is None else float(np.sum(weight)), shown, known


def _column(labels: Iterable[list[Any]]) -> Labels:
    """Return the distinct labels of all blocks; a missing one if there is none."""
    entries = list(dict.fromkeys(label for block in labels for label in block)) or [None]
    column = np.empty(len(entries), dtype=object)
    column[:] = entries
    return column


def _classes_of(
    y: Any, shown: Labels, known: Labels, estimator: Any
) -> tuple[Labels, Labels, bool]:
    """Return classes, annotators, and whether any truth is known, as for labels in memory."""
    votes, missing_label = y, estimator.missing_label
    if not isinstance(y, Votes):
        table = shown[:, np.newaxis]
        votes = votes_from_wide(table, classes=estimator.classes, missing_label=missing_label)
        names = getattr(y, "columns", None)
        annotators = np.arange(y.shape[1]) if names is None else label_array(list(names))
        votes = replace(votes, annotators=annotators)
    votes = replace(votes, items=np.arange(len(known)))
    votes, truth = with_truth(votes, known, estimator.classes, missing_label)
    refuse_one_class(votes.classes)
    return votes.classes, votes.annotators, bool(np.any(truth >= 0))


def _voted_block(
    X: Any,
    votes: Any,
    y_true: Any,
    weight: Any,
    summary: Any,
    classes: Labels,
    missing_label: Any,
    noisy_weight: float,
) -> VotedBlock:
    """Check one block of rows on its worker."""
    n_rows = X.shape[0]
    if n_rows == 0:
        return X, None, np.zeros(0, dtype=np.intp), np.zeros(0)
    refuse_changed_labels(summary, _summary_of(votes, y_true, weight))
    found, truth = collect_votes(votes, y_true, classes, missing_label)
    if found.n_items != n_rows:
        raise ValueError(f"A block of y has {found.n_items} rows where that of X has {n_rows}.")
    weights = row_weights(check_block_weights(weight, n_rows), crowd_of(found, truth), noisy_weight)
    return check_block_rows(X), found.indicators(), truth, weights
