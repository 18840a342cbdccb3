"""Classes whose weights are equal, to the last bit.

At the start they all are, and after a few updates most still are: the first row of equals in the
order of classes wins every tie, so the others need no scores. And as long as equals move together,
or not at all, a row whose best class has equals stays where it is.
"""

from __future__ import annotations

import numpy as np

from unconfused._typing import BoolArray, FloatArray, IntArray


class Twins:
    """Groups of classes with equal weights.

    Examples
    --------
    >>> import numpy as np
    >>> twins = Twins(4)
    >>> twins.restart(np.array([[0.0], [1.0], [0.0], [0.0]]))
    >>> twins.lowest, twins.has_twin
    (array([0, 1]), array([ True, False,  True,  True]))
    >>> parted, promoted = twins.move(np.array([0.5, -0.5, 0.0, 0.0]))
    >>> parted, promoted, twins.lowest
    (array([0, 2, 3]), array([2]), array([0, 1, 2]))
    """

    def __init__(self, n_classes: int) -> None:
        self._group: list[int] = [0] * n_classes
        self.lowest: IntArray = np.zeros(1, dtype=np.intp)
        """The lowest class of every group."""

        self.has_twin: BoolArray = np.ones(n_classes, dtype=bool)

    def restart(self, weights: FloatArray) -> None:
        """Find the groups of these weights, (Q, features)."""
        # + 0.0 makes -0.0 what it equals.
        self._group = _numbered([(own + 0.0).tobytes() for own in weights])
        self._describe()

    def move(self, steps: FloatArray) -> tuple[IntArray, IntArray]:
        """Let every class move by its step along one direction.

        Returns the classes whose groups broke up, and those that became the lowest of theirs.
        """
        if not self.has_twin.any():  # equal weights do not come about by steps
            nothing = np.zeros(0, dtype=np.intp)
            return nothing, nothing
        before, lowest = self._group, set(self.lowest.tolist())
        self._group = _numbered(list(zip(before, steps.tolist(), strict=True)))
        self._describe()
        fates: dict[int, set[int]] = {}
        for old, new in zip(before, self._group, strict=True):
            fates.setdefault(old, set()).add(new)
        parted = [c for c, old in enumerate(before) if len(fates[old]) > 1]
        promoted = [c for c in self.lowest.tolist() if c not in lowest]
        return np.array(parted, dtype=np.intp), np.array(promoted, dtype=np.intp)

    def _describe(self) -> None:
        self.lowest, counts = np.unique(self._group, return_index=True, return_counts=True)[1:]
        self.has_twin = (counts > 1)[self._group]


def _numbered(keys: list[bytes] | list[tuple[int, float]]) -> list[int]:
    """Give keys numbers in the order of their first appearance."""
    numbers: dict[object, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]
