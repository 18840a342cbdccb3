"""Dask collections: labels split into the blocks of the rows, lazy predictions by block."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from unconfused._labels import label_array
from unconfused._typing import FloatArray, Labels
from unconfused.estimators._arrays import is_dask

Method = TypeVar("Method", bound=Callable[..., Any])

NOT_FOR_PREDICTING = ("feature_names_in_", "history_", "_state")
"""Attributes that are not sent to the blocks (names are checked before)."""


def lazy_on_dask(method: Method) -> Method:
    """Apply a method of a fitted model lazily to every block of Dask rows, and of their labels."""

    @wraps(method)
    def by_block(self: Any, X: Any, *labels: Any, **named: Any) -> Any:
        if not is_dask(X):
            return method(self, X, *labels, **named)
        return _map_rows(self, method, X, [*labels, *named.values()])

    return cast(Method, by_block)


def _map_rows(model: Any, method: Callable[..., Any], X: Any, labels: list[Any]) -> Any:
    check_is_fitted(model)
    check_columns(model, X, reset=False)
    rows = X.to_dask_array() if hasattr(X, "columns") else X
    rows = rows if rows.numblocks[1] == 1 else rows.rechunk({1: -1})  # blocks hold whole rows
    columns = [_stacked(cut_like(np.array(rows.chunks[0], float), one, "y")) for one in labels]
    light = copy.copy(model)
    for name in NOT_FOR_PREDICTING:
        vars(light).pop(name, None)
    no_label = np.array([None])
    sample = method(
        light, np.zeros((1, rows.shape[1]), dtype=rows.dtype), *[no_label for _ in labels]
    )
    shape = sample.shape[1:]

    def of_block(block: Any, *parts: Any) -> Any:
        if block.shape[0] == 0:
            return np.empty((0, *shape), dtype=sample.dtype)
        return method(light, as_matrix(block), *(part[:, 0] for part in parts))

    return rows.map_blocks(
        of_block,
        *columns,
        dtype=sample.dtype,
        drop_axis=[] if shape else 1,
        chunks=(rows.chunks[0], *((length,) for length in shape)),
        meta=np.empty((0,) * sample.ndim, dtype=sample.dtype),
    )


def _stacked(parts: list[Any]) -> Any:
    """Return delayed parts of a column as the blocks of a Dask array, (n, 1)."""
    import dask.array as da
    from dask import delayed

    def as_column(part: Any) -> Labels:
        return label_array(part).astype(object).reshape(-1, 1)

    # Unknown lengths: Dask would drop empty blocks, and labels would no longer match the rows.
    blocks = [da.from_delayed(delayed(as_column)(one), (np.nan, 1), object) for one in parts]
    return da.concatenate(blocks)


def check_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Check the number and the names of the features, as scikit-learn does."""
    if getattr(X, "ndim", None) != 2:
        raise ValueError(
            f"X must have rows and columns; this Dask collection ({type(X).__name__}) has "
            f"{getattr(X, 'ndim', 'no')} dimensions."
        )
    n_columns = X.shape[1]
    if not isinstance(n_columns, (int, np.integer)):
        raise ValueError("The number of columns of X must be known: see X.compute_chunk_sizes().")
    meta = X._meta if hasattr(X, "columns") else np.empty((1, n_columns))
    validate_data(estimator, meta, reset=reset, skip_check_array=True)


def cut_like(n_rows: FloatArray, column: Any, name: str) -> list[Any]:
    """Split labels or weights into blocks of these lengths, those of X (NaN if not known)."""
    if column is None:
        return [None] * len(n_rows)
    lazy = is_dask(column)
    column = column if lazy else label_array(column)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0] if not hasattr(column, "columns") else column.iloc[:, 0]
    if column.ndim != 1:
        raise ValueError(
            f"{name} should have one value per row; this has shape {column.shape}. Votes of "
            "several annotators need rows in memory."
        )
    lengths = getattr(column, "chunks", ((np.nan,),))[0] if lazy else (len(column),)
    known = not np.isnan([*lengths, *n_rows]).any()
    if known and sum(lengths) != n_rows.sum():
        raise ValueError(f"{name} has {sum(lengths)} rows but X has {int(n_rows.sum())}.")
    if not lazy:
        if not known:
            raise ValueError(
                f"{name} is in memory but the lengths of X's blocks are not known: call "
                f"X.compute_chunk_sizes() first, or pass {name} as a Dask collection, too."
            )
        return np.split(column, np.cumsum(n_rows[:-1]).astype(int))
    if known:
        column = column.rechunk({0: tuple(int(n) for n in n_rows)})
    blocks: list[Any] = np.ravel(np.array(column.to_delayed(), dtype=object)).tolist()
    if len(blocks) != len(n_rows):
        raise ValueError(
            f"{name} has {len(blocks)} blocks but X has {len(n_rows)}, and not all their lengths "
            "are known. Call compute_chunk_sizes() on the arrays, or repartition the frames alike."
        )
    return blocks


def as_matrix(block: Any) -> Any:
    """Return a block of rows as scikit-learn knows them (blocks of `sparse` become CSR)."""
    return block.tocsr() if hasattr(block, "tocsr") else block
