"""Covariance of the rows, for few features and for many.

With few features the matrix is computed and diagonalized. With many it is never formed: conjugate
gradients and the Lanczos method need only its products with blocks of vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy.linalg import eigh, eigh_tridiagonal

from unconfused._typing import FloatArray
from unconfused.engines.base import Engine, Moments

WIDE = 1000
"""Number of features above which the covariance matrix is not formed."""

PROBES = 8
"""Random vectors of the stochastic trace estimate for a wide covariance."""

LANCZOS_STEPS = 40
SOLVE_STEPS = 500
SOLVE_TOLERANCE = 1e-9

FEW_LANCZOS_STEPS = 10
ROUGH_TOLERANCE = 0.1
"""Accuracy of a start. The vectors are means of noisy rows, and to stop conjugate gradients early
regularizes as a ridge does."""


@dataclass(frozen=True)
class Spectrum:
    """Spectral measures of the covariance S and of given vectors.

    The trace of f(S) is ``sum(trace * f(values))`` and the sum of ``v' f(S) v`` over the vectors is
    ``sum(vectors * f(values))``; exact, or approximated by the Lanczos method.
    """

    values: FloatArray
    trace: FloatArray
    vectors: FloatArray

    def freedom(self, ridge: float) -> float:
        """Return the degrees of freedom of a ridge regression, the trace of S / (S + ridge)."""
        return float(self.trace @ (self.values / (self.values + ridge + 1e-300)))


def covariance_of(engine: Engine, centre: FloatArray, precise: bool = True) -> Covariance:
    """Return the covariance about `centre`, in the form suited to the number of features."""
    if len(centre) <= WIDE:
        return NarrowCovariance(engine, centre)
    return WideCovariance(engine, centre, precise)


class NarrowCovariance:
    """Covariance matrix, computed in one pass over the rows and diagonalized."""

    def __init__(self, rows: Moments, centre: FloatArray) -> None:
        d = len(centre)
        moment = rows.second_moment()[:d, :d] / rows.code_counts.sum()
        values, self._axes = eigh(moment - np.outer(centre, centre), overwrite_a=True)
        self._values = np.maximum(values, 0.0)
        self.mean_variance = float(self._values.mean())

    def spectrum(self, vectors: FloatArray) -> Spectrum:
        """Return the spectral measures of S and of the vectors."""
        squares = (vectors @ self._axes) ** 2
        return Spectrum(self._values, np.ones_like(self._values), squares.sum(axis=0))

    def solve(self, vectors: FloatArray, ridge: float) -> FloatArray:
        """Return ``(S + ridge I)^-1`` times each of the vectors."""
        values = self._values + ridge
        # Directions without variance are ignored (pseudo-inverse).
        void = values <= len(values) * np.finfo(np.float64).eps * values.max()
        scale = np.where(void, 0.0, 1 / np.where(void, 1.0, values))
        return np.asarray((vectors @ self._axes * scale) @ self._axes.T)

    def root(self, ridge: float) -> tuple[FloatArray, FloatArray]:
        """Return L with ``L L' = (S + ridge I)^-1``, and the inverse of L."""
        roots = np.sqrt(self._values + ridge)
        return self._axes / roots, (self._axes * roots).T


class DiagonalCovariance:
    """Variances of the features alone, where the matrix would be too large to keep."""

    def __init__(self, rows: Moments, centre: FloatArray) -> None:
        squares = rows.feature_squares()[: len(centre)] / rows.code_counts.sum()
        self._values = np.maximum(squares - centre**2, 0.0)
        self.mean_variance = float(self._values.mean())

    def spectrum(self, vectors: FloatArray) -> Spectrum:
        """Return the spectral measures of S and of the vectors."""
        return Spectrum(self._values, np.ones_like(self._values), (vectors**2).sum(axis=0))

    def solve(self, vectors: FloatArray, ridge: float) -> FloatArray:
        """Return ``(S + ridge I)^-1`` times each of the vectors."""
        return np.asarray(vectors / (self._values + ridge))


