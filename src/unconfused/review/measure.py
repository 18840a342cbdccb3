"""Posteriors and a sketch of the features of all rows, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from unconfused._labels import MISSING, encode_labels, label_array
from unconfused._pipelines import final_step
from unconfused._typing import ArrayLike, FloatArray, IntArray, Labels
from unconfused.confusion.estimation.calibration import judged_labels
from unconfused.estimators._arrays import is_dask

BLOCK = 2**15
"""Rows looked at together."""

SKETCH = 8
"""Numbers a row's features are projected to, to tell which rows are alike."""


@dataclass(frozen=True)
class Measured:
    """Rows in a few numbers each, (n,).

    `wrong` is the probability that the label is wrong (0 without one), `suggested` the likeliest
    class, the label on a tie, and `uncertain` the chance that two draws from the posterior differ.
    `sketch` projects the features at random, (n, 8). `truth_given_label` is the share of class t
    among the rows of label k by the posterior, (Q, Q).
    """

    classes: Labels
    observed: IntArray
    wrong: FloatArray
    suggested: IntArray
    uncertain: FloatArray
    sketch: FloatArray
    truth_given_label: FloatArray


Numbers = tuple[IntArray, FloatArray, IntArray, FloatArray, FloatArray, FloatArray]


def measure(
    model: Any,
    X: Any,
    y: ArrayLike,
    posterior: FloatArray | None = None,
    missing_label: Any = "auto",
) -> Measured:
    """Ask a fitted model about rows: in memory, in Dask collections, or block by block."""
    final, _ = final_step(model)
    if not hasattr(final, "classes_"):
        raise NotFittedError(f"This {type(final).__name__} is not fitted yet: call fit first.")
    classes = final.classes_
    if is_dask(X):
        parts = _dask_parts(model, X, y, missing_label)
    else:
        codes = encode_labels(y, classes=classes, missing_label=missing_label).observed
        blocks = X if hasattr(X, "__next__") else _blocks(X)
        parts, begun = [], 0
        for block in blocks:
            rows = slice(begun, begun + block.shape[0])
            own = None if posterior is None else posterior[rows]
            parts.append(_numbers(model, block, codes[rows], classes, own))
            begun = rows.stop
        if begun != len(codes):
            raise ValueError(f"X has {begun} rows but y has {len(codes)} labels.")
    observed, wrong, suggested, uncertain, sketch, _ = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    joint = np.sum([part[-1] for part in parts], axis=0)
    share = joint / np.maximum(joint.sum(axis=0), 1e-300)
    return Measured(classes, observed, wrong, suggested, uncertain, sketch, share)


def _blocks(X: Any) -> Iterator[Any]:
    X = X if hasattr(X, "shape") else np.asarray(X)
    for start in range(0, X.shape[0], BLOCK):
        yield _safe_indexing(X, np.arange(start, min(start + BLOCK, X.shape[0])))


def _numbers(
    model: Any, X: Any, codes: IntArray, classes: Labels, posterior: FloatArray | None
) -> Numbers:
    features = model[:-1].transform(X) if isinstance(model, Pipeline) and len(model) > 1 else X
    final, _ = final_step(model)
    table = _posterior(final, features, codes, classes) if posterior is None else posterior
    wrong, suggested = judged_labels(table, codes)
    seen = codes != MISSING
    joint = np.zeros((len(classes), len(classes)))
    np.add.at(joint.T, codes[seen], table[seen])
    return codes, wrong, suggested, 1.0 - (table**2).sum(axis=1), _sketch(features, table), joint


def _posterior(final: Any, X: Any, codes: IntArray, classes: Labels) -> FloatArray:
    """Return P(true class | row, label), or of the row alone where the model cannot say more."""
    if hasattr(final, "label_posterior"):
        labels = classes[codes]
        if (codes == MISSING).any():
            labels = labels.astype(object)
            labels[codes == MISSING] = None
        return np.asarray(final.label_posterior(X, labels))
    if hasattr(final, "predict_proba"):
        return np.asarray(final.predict_proba(X))
    raise ValueError(
        f"{type(final).__name__} has no probabilities, so it cannot say which rows to check; fit "
        "an UnconfusedLogisticRegression with the same confusion matrix."
    )


def _sketch(features: Any, table: FloatArray) -> FloatArray:
    """Project rows to a few random directions: their features, or else what the model says."""
    if not issparse(features):
        try:
            features = np.asarray(features, dtype=np.float64).reshape(len(table), -1)
        except (TypeError, ValueError):  # texts, or columns that are not numbers
            features = table
        features = np.nan_to_num(features)
    directions = np.random.RandomState(0).standard_normal((features.shape[1], SKETCH))
    found = np.asarray(features @ (directions / np.sqrt(features.shape[1])), dtype=np.float64)
    return np.nan_to_num(found).astype(np.float32)


def _dask_parts(model: Any, X: Any, y: Any, missing_label: Any) -> list[Numbers]:
    """Measure each block where it is; only a few numbers per row come back."""
    import dask

    classes = final_step(model)[0].classes_
    blocks = np.asarray(X.to_delayed(), dtype=object).reshape(-1).tolist()
    if is_dask(y):
        labels = np.asarray(y.to_delayed(), dtype=object).reshape(-1).tolist()
    else:
        sizes = dask.compute(*[dask.delayed(len)(block) for block in blocks])
        labels = np.split(label_array(y), np.cumsum(sizes)[:-1])
    if len(labels) != len(blocks):
        raise ValueError(
            f"X has {len(blocks)} blocks but y has {len(labels)}: give both the same chunks."
        )

    def one(block: Any, own: Any) -> Numbers:
        codes = encode_labels(own, classes=classes, missing_label=missing_label).observed
        return _numbers(model, block, codes, classes, None)

    pairs = zip(blocks, labels, strict=True)
    return list(dask.compute(*[dask.delayed(one)(block, own) for block, own in pairs]))
