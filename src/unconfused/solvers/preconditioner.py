"""Preconditioners of the likelihood, from the second moment of the rows.

Features differ in scale and are correlated, which L-BFGS would have to learn step by step. A change
of coordinates by the curvature at zero weights costs a few passes over the rows, and does not
change the optimum.
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
"""The full second moment is used for up to `FEW_FEATURES` or `FEATURES_PER_CLASS` times Q features,
but never more than `MOST_FEATURES`. Beyond, it costs more passes than it saves, and the diagonal is
used."""

SMALLEST = 1e-3
"""Ridge on the correlation matrix: it bounds the amplification of rounding errors in the gradient,
so that fits are reproducible."""


ROUNDING = 1e-9
"""Smallest variance of a feature relative to its mean square: below, it is rounding error."""


class Preconditioner(Protocol):
    """Linear change of coordinates of the weights of every class, (Q, features)."""

    def to_weights(self, coordinates: FloatArray) -> FloatArray:
        """Return the weights at these coordinates."""
        ...

    def to_coordinates(self, weights: FloatArray) -> FloatArray:
        """Return the coordinates of weights."""
        ...

    def slope(self, gradient: FloatArray) -> FloatArray:
        """Return the gradient with respect to the coordinates, given that by the weights."""
        ...


@dataclass(frozen=True)
class DiagonalPreconditioner:
    """Diagonal scaling; `roots` are square roots of the curvature per feature, (features,)."""

    roots: FloatArray

    def to_weights(self, coordinates: FloatArray) -> FloatArray:
        """Return the weights at these coordinates."""
        return np.asarray(coordinates / self.roots)

    def to_coordinates(self, weights: FloatArray) -> FloatArray:
        """Return the coordinates of weights."""
        return np.asarray(weights * self.roots)

    def slope(self, gradient: FloatArray) -> FloatArray:
        """Return the gradient with respect to the coordinates, given that by the weights."""
        return np.asarray(gradient / self.roots)


@dataclass(frozen=True)
class FullPreconditioner:
    """Full preconditioner; the curvature is ``root' root`` with an upper triangular root."""

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
        """Return the gradient with respect to the coordinates, given that by the weights."""
        return np.ascontiguousarray(
            solve_triangular(self.root, gradient.T, trans="T", check_finite=False).T
        )


@dataclass(frozen=True)
class CentredPreconditioner:
    """Preconditioner on centred features, which decouples them from the intercept.

    Parameters
    ----------
    features : preconditioner of the other weights
    centre : means of the features
    root : square root of the curvature of the intercept, the last weight
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
        """Return the gradient with respect to the coordinates, given that by the weights."""
        slope = np.empty_like(gradient)
        away = gradient[:, :-1] - gradient[:, -1:] * self.centre
        slope[:, :-1] = self.features.slope(away)
        slope[:, -1] = gradient[:, -1] / self.root
        return slope


def preconditioner_of(engine: Engine, n_classes: int, l2: float) -> Preconditioner:
    """Return a preconditioner for these rows and this penalty.

    It uses half of the curvature at zero weights: the curvature falls as a model becomes confident
    and as labels become noisier. It does not depend on the labels, so it can be shared by all fits
    to the same rows.
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
        features = _full_or_diagonal(moment[:d, :d], centre, share, l2)
    if not engine.intercept:
        return features
    return CentredPreconditioner(features, centre, float(np.sqrt(share)))


def _full_or_diagonal(
    moment: FloatArray, centre: FloatArray, share: float, l2: float
) -> Preconditioner:
    variances = _variances(np.diag(moment), centre)
    roots = _roots(share * variances + l2)
    correlation = share * (moment - np.outer(centre, centre)) / np.outer(roots, roots)
    np.fill_diagonal(correlation, 1.0 + SMALLEST)
    try:
        return FullPreconditioner(cholesky(correlation) * roots)
    except (LinAlgError, ValueError):  # collinear features or overflow
        return DiagonalPreconditioner(roots)


def _variances(squares: FloatArray, centre: FloatArray) -> FloatArray:
    """Return the variances of the features, at least what rounding can resolve."""
    return np.maximum(squares - centre**2, ROUNDING * squares)


def _roots(squares: FloatArray) -> FloatArray:
    """Return square roots; 1 for features without (finite) curvature."""
    return np.asarray(np.sqrt(np.where((squares > 0) & np.isfinite(squares), squares, 1.0)))
