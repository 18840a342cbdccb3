"""How far every class's weights have drifted since a row was last rescored.

A row x whose best class b leads every rival c by at least `lead` keeps its class, by the
Cauchy-Schwarz bound, as long as ``|x| (|dw_b| + |dw_c|) < lead`` for all c, where dw is how far
weights have moved since the row was scored. ``lead / |x|`` is its slack.

What counts is the distance between then and now, not the length of the path: updates go back and
forth. For that the last directions are kept; rows scored longer ago are scored again.
"""

from __future__ import annotations

import numpy as np

from unconfused._typing import FloatArray, IntArray

WINDOW = 64
"""Times that are told apart: a row is rescored at least once in so many updates."""

DIRECTION_BYTES = 8 * 2**20
"""Most bytes of directions that are kept; with many features there are fewer of them."""


class WeightDrift:
    """Distances of all classes' weights from what they were at each of the last times.

    Time is counted in moves. A time has a slot, taken over by another one `n_slots` moves later.

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
        """When each slot was last taken; -1 if it never was."""

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
        self._squared[slot] = self._path[slot] = 0.0
        self._void[slot] = self.unsafe[slot] = False

    def add(self, steps: FloatArray, direction: FloatArray) -> None:
        """Let every class c move by ``steps[c] * direction``, and time pass."""
        back = (self.slot - np.arange(self.n_slots)) % self.n_slots  # the latest slot first
        moves = self._steps[back] * (self._directions @ direction)[back, np.newaxis]
        products = np.empty_like(moves)
        # With all that classes have moved since a slot's time: the slot's own move was before it.
        products[back] = moves.cumsum(axis=0) - moves
        length = float(direction @ direction)
        self._squared += steps * (2.0 * products + steps * length)
        self._path += np.abs(steps) * length**0.5
        self.now += 1
        self._directions[self.slot] = direction
        self._steps[self.slot] = steps
        self._void[self.slot] = True  # the directions since its old time are no longer all there

    def forget(self, best: int) -> None:
        """Let no row with this best class be safe that was scored before."""
        self.unsafe[:, best] = True

    def distances(self, share: float = 0.0, allowance: float = 0.0) -> FloatArray:
        """Return how far every class is from where it was, (slots, Q), and at most that.

        A share of it, and `allowance`, are added for rounding. It is infinite where nothing can be
        said.
        """
        with np.errstate(over="ignore"):  # infinite in single precision: nothing is safe
            moved = np.sqrt(np.maximum(self._squared, 0.0) + self._rounding * self._path**2)
            moved = moved * (1.0 + 1e-6 + share) + allowance
            moved[self._void] = np.inf
            return np.asarray(moved, dtype=np.float32)


def used_slack(distances: FloatArray) -> FloatArray:
    """Return the slack that a row needs to keep its class, by slot and best class, (slots, Q).

    That is the distance of its best class and the largest of any other.

    Examples
    --------
    >>> import numpy as np
    >>> used_slack(np.array([[5.0, 3.0, 0.0]]))
    array([[8., 8., 5.]])
    """
    slots, leader = np.arange(len(distances)), distances.argmax(axis=1)
    others = np.repeat(distances[slots, leader][:, np.newaxis], distances.shape[1], axis=1)
    but_leader = distances.copy()
    but_leader[slots, leader] = -1.0
    others[slots, leader] = but_leader.max(axis=1)
    return np.asarray(distances + others)