class WideCovariance:
    """Covariance as an operator: each product is a pass over the rows."""

    def __init__(self, engine: Engine, centre: FloatArray, precise: bool = True) -> None:
        self._engine, self._centre = engine, centre
        self._n_steps = LANCZOS_STEPS if precise else FEW_LANCZOS_STEPS
        self._tolerance = SOLVE_TOLERANCE if precise else ROUGH_TOLERANCE
        self._total = float(engine.code_counts.sum())
        squares = engine.code_squares.sum() / self._total - engine.intercept
        self.mean_variance = float(squares - centre @ centre) / len(centre)

    def _times(self, vectors: FloatArray) -> FloatArray:
        """Return S times the columns of `vectors`, (d, k)."""
        d, k = vectors.shape
        padded = vectors
        if self._engine.n_features > d:
            padded = np.vstack([vectors, np.zeros((1, k))])
        product = self._engine.second_moment_product(padded)[:d] / self._total
        product -= np.outer(self._centre, self._centre @ vectors)
        return product

    @cached_property
    def _trace(self) -> tuple[FloatArray, FloatArray]:
        """Nodes and weights of the trace, from random vectors."""
        # Fixed seed: repeated fits must agree.
        shape = len(self._centre), PROBES
        probes = np.random.default_rng(0).choice([-1.0, 1.0], size=shape)
        values, shares = quadrature(self._times, probes, self._n_steps)
        return values.ravel(), shares.ravel() / PROBES

    def spectrum(self, vectors: FloatArray) -> Spectrum:
        """Return the spectral measures of S and of the vectors, by the Lanczos method."""
        values, shares = quadrature(self._times, vectors.T, self._n_steps)
        nodes, trace = self._trace
        return Spectrum(
            np.append(nodes, values),
            np.append(trace, np.zeros(values.size)),
            np.append(np.zeros(nodes.size), shares),
        )

    def solve(self, vectors: FloatArray, ridge: float) -> FloatArray:
        """Return ``(S + ridge I)^-1`` times each of the vectors, by conjugate gradients."""
        return conjugate_gradients(
            lambda v: self._times(v) + ridge * v, vectors.T, self._tolerance
        ).T


Covariance: TypeAlias = NarrowCovariance | DiagonalCovariance | WideCovariance
"""Covariance S of the features, without the intercept."""

Product = Callable[[FloatArray], FloatArray]
"""Product of a symmetric matrix with the columns of (d, k)."""


def quadrature(times: Product, vectors: FloatArray, n_steps: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights, (steps, k): ``v' f(S) v`` is about ``sum(weights * f(nodes))``."""
    norms = np.linalg.norm(vectors, axis=0)
    now = vectors / np.where(norms > 0, norms, 1.0)
    before, steps = np.zeros_like(now), min(n_steps, len(now))
    diagonal, beside = np.zeros((steps, now.shape[1])), np.zeros((steps, now.shape[1]))
    for step in range(steps):
        ahead = times(now) - (beside[step - 1] * before if step else 0.0)
        diagonal[step] = np.einsum("jk,jk->k", now, ahead)
        ahead -= diagonal[step] * now
        length = np.linalg.norm(ahead, axis=0)
        # Only rounding is left: the Krylov space of these vectors is exhausted.
        done = length <= 1e-12 * np.abs(diagonal[: step + 1]).max(axis=0)
        beside[step] = np.where(done, 0.0, length)
        before, now = now, np.where(done, 0.0, ahead / np.where(done, 1.0, length))
    values, weights = np.empty_like(diagonal), np.empty_like(diagonal)
    for column, norm in enumerate(norms):
        nodes, axes = eigh_tridiagonal(diagonal[:, column], beside[:-1, column])
        values[:, column], weights[:, column] = np.maximum(nodes, 0.0), (norm * axes[0]) ** 2
    return values, weights


def conjugate_gradients(times: Product, targets: FloatArray, tolerance: float) -> FloatArray:
    """Solve for all columns of `targets`, (d, k), at the same time."""
    found, rest = np.zeros(targets.shape), np.array(targets, dtype=np.float64)
    direction = rest.copy()
    squares = np.einsum("jk,jk->k", rest, rest)
    goal = tolerance**2 * squares
    for _ in range(SOLVE_STEPS):
        open_ = squares > goal
        if not open_.any():
            break
        product = times(direction)
        curvature = np.einsum("jk,jk->k", direction, product)
        open_ &= curvature > 0
        step = np.where(open_, squares / np.where(open_, curvature, 1.0), 0.0)
        found += step * direction
        rest -= step * product
        last, squares = squares, np.einsum("jk,jk->k", rest, rest)
        direction *= np.where(open_, squares / np.where(open_, last, 1.0), 0.0)
        direction += np.where(open_, rest, 0.0)
    return found
