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

    def norm_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return numbers between which the norm of every update vector lies, two of (Q, Q)."""
        self._rebuild_if_outdated()
        if self.everywhere:
            norms = self.pair_norms()
            return norms, norms
        from unconfused.engines._cell_kernels import bound_norms

        longest = self._cells.longest_sums(self._coefficients)
        off = self._late.inaccuracy(self._coefficients, longest)
        lower, upper = np.empty((2, *self._norms.shape))
        bound_norms(self._norms, self._late.arrears.debts, off, longest, self.total, lower, upper)
        return lower, upper

    def _measure(self, regions: IntArray) -> None:
        super()._measure(regions)
        self._late.arrears.debts[regions] = 0.0

    def measure(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Make the norms of these pairs exact: by their vectors, where these are kept."""
        late, debts = self._late, self._late.arrears.debts
        open_pairs = [pair for pair in pairs if debts[pair] > 0.0]
        missing = [predicted for predicted, true in open_pairs if not late.keeps(predicted, true)]
        self._measure(np.unique(np.array(missing, dtype=np.intp)))
        for pair in open_pairs:
            if debts[pair] > 0.0:
                vector = late.unmixed(*pair, self._coefficients)
                self._norms[pair] = np.sqrt(np.einsum("j,j->", vector, vector)) / self.total
                debts[pair] = 0.0
