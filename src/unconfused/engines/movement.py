"""How far every class's weights have moved since a row was last looked at.

A row is looked at when its region could have changed, and stamped with the time. Until the weights
of its best class b and of any rival c have together moved by more than its lead over its length,
``|x| (|dw_b| + |dw_c|) > lead``, no rival can have overtaken: the row need not be looked at.

What counts is how far the weights are from where they were then, not the length of the way: updates
go back and forth. For that the last directions are kept, and times further back are forgotten.
"""

from __future__ import annotations

import numpy as np

from unconfused._typing import FloatArray, IntArray

WINDOW = 64
"""Times of looking that can be told apart; a row is looked at once in so many updates."""

DIRECTION_BYTES = 8 * 2**20
"""The directions kept are at most so large; with many features fewer of them are."""

ROUNDING = 1e-13
"""Share of the squared length of the way that rounding may hide in a squared distance."""


class Movement:
    """Distances of all classes' weights from what they were at each of the last times.

    Time is counted in moves. A time has a slot, taken over by another one `n_slots` moves later.

    Examples
    --------
    >>> import numpy as np
    >>> movement = Movement(n_classes=3, n_features=2)
    >>> movement.restart()
    >>> movement.add(np.array([1.0, -1.0, 0.0]), np.array([3.0, 4.0]))
    >>> movement.bounds()[0].round(3)
    array([10., 10.,  5.], dtype=float32)
    """

    def __init__(self, n_classes: int, n_features: int) -> None:
        affordable = DIRECTION_BYTES // (8 * n_features)
        self.n_slots = int(np.clip(affordable, 4, WINDOW))
        self.times: IntArray = np.full(self.n_slots, -1)
        """When each slot was last taken; -1 if it never was."""

        self._directions = np.zeros((self.n_slots, n_features))
        self._steps = np.zeros((self.n_slots, n_classes))
        self._squared = self._no_distances(n_classes)
        self._way = np.zeros((self.n_slots, n_classes))
        self._void = np.zeros((self.n_slots, n_classes), dtype=bool)
        self.now = 0

    def _no_distances(self, n_classes: int) -> FloatArray:
        """Squared distances of a start, by slot first."""
        return np.zeros((self.n_slots, n_classes))

    @property
    def slot(self) -> int:
        """The slot of the present time."""
        return self.now % self.n_slots

    def restart(self) -> None:
        """Forget everything, and begin at time 0."""
        self.times.fill(-1)
        self._directions.fill(0.0)
        self._steps.fill(0.0)
        self.now = 0
        self.take_slot()

    def take_slot(self) -> None:
        """Let rows be stamped with the present time."""
        slot = self.slot
        self.times[slot] = self.now
        self._squared[slot] = self._way[slot] = 0.0
        self._void[slot] = False

    def add(self, steps: FloatArray, direction: FloatArray) -> None:
        """Let every class c move by ``steps[c] * direction``, and time pass."""
        from unconfused.engines._movement_kernels import products_before

        before = np.empty_like(self._steps)
        length = products_before(self._directions, self._steps, direction, self.slot, before)
        self._widen(steps, before, length)
        self._way += np.abs(steps) * length**0.5
        self.now += 1
        self._directions[self.slot] = direction
        self._steps[self.slot] = steps
        self._void[self.slot] = True  # the directions since its old time are no longer all there

    def _widen(self, steps: FloatArray, before: FloatArray, length: float) -> None:
        """Bring distances up to date with a step along a direction of squared length `length`.

        `before` holds the products of this direction with how far classes had moved, by slot.
        """
        self._squared += steps * (2.0 * before + steps * length)

    def forget(self, classes: IntArray) -> None:
        """Let no row of these best classes be safe that was looked at before."""
        self._void[:, classes] = True

    def bounds(self, allowance: float = 0.0) -> FloatArray:
        """Return how much budget a row must have left to be safe, by slot and best class.

        `allowance` is added for rounding. It is infinite where nothing can be said.
        """
        moved = np.sqrt(np.maximum(self._squared, 0.0) + ROUNDING * self._way**2)
        rows = np.arange(self.n_slots)
        leader = moved.argmax(axis=1)
        largest = moved[rows, leader]
        others = np.repeat(largest[:, np.newaxis], moved.shape[1], axis=1)
        moved_but_leader = moved.copy()
        moved_but_leader[rows, leader] = -1.0
        others[rows, leader] = moved_but_leader.max(axis=1)
        bounds = (moved + others) * (1.0 + 1e-6) + allowance
        bounds[self._void] = np.inf
        return np.asarray(bounds, dtype=np.float32)
