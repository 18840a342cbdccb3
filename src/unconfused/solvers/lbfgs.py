"""Preconditioned L-BFGS.

SciPy's L-BFGS-B supports bounds and copies the weights several times per step: with 100,000 weights
that took longer than the passes over the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.blas import daxpy, ddot

from unconfused._typing import FloatArray

if TYPE_CHECKING:
    from unconfused.solvers.preconditioner import Preconditioner

MEMORY, SHORT_MEMORY = 20, 8
"""Number of stored (step, gradient change) pairs. More pairs save steps, but each costs two passes
over the weights per step, which dominate with many weights and few rows."""

MANY_WEIGHTS = 30_000
"""Number of weights from which `SHORT_MEMORY` is used."""

ARMIJO, WOLFE = 1e-4, 0.9
"""Constants of the sufficient decrease and curvature conditions (weak Wolfe conditions)."""

MAX_TRIES, MAX_FAILED = 30, 6
"""Step lengths tried, and failed ones without a change beyond rounding, before giving up."""

NO_CHANGE = 1e-7
"""Relative change of the value that single precision cannot resolve."""

NEGLIGIBLE = 1e-6
"""Estimated remaining decrease, relative to the value, below which stopping by rounding counts as
convergence."""

ROUNDING = 1e-15
"""Relative difference below which two values are equal."""

ONE_THREAD = 10_000
"""Longest vectors that the inner product of every BLAS takes on one thread."""

CURVATURE = 1e-10
"""A pair is stored if the cosine between step and gradient change exceeds this."""

Measure = Callable[[FloatArray], tuple[float, FloatArray]]
"""Value and gradient at weights, (Q, features)."""

AfterStep = Callable[[FloatArray, float], None]
"""Callback with the weights and the value after every step."""


@dataclass(frozen=True)
class _Point:
    """A point in preconditioned coordinates, with weights, value and gradients."""

    at: FloatArray
    weights: FloatArray
    value: float
    gradient: FloatArray
    """With respect to the weights."""

    slope: FloatArray
    """Gradient with respect to the coordinates."""

    @property
    def remaining(self) -> float:
        """Estimated remaining decrease, as if the Hessian were the identity in coordinates."""
        if not np.isfinite(self.value):
            return np.inf
        return 0.5 * _product(self.slope, self.slope) / max(abs(self.value), 1.0)

    def converged(self, tol: float) -> bool:
        return self.remaining <= tol and bool(np.max(np.abs(self.gradient)) <= tol)


def descend(
    measure: Measure,
    start: FloatArray,
    preconditioner: Preconditioner,
    max_steps: int,
    tol: float,
    after_step: AfterStep,
) -> bool:
    """Minimize from `start`; return whether it converged.

    Converged means that neither the largest gradient entry nor the estimated remaining decrease
    (relative to the value, if that is above 1) exceeds `tol`, or that rounding prevents further
    progress and the remaining decrease is negligible.
    """

    def evaluate(at: FloatArray) -> _Point:
        weights = preconditioner.to_weights(at.reshape(start.shape))
        value, gradient = measure(weights)
        return _Point(at, weights, value, gradient, preconditioner.slope(gradient).ravel())

    value, gradient = measure(start)
    at = preconditioner.to_coordinates(start).ravel()
    point = _Point(at, start, value, gradient, preconditioner.slope(gradient).ravel())
    memory = _Memory(MEMORY if start.size < MANY_WEIGHTS else SHORT_MEMORY)
    for _ in range(max_steps):
        if point.converged(tol):
            return True
        ahead = _step(evaluate, point, memory.direction(point.slope), first=memory.empty)
        if ahead is None and not memory.empty:
            memory.forget()  # the stored pairs mislead: retry with steepest descent
            ahead = _step(evaluate, point, -point.slope, first=True)
        if ahead is None:
            return point.remaining <= NEGLIGIBLE
        memory.note(ahead.at - point.at, ahead.slope - point.slope)
        gain, point = point.value - ahead.value, ahead
        after_step(point.weights, point.value)
        if gain <= ROUNDING * max(abs(point.value), 1.0):
            return point.remaining <= NEGLIGIBLE
    return point.converged(tol)


def _step(
    evaluate: Callable[[FloatArray], _Point], here: _Point, direction: FloatArray, *, first: bool
) -> _Point | None:
    """Line search by bisection and doubling under the weak Wolfe conditions; None if it fails."""
    downhill = _product(here.slope, direction)
    if not downhill < 0:
        return None
    # Without curvature information, the first step has length 1 in coordinates at most.
    length = min(1.0, 1.0 / np.sqrt(_product(direction, direction))) if first else 1.0
    size = max(abs(here.value), 1.0)
    short, long, best, failed = 0.0, np.inf, None, 0
    for _ in range(MAX_TRIES):
        if -length * downhill <= ROUNDING * size or failed == MAX_FAILED:
            break
        there = evaluate(here.at + length * direction)
        if not there.value <= here.value + ARMIJO * length * downhill:
            long = length
            failed += abs(there.value - here.value) <= NO_CHANGE * size
        else:
            best = there
            if _product(there.slope, direction) >= WOLFE * downhill:
                return there
            short = length
        length = 2.0 * length if np.isinf(long) else (short + long) / 2.0
    return best


def _product(one: FloatArray, other: FloatArray) -> float:
    """Return the inner product on one thread: waking the threads of BLAS would cost more."""
    if one.size <= ONE_THREAD:  # a tenth of the time of einsum, most of which is overhead
        return float(ddot(one, other))
    return float(np.einsum("i,i->", one, other))


class _Memory:
    """Stored (step, gradient change) pairs and the inverse Hessian approximation they define."""

    def __init__(self, most: int) -> None:
        self._most, self._scale = most, 1.0
        self._pairs: list[tuple[FloatArray, FloatArray, float]] = []

    def forget(self) -> None:
        """Drop all pairs."""
        self._scale, self._pairs = 1.0, []

    @property
    def empty(self) -> bool:
        """Whether no pair is stored."""
        return not self._pairs

    def note(self, step: FloatArray, change: FloatArray) -> None:
        """Store a step from the last point and its gradient change, replacing the oldest pair."""
        curvature, square = _product(step, change), _product(change, change)
        if curvature > CURVATURE * np.sqrt(_product(step, step) * square):
            self._scale = curvature / square
            self._pairs = [*self._pairs[-self._most + 1 :], (step, change, curvature)]

    def direction(self, slope: FloatArray) -> FloatArray:
        """Return the search direction for this gradient: the two-loop recursion."""
        found, factors = -slope, []
        for step, change, curvature in reversed(self._pairs):
            factors.append(_product(step, found) / curvature)
            daxpy(change, found, a=-factors[-1])
        found *= self._scale
        for (step, change, curvature), factor in zip(self._pairs, reversed(factors), strict=True):
            daxpy(step, found, a=factor - _product(change, found) / curvature)
        return found
