"""Blocks of rows, labels and weights cut alike, and lazy posteriors of labels."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unconfused._labels import label_array
from unconfused._typing import FloatArray, Labels
from unconfused.estimators.dask.lazy import (
    as_dask_array,
    as_matrix,
    check_columns,
    is_dask,
    light_copy,
)


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
            f"{name} should have one value per row; this has shape {column.shape}. Votes of "
            "several annotators need rows in memory, and UnconfusedLogisticRegression."
        )
    if not lazy:
        return _cut_array(n_rows, column, name)
    return _cut_collection(n_rows, column, name)


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


def lazy_label_posterior(model: Any, X: Any, y: Any) -> Any:
    """Return a Dask array (n, Q), cut like X; `y` may be in memory or a Dask collection."""
    import dask
    import dask.array as da
    from dask.highlevelgraph import HighLevelGraph

    check_is_fitted(model)
    check_columns(model, X, reset=False)
    rows = as_dask_array(X)
    n_rows = np.array(rows.chunks[0], dtype=np.float64)
    labels = cut_like(n_rows, y, "y")
    of_block = dask.delayed(_of_block, pure=False)
    light = dask.delayed(light_copy(model), pure=False)
    found = [
        of_block(light, block, part)
        for block, part in zip(rows.to_delayed().ravel(), labels, strict=True)
    ]
    # Not concatenated, which would drop empty blocks: the result is cut like X.
    name = f"label-posterior-{uuid.uuid4().hex}"
    tasks = {(name, place, 0): (np.asarray, block.key) for place, block in enumerate(found)}
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=found)
    chunks = (rows.chunks[0], (len(model.classes_),))
    return da.Array(graph, name, chunks, dtype=np.float64)


def _of_block(model: Any, X: Any, y: Any) -> FloatArray:
    if X.shape[0] == 0:
        return np.empty((0, len(model.classes_)))
    posterior: FloatArray = model.label_posterior(as_matrix(X), y)
    return posterior
