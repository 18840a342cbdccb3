"""The row-skipping bound: how far the weights have drifted since a row was last scored.

If the best class b of a row x led every other class c by at least `lead` when x was scored, then
by Cauchy-Schwarz b is still best while ``|x| (|dw_b| + |dw_c|) < lead`` for all c, where dw is the
change of the weights since. ``lead / |x|`` is the slack of the row.

dw is a distance, not the length of a path: updates go back and forth. The most recent update
directions are kept to compute it; rows scored before them are scored again.
"""

from __future__ import annotations

import numpy as np

from unconfused._typing import FloatArray, IntArray

WINDOW = 64
"""Largest number of past updates tracked; a row scored before them is rescored."""

DIRECTION_BYTES = 8 * 2**20
"""Memory for past directions; with many features, fewer are tracked."""


class WeightDrift:
    """Distance of every class's weights from their values at each of the last updates.

    Time is counted in updates and stored in slots, each reused after `n_slots` updates.

    Examples
    --------
    >>> import numpy as np
    >>> drift = WeightDrift(n_classes=3, n_features=2)
    >>> drift.restart()
    >>> drift.add(np.array([1.0, -1.0, 0.0]), np.array([3.0, 4.0]))
    >>> drift.distances()[0].round(3)
    array([5., 5., 0.], dtype=float32)
    """

    def __init__(self, n_classes: int, n_features: int) -> None:
        affordable = DIRECTION_BYTES // (8 * n_features)
        self.n_slots = int(np.clip(affordable, 4, WINDOW))
        self.times: IntArray = np.full(self.n_slots, -1)
        """Time stored in each slot; -1 if unused."""

        self._directions = np.zeros((self.n_slots, n_features))
        self._steps = np.zeros((self.n_slots, n_classes))
        self._squared = np.zeros((self.n_slots, n_classes))
        self._path = np.zeros((self.n_slots, n_classes))
        self._rounding = (n_features + 4 * self.n_slots) * np.finfo(np.float64).eps
        """Share of a path's squared length that rounding may hide in a squared distance."""

        self._void = np.zeros(self.n_slots, dtype=bool)
        self.unsafe = np.zeros((self.n_slots, n_classes), dtype=bool)
        """Slots and best classes of rows that are not safe, whatever their slack."""

        self.now = 0

    @property
    def slot(self) -> int:
        """Slot of the current time."""
        return self.now % self.n_slots

    def restart(self) -> None:
        """Reset to time 0."""
        self.times.fill(-1)
        self._directions.fill(0.0)
        self._steps.fill(0.0)
        self.now = 0
        self.take_slot()

    def take_slot(self) -> None:
        """Open the slot of the current time, so that rows can be stamped with it."""
        slot = self.slot
        self.times[slot] = self.now
        self._squared[slot] = self._path[slot] = 0.0
        self._void[slot] = self.unsafe[slot] = False

    def add(self, steps: FloatArray, direction: FloatArray) -> None:
        """Record an update of every class c by ``steps[c] * direction``; advance the time."""
        back = (self.slot - np.arange(self.n_slots)) % self.n_slots  # most recent slot first
        moves = self._steps[back] * (self._directions @ direction)[back, np.newaxis]
        products = np.empty_like(moves)
        # Inner products with the displacement since each slot's time, which excludes its own move.
        products[back] = moves.cumsum(axis=0) - moves
        length = float(direction @ direction)
        self._squared += steps * (2.0 * products + steps * length)
        self._path += np.abs(steps) * length**0.5
        self.now += 1
        self._directions[self.slot] = direction
        self._steps[self.slot] = steps
        self._void[self.slot] = True  # some direction since its old time was overwritten

    def forget(self, best: int) -> None:
        """Make every row with this best class, scored up to now, be rescored."""
        self.unsafe[:, best] = True

    def distances(self, share: float = 0.0, allowance: float = 0.0) -> FloatArray:
        """Return an upper bound on the distance of every class since every slot, (slots, Q).

        A share of it, and `allowance`, are added for rounding. Unknown distances are infinite.
        """
        with np.errstate(over="ignore"):  # infinite in single precision: nothing is safe
            moved = np.sqrt(np.maximum(self._squared, 0.0) + self._rounding * self._path**2)
            moved = moved * (1.0 + 1e-6 + share) + allowance
            moved[self._void] = np.inf
            return np.asarray(moved, dtype=np.float32)


def used_slack(distances: FloatArray) -> FloatArray:
    """Return the slack used up since each slot, by best class, (slots, Q).

    It is the distance of the best class plus the largest distance of any other class.

    Examples
    --------
    >>> import numpy as np
    >>> used_slack(np.array([[5.0, 3.0, 0.0]]))
    array([[8., 8., 5.]])
    """
    second, first = np.partition(distances, -2, axis=1)[:, -2:, np.newaxis].swapaxes(0, 1)
    return np.asarray(distances + np.where(distances == first, second, first))
