"""Linear algebra with a symmetric matrix that is known by its products only: Krylov methods."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh_tridiagonal

from unconfused._typing import FloatArray

SOLVE_STEPS = 500

Product = Callable[[FloatArray], FloatArray]
"""Product of a symmetric matrix with the columns of (d, k)."""


def quadrature(times: Product, vectors: FloatArray, n_steps: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights, (steps, k): ``v' f(S) v`` is about ``sum(weights * f(nodes))``.

    Gauss quadrature by the Lanczos method, for every column v of `vectors`.
    """
    norms = np.linalg.norm(vectors, axis=0)
    now = vectors / np.where(norms > 0, norms, 1.0)
    before, steps = np.zeros_like(now), min(n_steps, len(now))
    diagonal, off_diagonal = np.zeros((steps, now.shape[1])), np.zeros((steps, now.shape[1]))
    for step in range(steps):
        ahead = times(now) - (off_diagonal[step - 1] * before if step else 0.0)
        diagonal[step] = np.einsum("jk,jk->k", now, ahead)
        ahead -= diagonal[step] * now
        length = np.linalg.norm(ahead, axis=0)
        # Only rounding is left: the Krylov space of these vectors is exhausted.
        done = length <= 1e-12 * np.abs(diagonal[: step + 1]).max(axis=0)
        off_diagonal[step] = np.where(done, 0.0, length)
        before, now = now, np.where(done, 0.0, ahead / np.where(done, 1.0, length))
    values, weights = np.empty_like(diagonal), np.empty_like(diagonal)
    for column, norm in enumerate(norms):
        nodes, axes = eigh_tridiagonal(diagonal[:, column], off_diagonal[:-1, column])
        values[:, column], weights[:, column] = np.maximum(nodes, 0.0), (norm * axes[0]) ** 2
    return values, weights


def conjugate_gradients(times: Product, targets: FloatArray, tolerance: float) -> FloatArray:
    """Solve for all columns of `targets`, (d, k), at the same time, by conjugate gradients."""
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
