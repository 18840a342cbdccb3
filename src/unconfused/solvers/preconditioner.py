"""Coordinates in which the objective is about as steep in every direction.

Features differ in scale and go together: a step that suits one direction is too long or too short
for another, and L-BFGS has to find that out step by step. What the rows' second moment says of it
is known before the first step, for a few passes' worth of work, and leaves the optimum where it is.
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


ROUNDING = 1e-9
"""Share of a feature's square below which its variance is not to be told from 0."""


class Preconditioner(Protocol):
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
class DiagonalPreconditioner:
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
class FullPreconditioner:
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


@dataclass(frozen=True)
class CentredPreconditioner:
    """Features seen from their means, so that the intercept does not go together with any.

    Parameters
    ----------
    features : coordinates of the features' weights
    centre : the features' means
    root : of the curvature along the intercept, which is the last weight
    """

    features: Preconditioner
    centre: FloatArray
    root: float

    def to_weights(self, coordinates: FloatArray) -> FloatArray:
        """Return the weights at these coordinates."""
        weights = np.empty_like(coordinates)
        weights[:, :-1] = self.features.to_weights(coordinates[:, :-1])
        weights[:, -1] = coordinates[:, -1] / self.root - weights[:, :-1] @ self.centre
        return weights

    def to_coordinates(self, weights: FloatArray) -> FloatArray:
        """Return the coordinates of weights."""
        coordinates = np.empty_like(weights)
        coordinates[:, :-1] = self.features.to_coordinates(weights[:, :-1])
        coordinates[:, -1] = self.root * (weights[:, -1] + weights[:, :-1] @ self.centre)
        return coordinates

    def slope(self, gradient: FloatArray) -> FloatArray:
        """Return the derivative by the coordinates, given that by the weights."""
        slope = np.empty_like(gradient)
        away = gradient[:, :-1] - gradient[:, -1:] * self.centre
        slope[:, :-1] = self.features.slope(away)
        slope[:, -1] = gradient[:, -1] / self.root
        return slope


def preconditioner_of(engine: Engine, n_classes: int, l2: float) -> Preconditioner:
    """Return coordinates that suit these rows under this penalty.

    The curvature is that of weights 0, where each class has the same chance, halved: it falls as a
    fit grows sure, and the less the labels say. The labels have no part in it, so that one serves
    all fits to the same rows, whatever is left out.
    """
    total = max(float(engine.code_counts.sum()), np.finfo(np.float64).tiny)
    share = (1.0 - 1.0 / n_classes) / n_classes / 2.0
    d = engine.n_features - engine.intercept
    if d > min(max(FEW_FEATURES, FEATURES_PER_CLASS * n_classes), MOST_FEATURES):
        squares = engine.feature_squares()[:d] / total
        centre = engine.code_sums().sum(axis=0)[:d] / total if engine.intercept else np.zeros(d)
        roots = _roots(share * _variances(squares, centre) + l2)
        features: Preconditioner = DiagonalPreconditioner(roots)
    else:
        moment = engine.second_moment() / total
        centre = moment[-1, :d] if engine.intercept else np.zeros(d)
        features = _taken_apart(moment[:d, :d], centre, share, l2)
    if not engine.intercept:
        return features
    return CentredPreconditioner(features, centre, float(np.sqrt(share)))


def _taken_apart(moment: FloatArray, centre: FloatArray, share: float, l2: float) -> Preconditioner:
    variances = _variances(np.diag(moment), centre)
    roots = _roots(share * variances + l2)
    correlation = share * (moment - np.outer(centre, centre)) / np.outer(roots, roots)
    np.fill_diagonal(correlation, 1.0 + SMALLEST)
    try:
        return FullPreconditioner(cholesky(correlation) * roots)
    except (LinAlgError, ValueError):  # nearly the same features, or entries beyond all measure
        return DiagonalPreconditioner(roots)


def _variances(squares: FloatArray, centre: FloatArray) -> FloatArray:
    """Return the features' variances; of nearly constant ones rounding leaves little."""
    return np.maximum(squares - centre**2, ROUNDING * squares)


def _roots(squares: FloatArray) -> FloatArray:
    """Return square roots, and 1 for those features of which there is nothing to say."""
    return np.asarray(np.sqrt(np.where((squares > 0) & np.isfinite(squares), squares, 1.0)))
