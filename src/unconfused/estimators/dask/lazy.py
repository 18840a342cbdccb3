"""Lazy predictions for Dask collections, a block at a time."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

Method = TypeVar("Method", bound=Callable[..., Any])

NOT_FOR_PREDICTING = ("feature_names_in_", "history_", "_state")
"""Attributes that are not sent to the blocks (names are checked before)."""


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask collection, without importing Dask."""
    return hasattr(X, "__dask_graph__")


def lazy_on_dask(method: Method) -> Method:
    """Make a method of a fitted model, rows in and one result per row out, lazy on Dask rows."""

    @wraps(method)
    def by_block(self: Any, X: Any) -> Any:
        return _map_rows(self, method, X) if is_dask(X) else method(self, X)

    return cast(Method, by_block)


def _map_rows(model: Any, method: Callable[..., Any], X: Any) -> Any:
    check_is_fitted(model)
    check_columns(model, X, reset=False)
    rows = as_dask_array(X)
    light = light_copy(model)
    sample = method(light, np.zeros((1, rows.shape[1]), dtype=rows.dtype))
    shape = sample.shape[1:]

    def of_block(block: Any) -> Any:
        if block.shape[0] == 0:
            return np.empty((0, *shape), dtype=sample.dtype)
        return method(light, as_matrix(block))

    return rows.map_blocks(
        of_block,
        dtype=sample.dtype,
        drop_axis=[] if shape else 1,
        chunks=(rows.chunks[0], *((length,) for length in shape)),
        meta=np.empty((0,) * sample.ndim, dtype=sample.dtype),
    )


def light_copy(model: Any) -> Any:
    """Return a fitted model without what its predictions do not depend on."""
    light = copy.copy(model)
    for name in NOT_FOR_PREDICTING:
        vars(light).pop(name, None)
    return light


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


def as_dask_array(X: Any) -> Any:
    """Return a Dask array whose blocks hold whole rows."""
    rows = X.to_dask_array() if hasattr(X, "columns") else X
    return rows if rows.numblocks[1] == 1 else rows.rechunk({1: -1})


def as_matrix(block: Any) -> Any:
    """Return a block of rows as scikit-learn knows them (blocks of `sparse` become CSR)."""
    if hasattr(block, "tocsr"):
        return block.tocsr()
    return block
