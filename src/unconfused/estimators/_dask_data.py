"""From Dask collections to blocks of checked rows with label codes; X is not computed here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from unconfused._labels import encode_labels, label_array, split_missing
from unconfused._matrix import confusion_classes
from unconfused._typing import ArrayLike, BoolArray, FloatArray, IntArray, Labels
from unconfused.engines.dask import DaskRows
from unconfused.estimators._dask_labels import (
    merge_summaries,
    refuse_bare_rows,
    summarise_labels,
)
from unconfused.estimators._lazy import as_dask_array, as_matrix, check_columns, is_dask
from unconfused.estimators._noisy import NoisyData, encode_noisy

FLOATS = [np.float64, np.float32]


@dataclass(frozen=True)
class DaskData(NoisyData):
    """Rows on workers. The labels are one of each combination; the weights say how many."""

    can_hold_out = False

    def trusted_rows(self, held: BoolArray | None) -> tuple[Any, IntArray, int, FloatArray | None]:
        """Fetch the rows whose truth is known."""
        import dask

        assert held is None
        n_classes = len(self.labels.classes)
        pick = dask.delayed(_trusted_of, pure=False)
        blocks = dask.compute(*[pick(block, n_classes) for block in self.X.blocks])
        rows, codes, weights = zip(*blocks, strict=True)
        X = sparse.vstack(rows, format="csr") if sparse.issparse(rows[0]) else np.concatenate(rows)
        return X, np.concatenate(codes), self.n_codes, np.concatenate(weights)


def check_dask(
    estimator: Any,
    X: Any,
    y: Any,
    y_true: Any,
    sample_weight: Any,
    classes: ArrayLike | None,
    *,
    reset: bool,
) -> DaskData:
    """Check what was passed to `fit`; only labels and weights are looked at now."""
    import dask

    check_columns(estimator, X, reset=reset)
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but y is None.")
    blocks, n_rows, rows = _row_blocks(X)
    columns = [_cut_like(n_rows, column, name) for column, name in _named(y, y_true, sample_weight)]
    summarise = dask.delayed(summarise_labels, pure=False)
    found = dask.compute(*[summarise(*parts) for parts in zip(*columns, strict=True)])
    lengths = np.array([length for length, _ in found], dtype=np.float64)
    if not lengths.sum():
        raise ValueError("Found array with 0 sample(s): X and y have no rows.")
    seen, truths, counts = merge_summaries([table for _, table in found])
    missing_label = estimator.missing_label
    present, missing = split_missing(seen, "y", missing_label)
    check_classification_targets(present[~missing])
    known = None if y_true is None else truths
    named = classes
    if classes is None and estimator.confusion is not None:
        named = confusion_classes(estimator.confusion)
    refuse_bare_rows(seen, known, named, missing_label, counts)
    labels = encode_noisy(seen, known, estimator.confusion, classes, missing_label)
    check = dask.delayed(_checked_block, pure=False)
    checked = [
        check(block, *parts, labels.classes, missing_label)
        for block, *parts in zip(blocks, *columns, strict=True)
    ]
    shape = (int(lengths.sum()), int(X.shape[1]))
    dtype = np.dtype(np.float32) if _all_float32(X) else np.dtype(np.float64)
    dense = not sparse.issparse(getattr(X, "_meta", None))
    n_bytes = float(shape[0]) * shape[1] * dtype.itemsize if dense else np.nan
    homes = _homes(rows, len(blocks))
    return DaskData(DaskRows(checked, shape, dtype, lengths, n_bytes, homes), labels, counts)


def _named(y: Any, y_true: Any, sample_weight: Any) -> list[tuple[Any, str]]:
    return [(y, "y"), (y_true, "y_true"), (sample_weight, "sample_weight")]


def _row_blocks(X: Any) -> tuple[list[Any], FloatArray, Any]:
    """Return the blocks as Delayed objects, their rows (NaN if not known), and the collection."""
    if hasattr(X, "columns"):
        blocks = list(X.to_delayed())
        return blocks, np.full(len(blocks), np.nan), X
    X = as_dask_array(X)
    return X.to_delayed().ravel().tolist(), np.array(X.chunks[0], dtype=np.float64), X


def _all_float32(X: Any) -> bool:
    types = X.dtypes.tolist() if hasattr(X, "columns") else [X.dtype]
    return all(one == np.float32 for one in types)


def _cut_like(n_rows: FloatArray, column: Any, name: str) -> list[Any]:
    """Cut labels or weights as X is cut."""
    if column is None:
        return [None] * len(n_rows)
    if not is_dask(column):
        return _cut_array(n_rows, label_array(column), name)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0] if not hasattr(column, "columns") else column.iloc[:, 0]
    if column.ndim != 1:
        raise ValueError(
            f"{name} should have one value per row; this Dask collection has {column.ndim} "
            "dimensions. For votes of several annotators, combine them into one label per row."
        )
    known = hasattr(column, "chunks") and not np.isnan(column.chunks[0]).any()
    if known and not np.isnan(n_rows).any() and column.chunks[0] != tuple(n_rows):
        if sum(column.chunks[0]) != n_rows.sum():
            raise ValueError(f"{name} has {column.shape[0]} rows but X has {int(n_rows.sum())}.")
        column = column.rechunk((tuple(int(n) for n in n_rows),))
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


def _homes(rows: Any, n_blocks: int) -> list[str | None]:
    """Find the worker that has each block in memory, where one has."""
    from unconfused.engines._dask_pool import active_client

    client = active_client()
    if client is None:
        return [None] * n_blocks
    from dask.core import flatten
    from distributed import futures_of

    holders = client.who_has(futures_of(rows))
    keys = list(flatten(rows.__dask_keys__()))
    found = [next(iter(holders.get(str(key), holders.get(key, ()))), None) for key in keys]
    return found if len(found) == n_blocks else [None] * n_blocks


def _checked_block(
    X: Any, y: Any, y_true: Any, weight: Any, classes: Labels, missing_label: Any
) -> tuple[Any, IntArray, FloatArray]:
    """Check one block of rows on its worker."""
    y, n_rows = label_array(y), X.shape[0]
    if len(y) != n_rows:
        raise ValueError(f"A block of y has {len(y)} labels where that of X has {n_rows} rows.")
    if n_rows == 0:
        empty = X if sparse.issparse(X) else np.empty(X.shape)
        return empty, np.zeros(0, dtype=np.intp), np.zeros(0)
    X = check_array(as_matrix(X), accept_sparse="csr", dtype=FLOATS, order="C", input_name="X")
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    labels = encode_labels(y, y_true, classes=classes, missing_label=missing_label)
    known = labels.truth >= 0
    codes = np.where(known, len(classes) + labels.truth, labels.observed)
    weights = _check_sample_weight(weight, X, dtype=np.float64, ensure_non_negative=True)
    return X, codes, weights


def _trusted_of(
    block: tuple[Any, IntArray, FloatArray], n_classes: int
) -> tuple[Any, IntArray, FloatArray]:
    X, codes, weights = block
    rows = np.flatnonzero(codes >= n_classes)
    return X[rows], codes[rows], weights[rows]
