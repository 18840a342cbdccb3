"""Margin of a classifier on given rows, and their radius."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from unconfused._labels import MISSING, encode_labels
from unconfused._typing import ArrayLike, FloatArray, IntArray, Rows


def radius(X: Rows, *, intercept: bool = False) -> float:
    """Return R, the largest Euclidean norm of a row.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The rows.
    intercept : bool, default=False
        Whether to append a constant feature 1, as for a classifier with an intercept.

    Examples
    --------
    >>> from unconfused.theory import radius
    >>> radius([[3.0, 4.0], [1.0, 0.0]])
    5.0
    """
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    squares = X.multiply(X) if sparse.issparse(X) else X**2
    return float(np.sqrt(np.max(squares.sum(axis=1)) + (1.0 if intercept else 0.0)))


def margin(
    weights: ArrayLike,
    X: Rows,
    y: ArrayLike,
    *,
    intercept: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> float:
    """Return the margin θ of a linear classifier on rows with known true classes.

    Weights and intercept are scaled together to Frobenius norm 1, as the bounds of this module
    assume. The margin is the smallest difference, over the rows, between the score of the true
    class and the best other score: positive if the classifier makes no mistake.

    Parameters
    ----------
    weights : array-like of shape (n_classes, n_features)
        One row per class. With two classes, a single row w (scikit-learn's `coef_`) means the pair
        -w/2 and w/2.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        True labels.
    intercept : array-like of shape (n_classes,), optional
        One intercept per row of `weights`.
    classes : array-like of shape (n_classes,), optional
        The class of each row of `weights`. By default the sorted labels of `y`.

    Examples
    --------
    >>> from unconfused.theory import margin
    >>> X, y = [[0.6, 0.8], [0.8, -0.6]], ["up", "down"]
    >>> margin([[0, -1], [0, 1]], X, y, classes=["down", "up"])
    0.848...
    """
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    W = _unit_norm(weights, intercept)
    d = W.shape[1] - 1
    if X.shape[1] != d:
        raise ValueError(f"weights have {d} columns but X has {X.shape[1]} features.")
    own_column = _true_columns(y, classes, len(W), X.shape[0])
    scores = np.asarray(X @ W[:, :d].T) + W[:, d]
    rows = np.arange(len(scores))
    own = scores[rows, own_column]
    scores[rows, own_column] = -np.inf
    return float(np.min(own - scores.max(axis=1)))


def _unit_norm(weights: ArrayLike, intercept: ArrayLike | None) -> FloatArray:
    """Return weights and intercept as one matrix of Frobenius norm 1."""
    W = np.array(weights, dtype=np.float64)
    if W.ndim != 2 or not W.size:
        raise ValueError(f"weights must have one row per class; they have shape {W.shape}.")
    b = np.zeros(len(W)) if intercept is None else np.asarray(intercept, dtype=np.float64)
    if b.shape != (len(W),):
        raise ValueError(f"intercept must have shape ({len(W)},), not {b.shape}.")
    W = np.column_stack([W, b])
    if len(W) == 1:
        W = np.vstack([-W / 2, W / 2])
    norm = float(np.linalg.norm(W))
    if not np.isfinite(norm) or norm == 0:
        raise ValueError("weights must be finite and not all 0.")
    return W / norm


def _true_columns(y: ArrayLike, classes: ArrayLike | None, n_classes: int, n_rows: int) -> IntArray:
    """Return the index of the weights of the true class of each row of X."""
    encoded = encode_labels(y, classes=classes, missing_label=None)
    if len(encoded.classes) != n_classes:
        raise ValueError(
            f"weights have {n_classes} rows but there are {len(encoded.classes)} classes; name "
            "the class of each row with `classes`."
        )
    if len(encoded.observed) != n_rows:
        raise ValueError(f"X has {n_rows} rows but y has {len(encoded.observed)} labels.")
    if np.any(encoded.observed == MISSING):
        raise ValueError("y must not hold missing labels (None or NaN).")
    order = np.arange(n_classes) if classes is None else np.argsort(np.asarray(classes))
    return order[encoded.observed].astype(np.intp)
