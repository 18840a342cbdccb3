"""Coordinates in which the objective is about as steep in every direction.

Features differ in scale and go together: a step that suits one direction is too long or too short
for another, and L-BFGS has to find that out step by step. What the rows' second moment says of it
is known before the first step, costs about a pass, and does not change where the fit ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from unconfused._typing import FloatArray
from unconfused.engines.base import Engine

FEW_FEATURES = 128
FEATURES_PER_CLASS = 16
MOST_FEATURES = 1000
"""Features up to which the second moment is written out: few, or few for so many classes, and
never more than the last. Beyond, it would cost more passes than it saves; its diagonal does not."""

SMALLEST = 1e-3
"""Directions flatter than this share of their features' own are taken to be no flatter: rounding
in the gradient would be blown up along them, and a fit could not be had twice alike."""


class Metric(Protocol):
    """A change of coordinates, applied to the weights of every class, (Q, features)."""

    def to_weights(self, coordinates: FloatArray) -> FloatArray:
        """Return the weights at these coordinates."""
        ...

    def to_coordinates(self, weights: FloatArray) -> FloatArray:
        """Return the coordinates of weights."""
        ...

    def slope(self, gradient: FloatArray) -> FloatArray:
        """Return the derivative by the coordinates, given that by the weights."""
        ...


@dataclass(frozen=True)
class DiagonalMetric:
    """Every feature on a scale of its own; `roots` are of the curvature along it, (features,)."""

    roots: FloatArray

    def to_weights(self, coordinates: FloatArray) -> FloatArray:
        """Return the weights at these coordinates."""
        return np.asarray(coordinates / self.roots)

    def to_coordinates(self, weights: FloatArray) -> FloatArray:
        """Return the coordinates of weights."""
        return np.asarray(weights * self.roots)

    def slope(self, gradient: FloatArray) -> FloatArray:
        """Return the derivative by the coordinates, given that by the weights."""
        return np.asarray(gradient / self.roots)


@dataclass(frozen=True)
class FullMetric:
    """Features that go together taken apart; the curvature is ``root' root``, root triangular."""

    root: FloatArray

    def to_weights(self, coordinates: FloatArray) -> FloatArray:
        """Return the weights at these coordinates."""
        return np.ascontiguousarray(
            solve_triangular(self.root, coordinates.T, check_finite=False).T
        )

    def to_coordinates(self, weights: FloatArray) -> FloatArray:
        """Return the coordinates of weights."""
        return np.asarray(weights @ self.root.T)

    def slope(self, gradient: FloatArray) -> FloatArray:
        """Return the derivative by the coordinates, given that by the weights."""
        return np.ascontiguousarray(
            solve_triangular(self.root, gradient.T, trans="T", check_finite=False).T
        )


def metric_of(engine: Engine, n_classes: int, l2: float) -> Metric:
    """Return coordinates that suit these rows under this penalty.

    The curvature is that of weights 0, where each class has the same chance, halved: it falls as a
    fit grows sure, and the less the labels say. The labels have no part in it, so that one serves
    all fits to the same rows, whatever is left out.
    """
    total = max(float(engine.code_counts.sum()), np.finfo(np.float64).tiny)
    share = (1.0 - 1.0 / n_classes) / n_classes / 2.0 / total
    penalty = np.full(engine.n_features, l2)
    if engine.intercept:
        penalty[-1] = 0.0
    d = engine.n_features
    if d > min(max(FEW_FEATURES, FEATURES_PER_CLASS * n_classes), MOST_FEATURES):
        return DiagonalMetric(_roots(share * engine.feature_squares() + penalty))
    curvature = share * engine.second_moment()
    curvature[np.diag_indices(d)] += penalty
    roots = _roots(np.diag(curvature))
    correlation = curvature / np.outer(roots, roots)
    correlation[np.diag_indices(d)] = 1.0 + SMALLEST
    try:
        return FullMetric(cholesky(correlation) * roots)
    except LinAlgError:  # nearly the same features, and rounding
        return DiagonalMetric(roots)


def _roots(squares: FloatArray) -> FloatArray:
    """Return square roots, and 1 for those features of which there is nothing to say."""
    return np.asarray(np.sqrt(np.where(squares > 0, squares, 1.0)))
