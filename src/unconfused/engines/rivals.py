"""How far classes have moved from one another since a row was last looked at, two by two.

Two classes move in an update, and most rows are close to neither. A row therefore has a budget for
its closest rival alone, and a larger one for all others: its lead over the third class. That takes
the distances between the moves of any two classes, which are also shorter than the moves together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines.movement import ROUNDING, WINDOW, Movement

ENTRIES_PER_DISTANCE = 400
"""Stored entries of the rows for every distance kept: with fewer, keeping them takes too long."""


class RivalMovement(Movement):
    """Distances between the moves of any two classes, since each of the last times.

    Examples
    --------
    >>> import numpy as np
    >>> movement = RivalMovement(n_classes=3, n_features=2)
    >>> movement.restart()
    >>> movement.add(np.array([1.0, 1.0, 0.0]), np.array([3.0, 4.0]))
    >>> movement.bounds()[0].round(3)
    array([5., 5., 5.], dtype=float32)
    >>> movement.rival_bounds()[0].round(3)
    array([[0., 0., 5.],
           [0., 0., 5.],
           [5., 5., 0.]], dtype=float32)
    """

    @staticmethod
    def is_affordable(n_classes: int, n_entries: int) -> bool:
        """Tell whether distances cost little beside rows with so many entries."""
        return WINDOW * n_classes**2 * ENTRIES_PER_DISTANCE <= n_entries

    def __init__(self, n_classes: int, n_features: int) -> None:
        super().__init__(n_classes, n_features)
        self._void_rival = np.zeros((self.n_slots, n_classes), dtype=bool)
        self._apart: Any = np.zeros(self._squared.shape, dtype=np.float32)

    def _no_distances(self, n_classes: int) -> FloatArray:
        return np.zeros((self.n_slots, n_classes, n_classes))

    def take_slot(self) -> None:
        """Let rows be stamped with the present time."""
        super().take_slot()
        self._void_rival[self.slot] = False

    def _widen(self, steps: FloatArray, before: FloatArray, length: float) -> None:
        from unconfused.engines._movement_kernels import widen_apart

        widen_apart(self._squared, steps, before, length)

    def forget(self, classes: IntArray) -> None:
        """Let no row of these best classes, or rivals, be safe that was looked at before.

        The closest rival may have had an equal that was not counted among the others.
        """
        super().forget(classes)
        self._void_rival[:, classes] = True

    def bounds(self, allowance: float = 0.0) -> FloatArray:
        """Return how much budget a row must have left to be safe, by slot and best class."""
        from unconfused.engines._movement_kernels import bound_apart

        hidden = ROUNDING * (2.0 * self._way.max(axis=1)) ** 2
        bounds: Any = np.empty(self._way.shape, dtype=np.float32)
        bound_apart(self._squared, hidden, allowance, self._apart, bounds)
        bounds[self._void] = np.inf
        return np.asarray(bounds)

    def rival_bounds(self) -> FloatArray:
        """Return the last bounds for each rival alone, by slot, best class and rival."""
        self._apart.transpose(0, 2, 1)[self._void_rival] = np.inf
        return np.asarray(self._apart)
