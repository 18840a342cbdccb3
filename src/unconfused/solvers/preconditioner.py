"""Preconditioners of the likelihood, from the second moment of the rows.

Features differ in scale and are correlated, which L-BFGS would have to learn step by step. A change
of coordinates by the curvature at zero weights costs a few passes over the rows, and does not
change the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.lapack import dtrtrs

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


@dataclass(frozen=True)
class Preconditioner:
    """Linear change of coordinates of the weights of every class, (Q, features).

    The features are centred, which decouples them from the intercept.

    Parameters
    ----------
    root : square root of the curvature of the features: their scales, (d,), or an upper triangular
        matrix R with the curvature R'R, (d, d)
    centre : (d,), means of the features; None without an intercept
    intercept_root : square root of the curvature of the intercept, the last weight
    """

    root: FloatArray
    centre: FloatArray | None = None
    intercept_root: float = 1.0

    def to_weights(self, coordinates: FloatArray) -> FloatArray:
        """Return the weights at these coordinates."""
        weights, d = np.empty_like(coordinates), len(self.root)
        weights[:, :d] = self._divided(coordinates[:, :d], 0)
        if self.centre is not None:
            intercepts = coordinates[:, d] / self.intercept_root
            weights[:, d] = intercepts - weights[:, :d] @ self.centre
        return weights

    def to_coordinates(self, weights: FloatArray) -> FloatArray:
        """Return the coordinates of weights."""
        coordinates, d = np.empty_like(weights), len(self.root)
        scaled = weights[:, :d] * self.root if self.root.ndim == 1 else weights[:, :d] @ self.root.T
        coordinates[:, :d] = scaled
        if self.centre is not None:
            centred = weights[:, d] + weights[:, :d] @ self.centre
            coordinates[:, d] = self.intercept_root * centred
        return coordinates

    def slope(self, gradient: FloatArray) -> FloatArray:
        """Return the gradient with respect to the coordinates, given that by the weights."""
        slope, d = np.empty_like(gradient), len(self.root)
        by_features = gradient[:, :d]
        if self.centre is not None:
            by_features = by_features - gradient[:, d:] * self.centre
            slope[:, d] = gradient[:, d] / self.intercept_root
        slope[:, :d] = self._divided(by_features, 1)
        return slope

    def _divided(self, values: FloatArray, trans: int) -> FloatArray:
        if self.root.ndim == 1:
            return np.asarray(values / self.root)
        # LAPACK itself: the checks of `solve_triangular` take longer than solving.
        return np.asarray(dtrtrs(self.root, values.T, trans=trans)[0].T)


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
        root = _roots(share * _variances(squares, centre) + l2)
    else:
        moment = engine.second_moment() / total
        centre = moment[-1, :d] if engine.intercept else np.zeros(d)
        root = _full_root(moment[:d, :d], centre, share, l2)
    if not engine.intercept:
        return Preconditioner(root)
    return Preconditioner(root, centre, float(np.sqrt(share)))


def _full_root(moment: FloatArray, centre: FloatArray, share: float, l2: float) -> FloatArray:
    variances = _variances(np.diag(moment), centre)
    roots = _roots(share * variances + l2)
    correlation = share * (moment - np.outer(centre, centre)) / np.outer(roots, roots)
    np.fill_diagonal(correlation, 1.0 + SMALLEST)
    try:
        return np.asarray(cholesky(correlation) * roots)
    except (LinAlgError, ValueError):  # collinear features or overflow
        return roots


def _variances(squares: FloatArray, centre: FloatArray) -> FloatArray:
    """Return the variances of the features, at least what rounding can resolve."""
    return np.maximum(squares - centre**2, ROUNDING * squares)


def _roots(squares: FloatArray) -> FloatArray:
    """Return square roots; 1 for features without (finite) curvature."""
    return np.asarray(np.sqrt(np.where((squares > 0) & np.isfinite(squares), squares, 1.0)))
