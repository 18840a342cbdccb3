"""The toy problem of Louche and Ralaivola: classes around the unit circle."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unconfused._arguments import check_count
from unconfused._arguments import random_state as make_random_state
from unconfused._typing import ArrayLike, BoolArray, FloatArray, IntArray, Seed

SMALLEST_SHARE = 0.1
"""Smallest accepted share of a class, relative to equal shares."""

MOST_PROBLEMS = 1000
"""Number of sets of weight vectors tried before the margin is declared too large."""

Label = Callable[[FloatArray, FloatArray], tuple[IntArray, BoolArray]]
"""The classes of points by weight vectors, and which points satisfy the margin."""

# Evenly spaced points on which the regions are measured.
_GRID_SIZE = 2048


def make_circle(
    n_samples: int = 1000,
    *,
    n_classes: int | None = None,
    margin: float = 0.025,
    margin_of: str = "distance",
    weights: ArrayLike | None = None,
    random_state: Seed = None,
    return_weights: bool = False,
) -> tuple[NDArray[Any], ...]:
    """Generate a linearly separable problem on the unit circle.

    Each class has a weight vector drawn uniformly from the unit circle. Points are uniform on the
    same circle and belong to the class with the highest score. Points within `margin` of a decision
    boundary are redrawn.

    Weight vectors that are close together can leave a class without any point at this margin. All
    weight vectors are then redrawn, until each class has at least a tenth of an equal share of the
    points.

    Parameters
    ----------
    n_samples : number of points
    n_classes : number of classes; by default the number of `weights`, or 10
    margin : smallest distance of a point from a decision boundary or, with ``margin_of="score"``,
        smallest difference between the best and the second-best score, for the weight vectors as
        returned (`theory.margin` scales them to Frobenius norm 1)
    margin_of : "distance" or "score". With ten classes, the default margin leaves a class without
        points in 7 % of the draws of weight vectors as a distance, in 89 % as a score
    weights : (n_classes, 2) weight vectors, for instance to draw a test set of the same problem
    random_state : seed of the weight vectors and the points
    return_weights : whether to return the weight vectors as well

    Returns
    -------
    X : (n_samples, 2), points of norm 1
    y : (n_samples,), classes from 0 to ``n_classes - 1``
    weights : (n_classes, 2), only with ``return_weights=True``

    Examples
    --------
    >>> from unconfused.datasets import make_circle
    >>> X, y, weights = make_circle(200, random_state=0, return_weights=True)
    >>> X.shape, weights.shape, bool((y == (X @ weights.T).argmax(axis=1)).all())
    ((200, 2), (10, 2), True)

    A test set of the same problem:

    >>> X_test, y_test = make_circle(500, weights=weights, random_state=1)
    """
    check_count(n_samples, "n_samples", 1)
    if n_classes is not None:
        check_count(n_classes, "n_classes", 2)
    if not np.isfinite(margin) or margin < 0:
        raise ValueError(f"margin must be a finite number, 0 or more; got {margin!r}.")
    if margin_of not in ("distance", "score"):
        raise ValueError(f"margin_of must be 'distance' or 'score'; got {margin_of!r}.")
    rng = make_random_state(random_state)
    label = partial(_label, margin=margin, is_distance=margin_of == "distance")
    if weights is None:
        vectors = _draw_weights(10 if n_classes is None else n_classes, label, rng)
    else:
        vectors = _check_weights(weights, n_classes)
    if (share := float(_kept_per_class(vectors, label).sum())) == 0:
        raise ValueError(
            f"No point satisfies margin {margin} with these weights; use a smaller one."
        )
    X, y = np.empty((0, 2)), np.empty(0, dtype=np.intp)
    while len(X) < n_samples:
        # Slightly more than the expected number, so that one round is usually enough.
        size = int(1.1 * (n_samples - len(X)) / share) + 16
        points = _on_circle(rng.uniform(0.0, 2 * np.pi, size=size))
        classes, kept = label(points, vectors)
        X, y = np.vstack([X, points[kept]]), np.concatenate([y, classes[kept]])
    X, y = X[:n_samples], y[:n_samples]
    return (X, y, vectors) if return_weights else (X, y)


def _on_circle(angles: FloatArray) -> FloatArray:
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _label(
    X: FloatArray, weights: FloatArray, margin: float, is_distance: bool
) -> tuple[IntArray, BoolArray]:
    """Return the class of every point, and a mask of the points that satisfy the margin."""
    scores, rows = X @ weights.T, np.arange(len(X))
    best = scores.argmax(axis=1)
    ahead = scores[rows, best][:, np.newaxis] - scores
    if is_distance:  # from the boundary between the class of a point and each other one
        apart = np.linalg.norm(weights[:, np.newaxis] - weights, axis=2)[best]
        np.divide(ahead, apart, out=ahead, where=apart > 0)  # equal weights: 0, on the boundary
    ahead[rows, best] = np.inf
    return best, ahead.min(axis=1) >= margin


def _kept_per_class(weights: FloatArray, label: Label) -> FloatArray:
    """Return the share of the circle that satisfies the margin, by class."""
    grid = _on_circle(np.linspace(0.0, 2 * np.pi, _GRID_SIZE, endpoint=False))
    classes, kept = label(grid, weights)
    return np.bincount(classes[kept], minlength=len(weights)) / _GRID_SIZE


def _draw_weights(n_classes: int, label: Label, rng: np.random.RandomState) -> FloatArray:
    for _ in range(MOST_PROBLEMS):
        weights = _on_circle(rng.uniform(0.0, 2 * np.pi, size=n_classes))
        kept = _kept_per_class(weights, label)
        if kept.min() > 0 and kept.min() >= SMALLEST_SHARE * kept.mean():
            return weights
    raise ValueError(
        f"None of {MOST_PROBLEMS} random problems had room for {n_classes} classes at this margin; "
        "use a smaller margin or fewer classes, or pass `weights`."
    )


def _check_weights(weights: ArrayLike, n_classes: int | None) -> FloatArray:
    vectors = np.array(weights, dtype=np.float64)
    if vectors.ndim != 2 or vectors.shape[1] != 2 or len(vectors) < 2:
        raise ValueError(
            f"weights must have two or more rows and two columns; they have shape {vectors.shape}."
        )
    if n_classes is not None and n_classes != len(vectors):
        raise ValueError(f"There are {len(vectors)} weights but n_classes is {n_classes}.")
    if not np.all(np.isfinite(vectors)):
        raise ValueError("weights must be finite.")
    return vectors
