"""Preconditioned L-BFGS.

SciPy's L-BFGS-B supports bounds and copies the weights several times per step: with 100,000 weights
that took longer than the passes over the rows. Here a step reads the stored pairs twice and the
weights a few times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from unconfused._typing import FloatArray
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
        return bool(np.max(np.abs(self.gradient)) <= tol) and self.remaining <= tol


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
    memory = _Memory(MEMORY if start.size < MANY_WEIGHTS else SHORT_MEMORY, start.size)
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
    return float(np.einsum("i,i->", one, other))


class _Memory:
    """Stored (step, gradient change) pairs and the inverse Hessian approximation they define.

    Compact form of Byrd, Nocedal and Schnabel. Inner products among pairs are derived from their
    products with successive gradients, so a direction needs two passes over the pairs.
    """

    def __init__(self, most: int, size: int) -> None:
        self._most = most
        self._steps, self._changes = np.zeros((most, size)), np.zeros((most, size))
        self.forget()

    def forget(self) -> None:
        """Drop all pairs."""
        self._order: list[int] = []
        """Indices of the stored pairs, oldest first."""

        self._latest: int | None = None
        """Index of the pair whose products with the others are still unknown."""

        self._steps_changes = np.zeros((self._most, self._most))
        self._changes_changes = np.zeros((self._most, self._most))
        self._slope = np.zeros((2, self._most))
        """Products of steps and changes with the last gradient."""

    @property
    def empty(self) -> bool:
        """Whether no pair is stored."""
        return not self._order

    def note(self, step: FloatArray, change: FloatArray) -> None:
        """Store a step from the last point and its gradient change, replacing the oldest pair."""
        curvature, square = _product(step, change), _product(change, change)
        if not curvature > CURVATURE * np.sqrt(_product(step, step) * square):
            return
        full = len(self._order) == self._most
        place = self._order.pop(0) if full else len(self._order)
        self._order.append(place)
        self._steps[place], self._changes[place] = step, change
        self._steps_changes[place, place], self._changes_changes[place, place] = curvature, square
        self._latest = place

    def direction(self, slope: FloatArray) -> FloatArray:
        """Return the search direction for this gradient."""
        if self.empty:
            return -slope
        n = len(self._order)
        products = np.zeros_like(self._slope)
        products[0, :n], products[1, :n] = self._steps[:n] @ slope, self._changes[:n] @ slope
        if self._latest is not None:
            self._fill_in(self._latest, products - self._slope)
        self._slope, self._latest = products, None
        places = np.ix_(self._order, self._order)
        by_step, by_change = products[:, self._order]
        upper = np.triu(self._steps_changes[places])
        scale = upper[-1, -1] / self._changes_changes[self._order[-1], self._order[-1]]
        inner = scale * self._changes_changes[places]
        inner[np.diag_indices(n)] += np.diag(upper)
        of_changes = solve_triangular(upper, by_step, check_finite=False)
        rest = inner @ of_changes - scale * by_change
        of_steps = solve_triangular(upper, rest, trans="T", check_finite=False)
        factors = np.zeros((2, n))
        factors[0, self._order], factors[1, self._order] = of_steps, -scale * of_changes
        found = scale * slope
        found += factors[0] @ self._steps[:n]
        found += factors[1] @ self._changes[:n]
        return np.asarray(-found)

    def _fill_in(self, latest: int, differences: FloatArray) -> None:
        """Store the products of all older pairs with the latest change."""
        older = self._order[:-1]
        self._steps_changes[older, latest] = differences[0, older]
        self._changes_changes[older, latest] = differences[1, older]
        self._changes_changes[latest, older] = differences[1, older]
