"""Lazy label posteriors of Dask collections."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unconfused._typing import FloatArray
from unconfused.estimators.annotators.crowd import are_votes
from unconfused.estimators.dask.align import cut_like, cut_votes
from unconfused.estimators.dask.lazy import as_dask_array, as_matrix, check_columns, light_copy


def lazy_label_posterior(model: Any, X: Any, y: Any) -> Any:
    """Return a Dask array (n, Q), cut like X; `y` may be in memory or a Dask collection."""
    import dask
    import dask.array as da
    from dask.highlevelgraph import HighLevelGraph

    check_is_fitted(model)
    check_columns(model, X, reset=False)
    rows = as_dask_array(X)
    n_rows = np.array(rows.chunks[0], dtype=np.float64)
    labels = cut_votes(n_rows, y) if are_votes(y) else cut_like(n_rows, y, "y")
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
