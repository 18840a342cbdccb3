"""From Dask collections to blocks of checked rows with label codes; X is not computed here.

The client sees which combinations of label and truth occur, and how often: all that the classes
and the confusion matrix depend on. It never sees the labels of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_non_negative

from unconfused._confusion_names import is_rectangular
from unconfused._labels import (
    EncodedLabels,
    encode_labels,
    is_missing,
    label_array,
    split_missing,
)
from unconfused._typing import ArrayLike, BoolArray, FloatArray, IntArray, Labels
from unconfused.engines.dask.engine import DaskRows
from unconfused.estimators._noisy import (
    NoisyData,
    encode_noisy,
    refuse_extreme_weights,
    without_label,
)
from unconfused.estimators.dask.blocks import cut_like, homes_of, row_blocks
from unconfused.estimators.dask.lazy import as_matrix, check_columns

FLOATS = [np.float64, np.float32]

Table = list[tuple[Any, Any, float]]
"""Label, truth (None where missing) and weight of every combination."""


@dataclass(frozen=True)
class DaskData(NoisyData):
    """Rows on workers. The labels are one of each combination; the weights say how many."""

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
        rows = [block.X for block in blocks]
        X = sparse.vstack(rows, format="csr") if sparse.issparse(rows[0]) else np.concatenate(rows)
        observed, truth, weights = (
            np.concatenate([getattr(block, name) for block in blocks])
            for name in ("observed", "truth", "weights")
        )
        return NoisyData(X, EncodedLabels(self.labels.classes, observed, truth), weights)

    def trusted_rows(self, held: BoolArray | None) -> tuple[Any, IntArray, int, FloatArray | None]:
        """Return rows, codes, their number and weights where the truth is known and not held."""
        return self.eligible.trusted_rows(held)

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
    """Check what was passed to `fit`; only labels and weights are looked at now."""
    import dask

    check_columns(estimator, X, reset=reset)
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but y is None.")
    blocks, n_rows = row_blocks(X)
    columns = [cut_like(n_rows, column, name) for column, name in _named(y, y_true, sample_weight)]
    summarise = dask.delayed(summarise_labels, pure=False)
    found = dask.compute(*[summarise(*parts) for parts in zip(*columns, strict=True)])
    lengths = np.array([length for length, _ in found], dtype=np.float64)
    tables = [table for _, table in found]
    refuse_no_weight(lengths, sum(weight for table in tables for *_, weight in table))
    seen, truths, counts = merge_summaries(tables)
    if is_rectangular(estimator.confusion):
        raise ValueError(
            "With Dask collections labels must be classes; a matrix with other labels needs rows "
            "in memory."
        )
    missing_label = estimator.missing_label
    present, missing = split_missing(seen, "y", missing_label)
    # Every label is here once; if all were different scikit-learn would take them for numbers.
    check_classification_targets(np.tile(present[~missing], 3))
    known = None if y_true is None else truths
    labels = encode_noisy(seen, known, estimator.confusion, classes, missing_label)
    counts = np.where(without_label(labels), 0.0, counts)
    refuse_no_weight(lengths, float(counts.sum()))
    checked, trusted = (
        [
            dask.delayed(function, pure=False)(block, *parts, labels.classes, missing_label)
            for block, *parts in zip(blocks, *columns, found, strict=True)
        ]
        for function in (_checked_block, _trusted_block)
    )
    return DaskData(lazy_rows(X, checked, lengths), labels, counts, trusted)


def lazy_rows(X: Any, checked: Sequence[Any], lengths: FloatArray) -> DaskRows:
    """Say all that is known of rows that are not computed yet."""
    shape = (int(lengths.sum()), int(X.shape[1]))
    dtype = np.dtype(np.float32) if _all_float32(X) else np.dtype(np.float64)
    dense = not sparse.issparse(getattr(X, "_meta", None))
    n_bytes = float(shape[0]) * shape[1] * dtype.itemsize if dense else np.nan
    return DaskRows(checked, shape, dtype, lengths, n_bytes, homes_of(X, len(checked)))


def refuse_no_weight(lengths: FloatArray, total: float) -> None:
    """Raise if there are no rows, or none that count."""
    if not lengths.sum():
        raise ValueError("Found array with 0 sample(s): X and y have no rows.")
    if total == 0:
        raise ValueError("Sample weights must contain at least one non-zero number.")
    refuse_extreme_weights(abs(total))  # a negative weight is refused where its row is


def _named(y: Any, y_true: Any, sample_weight: Any) -> list[tuple[Any, str]]:
    return [(y, "y"), (y_true, "y_true"), (sample_weight, "sample_weight")]


def _all_float32(X: Any) -> bool:
    types = X.dtypes.tolist() if hasattr(X, "columns") else [X.dtype]
    return all(one == np.float32 for one in types)


def _checked_block(
    X: Any, y: Any, y_true: Any, weight: Any, summary: Any, classes: Labels, missing_label: Any
) -> tuple[Any, IntArray, FloatArray]:
    """Check one block of rows on its worker."""
    y, n_rows = label_array(y), X.shape[0]
    if len(y) != n_rows:
        raise ValueError(f"A block of y has {len(y)} labels where that of X has {n_rows} rows.")
    refuse_changed_labels(summary, summarise_labels(y, y_true, weight))
    if n_rows == 0:
        empty = X if sparse.issparse(X) else np.empty(X.shape)
        return empty, np.zeros(0, dtype=np.intp), np.zeros(0)
    labels = encode_labels(y, y_true, classes=classes, missing_label=missing_label)
    known = labels.truth >= 0
    codes = np.where(known, len(classes) + labels.truth, labels.observed)
    # Rows without a label or truth have any code, and count 0.
    weights = np.where(codes < 0, 0.0, check_block_weights(weight, n_rows))
    return check_block_rows(X), np.maximum(codes, 0), weights


def check_block_rows(X: Any) -> Any:
    """Check the rows of one block; they come back C-ordered or as CSR."""
    X = check_array(as_matrix(X), accept_sparse="csr", dtype=FLOATS, order="C", input_name="X")
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def check_block_weights(weight: Any, n_rows: int) -> FloatArray:
    """Check the weights of one block; all of them may be 0 if those of another are not."""
    if weight is None:
        return np.ones(n_rows)
    weights = check_array(weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (n_rows,):
        raise ValueError(
            f"A block of sample_weight has shape {weights.shape} where that of X has {n_rows} rows."
        )
    check_non_negative(weights, "sample_weight")
    return np.asarray(weights)


@dataclass(frozen=True)
class TrustedBlock:
    """The rows of a block whose truth is known."""

    places: IntArray
    X: Any
    observed: IntArray
    truth: IntArray
    weights: FloatArray


def _trusted_block(
    X: Any, y: Any, y_true: Any, weight: Any, summary: Any, classes: Labels, missing_label: Any
) -> TrustedBlock:
    """Pick the trusted rows of one block on its worker."""
    X, codes, weights = _checked_block(X, y, y_true, weight, summary, classes, missing_label)
    places = np.flatnonzero(codes >= len(classes))
    seen = label_array(y)[places]
    observed = encode_labels(seen, classes=classes, missing_label=missing_label).observed
    truth = codes[places] - len(classes)
    return TrustedBlock(places, X[places], observed, truth, weights[places])


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
