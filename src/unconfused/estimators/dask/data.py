"""From Dask collections to blocks of checked rows with label codes; X is not computed here.

The client sees which combinations of label and truth occur, and how often: all that the classes
and the confusion matrix depend on. It never sees the labels of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets

from unconfused._arguments import check_weight
from unconfused._labels import (
    EncodedLabels,
    encode_labels,
    label_array,
    refuse_other_length,
    split_missing,
)
from unconfused._matrix_labels import is_rectangular
from unconfused._typing import ArrayLike, BoolArray, FloatArray, IntArray, Labels
from unconfused.engines.dask.engine import DaskRows
from unconfused.estimators._arrays import without_duplicates
from unconfused.estimators._noisy import (
    NoisyData,
    encode_noisy,
    refuse_extreme_weights,
    without_label,
)
from unconfused.estimators.dask.lazy import as_matrix, check_columns, cut_like

Totals = dict[tuple[Any, Any], float]
"""Weight of every combination of label and truth, None where missing."""


class TrustedBlock(NamedTuple):
    """The rows of a block whose truth is known, and their places in it."""

    places: IntArray
    X: Any
    observed: IntArray
    truth: IntArray
    weights: FloatArray


@dataclass(frozen=True)
class DaskData(NoisyData):
    """Rows on workers. `labels` has one entry per (label, truth), weighted by frequency."""

    trusted_blocks: Sequence[Any] = ()
    """The trusted rows of every block, not computed yet."""

    @property
    def in_memory(self) -> bool:
        """Only trusted rows can be held out."""
        return False

    @cached_property
    def _fetched(self) -> list[TrustedBlock]:
        import dask

        return list(dask.compute(*self.trusted_blocks))  # they are few

    @cached_property
    def eligible(self) -> NoisyData:
        """The trusted rows, in memory: masks of held-out rows are over these."""
        blocks = [block for block in self._fetched if len(block.places)]
        _, rows, *columns = zip(*blocks, strict=True)
        X = sparse.vstack(rows, format="csr") if sparse.issparse(rows[0]) else np.concatenate(rows)
        observed, truth, weights = map(np.concatenate, columns)
        return NoisyData(X, EncodedLabels(self.labels.classes, observed, truth), weights)

    def rows_without(self, held: BoolArray | None) -> tuple[Any, IntArray, int, FloatArray | None]:
        """Return the rows on workers, which bring codes and weights of their own."""
        if held is None:
            return self.X, self.codes, self.n_codes, None
        ends = np.cumsum([len(block.places) for block in self._fetched])
        masks = np.split(held, ends[:-1])
        places = [block.places[m] for block, m in zip(self._fetched, masks, strict=True)]
        return replace(self.X, left_out=places), self.codes, self.n_codes, None


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
    """Check what was passed to `fit`; only labels and weights are computed now."""
    from dask import compute, delayed

    check_columns(estimator, X, reset=reset)
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but y is None.")
    if is_rectangular(estimator.confusion):
        raise ValueError(
            "With Dask collections labels must be classes: a confusion matrix with other labels "
            "needs rows in memory."
        )
    if hasattr(X, "columns"):
        blocks = list(X.to_delayed())
        n_rows = np.full(len(blocks), np.nan)
    else:
        whole = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
        blocks, n_rows = whole.to_delayed().ravel().tolist(), np.array(X.chunks[0], float)
    named = {"y": y, "y_true": y_true, "sample_weight": sample_weight}
    columns = [cut_like(n_rows, column, name) for name, column in named.items()]
    found = compute(
        *[delayed(count_labels, pure=False)(*parts) for parts in zip(*columns, strict=True)]
    )
    lengths = np.array([length for length, _ in found], dtype=np.float64)
    totals: Totals = {}
    for _, table in found:
        for pair, weight in table.items():
            totals[pair] = totals.get(pair, 0.0) + weight
    refuse_no_weight(lengths, sum(totals.values()))
    seen, truths = (label_array(list(column)) for column in zip(*totals, strict=True))
    missing_label = estimator.missing_label
    present, missing = split_missing(seen, "y", missing_label)
    # Every label is here once; if all were different scikit-learn would take them for numbers.
    check_classification_targets(np.tile(present[~missing], 3))
    known = None if y_true is None else truths
    counts = np.array(list(totals.values()))
    labels = encode_noisy(seen, known, estimator.confusion, classes, missing_label, counts)
    counts = np.where(without_label(labels), 0.0, counts)
    refuse_no_weight(lengths, float(counts.sum()))
    checked, trusted = (
        [
            delayed(function, pure=False)(block, *parts, labels.classes, missing_label)
            for block, *parts in zip(blocks, *columns, found, strict=True)
        ]
        for function in (_checked_block, _trusted_block)
    )
    types = X.dtypes.tolist() if hasattr(X, "columns") else [X.dtype]
    dtype = np.dtype(np.float32 if all(one == np.float32 for one in types) else np.float64)
    shape = (int(lengths.sum()), int(X.shape[1]))
    dense = not sparse.issparse(getattr(X, "_meta", None))
    n_bytes = float(shape[0]) * shape[1] * dtype.itemsize if dense else np.nan
    rows = DaskRows(checked, shape, dtype, lengths, n_bytes, _homes(X, len(checked)))
    return DaskData(rows, labels, counts, trusted, has_truths=y_true is not None)


def refuse_no_weight(lengths: FloatArray, total: float) -> None:
    """Raise if there are no rows, or none that count."""
    if not lengths.sum():
        raise ValueError("Found array with 0 sample(s): X and y have no rows.")
    if total == 0:
        raise ValueError("Sample weights must contain at least one non-zero number.")
    refuse_extreme_weights(total)


def _homes(rows: Any, n_blocks: int) -> list[str | None]:
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


def _encoded_block(
    X: Any, y: Any, y_true: Any, weight: Any, counted: Any, classes: Labels, missing_label: Any
) -> tuple[Any, EncodedLabels, FloatArray]:
    """Check one block of rows on its worker; rows come back C-ordered or as CSR."""
    y, n_rows = label_array(y), X.shape[0]
    refuse_other_length(n_rows, len(y), "A block of X", "that of y")
    if count_labels(y, y_true, weight) != counted:
        raise ValueError(
            "Labels or weights were computed a second time and came out different. Make the Dask "
            "collections deterministic (fixed seeds, unchanged files), or write them to disk first."
        )
    labels = encode_labels(y, y_true, classes=classes, missing_label=missing_label)
    # All weights of a block may be 0 if those of another are not.
    weights = np.where(without_label(labels), 0.0, check_weight(weight, n_rows))
    if n_rows == 0:
        return X if sparse.issparse(X) else np.empty(X.shape), labels, weights
    floats = [np.float64, np.float32]
    X = check_array(as_matrix(X), accept_sparse="csr", dtype=floats, order="C", input_name="X")
    return without_duplicates(X), labels, weights


def _checked_block(*block: Any) -> tuple[Any, IntArray, FloatArray]:
    """Return rows, label codes and weights; rows without a label have any code, and count 0."""
    X, labels, weights = _encoded_block(*block)
    codes = np.where(labels.truth >= 0, len(labels.classes) + labels.truth, labels.observed)
    return X, np.maximum(codes, 0), weights


def _trusted_block(*block: Any) -> TrustedBlock:
    """Pick the trusted rows of one block on its worker."""
    X, labels, weights = _encoded_block(*block)
    at = np.flatnonzero(labels.truth >= 0)
    return TrustedBlock(at, X[at], labels.observed[at], labels.truth[at], weights[at])


def count_labels(y: Any, y_true: Any, weight: Any) -> tuple[int, Totals]:
    """Return the number of rows, and the weight of each combination of labels they carry."""
    seen, labels = _coded(label_array(y))
    true, truths = (0 * seen, [None]) if y_true is None else _coded(label_array(y_true))
    refuse_other_length(len(seen), len(true), "A block of y", "that of y_true")
    pairs, places = np.unique(seen * len(truths) + true, return_inverse=True)
    sums = np.bincount(places, check_weight(weight, len(seen)), len(pairs))
    shown = [(labels[pair // len(truths)], truths[pair % len(truths)]) for pair in pairs.tolist()]
    return len(seen), dict(zip(shown, sums.tolist(), strict=True))


def _coded(labels: Labels) -> tuple[IntArray, list[Any]]:
    """Return labels as indices into a list of their values, which begins with None: missing."""
    import pandas as pd

    codes, values = pd.factorize(labels)  # not sorted: mixed types are refused later, in words
    return codes + 1, [None, *values]
