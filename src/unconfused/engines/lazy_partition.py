"""A cut of rows in memory whose norms are known nearly, and exactly where it matters.

Vectors are as long as when they were last measured, give or take the rows that moved since; nor
longer than all rows of their region would be, one behind the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray, IntArray
from unconfused.engines.late_sums import LateSums
from unconfused.engines.partition import LocalPartition
from unconfused.engines.products import KeptProducts

if TYPE_CHECKING:
    from unconfused.engines.local import LocalEngine


class LazyPartition(LocalPartition):
    """A local partition whose norms are bounded by what moved, and by what there is."""

    def __init__(self, engine: LocalEngine, unmixing: Unmixing, alpha: float) -> None:
        super().__init__(engine, unmixing, alpha)
        assert isinstance(self._sums, KeptProducts | LateSums)
        self._late = self._sums
        self._longest: FloatArray | None = None
        """What no unmixed sum is longer than, while rows stay where they are."""

    def move(self, steps: FloatArray, direction: FloatArray) -> None:
        """Add ``steps[r] * direction`` to the weights of every class r, and cut again."""
        self._longest = None
        super().move(steps, direction)

    def _rebuild_if_outdated(self) -> None:
        if self._outdated:
            self._longest = None
        super()._rebuild_if_outdated()

    def norm_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return numbers between which the norm of every update vector lies, two of (Q, Q)."""
        self._rebuild_if_outdated()
        if self.everywhere:
            norms = self.pair_norms()
            return norms, norms
        from unconfused.engines._cell_kernels import bound_norms

        if self._longest is None:
            self._longest = self._cells.longest_sums(self._coefficients)
        longest = self._longest
        off = self._late.inaccuracy(self._coefficients, longest)
        lower, upper = np.empty((2, *self._norms.shape))
        debts = self._late.debts(self._coefficients)
        bound_norms(self._norms, debts, off, longest, self.total, lower, upper)
        return lower, upper

    def _measure(self, regions: IntArray) -> None:
        super()._measure(regions)
        self._late.settle(regions)

    def narrow(self, regions: IntArray) -> bool:
        """Bring the bounds on norms of regions closer where that takes little; say if it did."""
        if self.everywhere or not isinstance(self._late, LateSums):
            return False
        self._rebuild_if_outdated()
        self._outdated = True  # if it is interrupted
        closer, squared = self._late.compare(regions)
        self._norms[closer] = np.sqrt(squared) / self.total
        self._outdated = False
        return len(closer) > 0

    def measure(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Make the norms of these pairs exact: by their vectors, where these are kept."""
        late = self._late
        debts = late.debts(self._coefficients)
        open_pairs = [pair for pair in pairs if debts[pair] > 0.0]
        missing = {predicted for predicted, true in open_pairs if not late.keeps(predicted, true)}
        self._measure(np.array(sorted(missing), dtype=np.intp))
        for pair in open_pairs:
            if pair[0] not in missing:
                vector = late.unmixed(*pair, self._coefficients)
                self._norms[pair] = np.sqrt(np.einsum("j,j->", vector, vector)) / self.total
                debts[pair] = 0.0  # of the table itself, where vectors are kept
