"""A cut of rows in memory whose norms are known nearly, and exactly where it matters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray
from unconfused.engines.partition import LocalPartition
from unconfused.engines.products import KeptProducts

if TYPE_CHECKING:
    from unconfused.engines.local import LocalEngine


class LazyPartition(LocalPartition):
    """A local partition that keeps products: norms are bounded by what moved (`norm_bounds`)."""

    def __init__(self, engine: LocalEngine, unmixing: Unmixing, alpha: float) -> None:
        super().__init__(engine, unmixing, alpha)
        assert isinstance(self._sums, KeptProducts)
        self._products = self._sums

    def norm_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return numbers between which the norm of every update vector lies, two of (Q, Q)."""
        self._rebuild_if_outdated()
        if self.everywhere or not self._measured.all():
            norms = self.pair_norms()
            return norms, norms
        debts = self._products.debts
        room = debts + self._products.inaccuracy(self._coefficients)
        room[debts == 0.0] = 0.0
        room /= self.total
        return np.maximum(self._norms - room, 0.0), self._norms + room

    def measure(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Make the norms of these pairs exact: by their vectors, where these are kept."""
        products = self._products
        open_pairs = [pair for pair in pairs if products.debts[pair] > 0.0]
        missing = [
            predicted for predicted, true in open_pairs if not products.keeps(predicted, true)
        ]
        self._measure(np.unique(np.array(missing, dtype=np.intp)))
        for pair in open_pairs:
            if products.debts[pair] > 0.0:
                vector = products.unmixed(*pair, self._coefficients)
                self._norms[pair] = np.sqrt(np.einsum("j,j->", vector, vector)) / self.total
                products.debts[pair] = 0.0
