"""Steps downhill: L-BFGS in coordinates that suit the problem, stopped by the gradient itself.

SciPy's L-BFGS-B also minds bounds, and copies and compares the weights as it goes: with a hundred
thousand weights that took longer than the passes over the rows. Here a step reads what is
remembered twice, and the weights a few times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from unconfused._typing import FloatArray
from unconfused.solvers.preconditioner import Preconditioner

MEMORY, SHORT_MEMORY = 20, 8
"""Steps that are remembered. The more, the fewer steps; but each step costs as many passes over
the weights, and with many weights and few rows these take most of the time."""

MANY_WEIGHTS = 30_000
"""From here on the memory is short."""

ENOUGH_GAIN, ENOUGH_FLATTER = 1e-4, 0.9
"""A step must gain this share of what the slope promises, and leave no more than this of it."""

MOST_TRIES, MOST_VAIN = 30, 6
"""Lengths tried for a step, and lengths in vain that change next to nothing: rounding decides."""

NEXT_TO_NOTHING = 1e-7
"""As a share of the value; that of single precision."""

NEGLIGIBLE = 1e-6
"""What may be left to gain, as a share of the value, where rounding ends a descent."""

ROUNDING = 1e-15
"""What differs by no more than this share is the same."""

CURVATURE = 1e-10
"""A step is remembered if the slope changed along it by this share of what it could."""

Measure = Callable[[FloatArray], tuple[float, FloatArray]]
"""Value and gradient at weights, (Q, features)."""

AfterStep = Callable[[FloatArray, float], None]
"""Told the weights and the value after every step."""


@dataclass(frozen=True)
class _Point:
    """A place, as coordinates and as weights, and what was measured there."""

    at: FloatArray
    weights: FloatArray
    value: float
    gradient: FloatArray
    """By the weights."""

    slope: FloatArray
    """By the coordinates."""

    @property
    def to_gain(self) -> float:
        """What is left to gain, about: coordinates are such that the objective is a round bowl."""
        if not np.isfinite(self.value):
            return np.inf
        return 0.5 * _product(self.slope, self.slope) / max(abs(self.value), 1.0)

    def at_rest(self, tol: float) -> bool:
        return bool(np.max(np.abs(self.gradient)) <= tol) and self.to_gain <= tol


def descend(
    measure: Measure,
    start: FloatArray,
    metric: Preconditioner,
    max_steps: int,
    tol: float,
    after_step: AfterStep,
) -> bool:
    """Minimise from `start` on; return whether the end was reached.

    That is where no derivative by a weight exceeds `tol`, nor what is left to gain (as a share of
    the value, if that is above 1); or where rounding does not let a step gain more, if little is
    left to gain. It is not reached where steps or numbers ran out before.
    """

    def look(at: FloatArray) -> _Point:
        weights = metric.to_weights(at.reshape(start.shape))
        value, gradient = measure(weights)
        return _Point(at, weights, value, gradient, metric.slope(gradient).ravel())

    value, gradient = measure(start)
    at = metric.to_coordinates(start).ravel()
    point = _Point(at, start, value, gradient, metric.slope(gradient).ravel())
    memory = _Memory(MEMORY if start.size < MANY_WEIGHTS else SHORT_MEMORY, start.size)
    for _ in range(max_steps):
        if point.at_rest(tol):
            return True
        ahead = _step(look, point, memory.direction(point.slope), first=memory.empty)
        if ahead is None and not memory.empty:
            memory.forget()  # what was remembered misleads: once more along the slope itself
            ahead = _step(look, point, -point.slope, first=True)
        if ahead is None:
            return point.to_gain <= NEGLIGIBLE
        memory.note(ahead.at - point.at, ahead.slope - point.slope)
        gain, point = point.value - ahead.value, ahead
        after_step(point.weights, point.value)
        if gain <= ROUNDING * max(abs(point.value), 1.0):
            return point.to_gain <= NEGLIGIBLE
    return point.at_rest(tol)


def _step(
    look: Callable[[FloatArray], _Point], here: _Point, direction: FloatArray, *, first: bool
) -> _Point | None:
    """Go far enough along a direction, but not too far; None where nothing is gained.

    Lengths are halved between one that is too long and one too short, and doubled until one is too
    long (weak Wolfe conditions).
    """
    downhill = _product(here.slope, direction)
    if not downhill < 0:
        return None
    # Of the first step nothing is known but that the coordinates suit the problem.
    length = min(1.0, 1.0 / np.sqrt(_product(direction, direction))) if first else 1.0
    size = max(abs(here.value), 1.0)
    short, long, best, vain = 0.0, np.inf, None, 0
    for _ in range(MOST_TRIES):
        if -length * downhill <= ROUNDING * size or vain == MOST_VAIN:
            break
        there = look(here.at + length * direction)
        if not there.value <= here.value + ENOUGH_GAIN * length * downhill:
            long = length
            vain += abs(there.value - here.value) <= NEXT_TO_NOTHING * size
        else:
            best = there
            if _product(there.slope, direction) >= ENOUGH_FLATTER * downhill:
                return there
            short = length
        length = 2.0 * length if np.isinf(long) else (short + long) / 2.0
    return best


def _product(one: FloatArray, other: FloatArray) -> float:
    """Return the inner product on one thread: BLAS would wake up many, and wait for them."""
    return float(np.einsum("i,i->", one, other))


class _Memory:
    """The last steps and how the slope changed along them: the inverse Hessian they stand for.

    In the compact form of Byrd, Nocedal and Schnabel. The products of steps and changes follow from
    their products with one slope and the next, so that a direction needs two readings of all that
    is remembered.
    """

    def __init__(self, most: int, size: int) -> None:
        self._most = most
        self._steps, self._changes = np.zeros((most, size)), np.zeros((most, size))
        self.forget()

    def forget(self) -> None:
        """Forget all steps."""
        self._order: list[int] = []
        """Places of what is remembered, the oldest first."""

        self._latest: int | None = None
        """Place of a step whose products with the others are not known yet."""

        self._steps_changes = np.zeros((self._most, self._most))
        self._changes_changes = np.zeros((self._most, self._most))
        self._slope = np.zeros((2, self._most))
        """Products of steps and of changes with the slope that was asked about last."""

    @property
    def empty(self) -> bool:
        """Whether no step is remembered."""
        return not self._order

    def note(self, step: FloatArray, change: FloatArray) -> None:
        """Remember a step from the point last asked about, in the place of the oldest."""
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
        """Return where to go from a point with this slope."""
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
        """Note the products of everything older with the latest change."""
        older = self._order[:-1]
        self._steps_changes[older, latest] = differences[0, older]
        self._changes_changes[older, latest] = differences[1, older]
        self._changes_changes[latest, older] = differences[1, older]
