"""Labels, votes and weights cut into the blocks that the rows are in."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from unconfused._labels import label_array
from unconfused._typing import FloatArray, Labels
from unconfused.confusion.votes import Votes
from unconfused.estimators.dask.lazy import as_dask_array, is_dask


def row_blocks(X: Any) -> tuple[list[Any], FloatArray]:
    """Return the blocks as Delayed objects, and how many rows they have (NaN if not known)."""
    if hasattr(X, "columns"):
        blocks = list(X.to_delayed())
        return blocks, np.full(len(blocks), np.nan)
    X = as_dask_array(X)
    return X.to_delayed().ravel().tolist(), np.array(X.chunks[0], dtype=np.float64)


def cut_like(n_rows: FloatArray, column: Any, name: str) -> list[Any]:
    """Cut labels or weights as X is cut."""
    if column is None:
        return [None] * len(n_rows)
    lazy = is_dask(column)
    column = column if lazy else label_array(column)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0] if not hasattr(column, "columns") else column.iloc[:, 0]
    if column.ndim != 1:
        raise ValueError(
            f"{name} should have one value per row; this has shape {column.shape}. Only "
            "UnconfusedLogisticRegression takes votes of several annotators, as y."
        )
    if not lazy:
        return _cut_array(n_rows, column, name)
    return _cut_collection(n_rows, column, name)


def cut_votes(n_rows: FloatArray, votes: Any) -> list[Any]:
    """Cut votes, one column per annotator or a list of answers, as X is cut."""
    if is_dask(votes):
        whole = hasattr(votes, "columns") or votes.numblocks[1] == 1
        return _cut_collection(n_rows, votes if whole else votes.rechunk({1: -1}), "y")
    if not isinstance(votes, Votes):
        if not hasattr(votes, "columns"):
            return _cut_array(n_rows, label_array(votes), "y")
        tables = _cut_array(n_rows, np.asarray(votes), "y")
        return [type(votes)(table, columns=votes.columns) for table in tables]
    items = _cut_array(n_rows, votes.items, "y")
    edges = np.cumsum([0, *map(len, items)])
    order = np.argsort(votes.item, kind="stable")
    cuts = np.searchsorted(votes.item[order], edges)
    answers = [order[start:stop] for start, stop in pairwise(cuts)]
    return [
        replace(votes.take(own), item=votes.item[own] - first, items=some)
        for own, first, some in zip(answers, edges, items, strict=False)
    ]


def _cut_collection(n_rows: FloatArray, column: Any, name: str) -> list[Any]:
    known = hasattr(column, "chunks") and not np.isnan(column.chunks[0]).any()
    if known and not np.isnan(n_rows).any() and column.chunks[0] != tuple(n_rows):
        if sum(column.chunks[0]) != n_rows.sum():
            raise ValueError(f"{name} has {column.shape[0]} rows but X has {int(n_rows.sum())}.")
        column = column.rechunk({0: tuple(int(n) for n in n_rows)})
    blocks: list[Any] = np.ravel(np.array(column.to_delayed(), dtype=object)).tolist()
    if len(blocks) != len(n_rows):
        raise ValueError(
            f"{name} has {len(blocks)} blocks but X has {len(n_rows)}, and not all their lengths "
            "are known. Call compute_chunk_sizes() on the arrays, or repartition the frames alike."
        )
    return blocks


def _cut_array(n_rows: FloatArray, column: Labels, name: str) -> list[Any]:
    if np.isnan(n_rows).any():
        raise ValueError(
            f"{name} is in memory but the lengths of X's blocks are not known: call "
            f"X.compute_chunk_sizes() first, or pass {name} as a Dask collection cut like X."
        )
    if len(column) != n_rows.sum():
        raise ValueError(f"{name} has {len(column)} rows but X has {int(n_rows.sum())}.")
    return np.split(column, np.cumsum(n_rows[:-1]).astype(int))


def homes_of(rows: Any, n_blocks: int) -> list[str | None]:
    """Find the worker that has each block in memory, where one has."""
    from unconfused.engines.dask.pool import active_client

    client = active_client()
    if client is None:
        return [None] * n_blocks
    from dask.core import flatten
    from distributed import futures_of

    holders = client.who_has(futures_of(rows))
    keys = list(flatten(rows.__dask_keys__()))
    found = [next(iter(holders.get(str(key), holders.get(key, ()))), None) for key in keys]
    return found if len(found) == n_blocks else [None] * n_blocks
