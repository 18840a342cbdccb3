"""The sums of all cells, each region's brought up to date once it is asked for.

While weights are young an update sends rows to and fro between many regions, and the one vector
that is wanted is of one of them. Rows that moved are noted down for the others (`arrears.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines.arrears import Arrears
from unconfused.engines.cells import MOVED_TOGETHER, Cells, Transfer
from unconfused.engines.sums import KeptSums

if TYPE_CHECKING:
    from unconfused.engines.local import LocalEngine

ROUNDING = 1e-12
"""Share of its longest possible length by which the norm of a vector may be off."""

WORTH_NOTING = 2**21
"""Products, in the norms of all vectors, below which measuring all takes less than to find out
which of them matter."""


class LateSums(KeptSums):
    """Sums of all cells, and the rows that each region's do not know of yet."""

    def __init__(self, engine: LocalEngine, n_classes: int, region: IntArray, cells: Cells) -> None:
        super().__init__(engine, n_classes * engine.n_codes)
        self._region = region
        self._cells = cells
        self.arrears = Arrears(engine, n_classes, lambda: cells.sizes)

    def clear(self) -> None:
        """Forget all rows."""
        self.arrears.start()
        super().clear()

    def fill(self, transfer: Transfer) -> None:
        """Note where there are rows."""
        self.arrears.fill(transfer.regions(self._engine.n_codes))

    @property
    def takes_in_order(self) -> bool:
        """Whether rows are moved as they come: they are noted down region by region."""
        return False

    def shift(self, transfer: Transfer, coefficients: FloatArray) -> None:
        """Move some rows."""
        self.arrears.note(transfer, coefficients)

    def exchange(self, first: int, second: int) -> None:
        """Let two regions change places."""
        self.arrears.exchange(first, second)
        super().exchange(first, second)

    def squared_norms(self, regions: IntArray, coefficients: FloatArray) -> FloatArray:
        """Return the squared norms of the unmixed sums of regions, (regions, Q)."""
        self._catch_up(regions)
        return super().squared_norms(regions, coefficients)

    def unmixed(self, region: int, true: int, coefficients: FloatArray) -> FloatArray:
        """Return one unmixed sum of a region, (features,)."""
        self._catch_up(np.array([region]))
        return super().unmixed(region, true, coefficients)

    def unmixed_pairs(
        self, pairs: Sequence[tuple[int, int]], coefficients: FloatArray
    ) -> FloatArray:
        """Return the unmixed sums of some pairs (region, true class), (pairs, features)."""
        self._catch_up(np.unique([region for region, _ in pairs]))
        return super().unmixed_pairs(pairs, coefficients)

    def all_unmixed(self, region: int, coefficients: FloatArray) -> FloatArray:
        """Return all unmixed sums of a region, (Q, features)."""
        self._catch_up(np.array([region]))
        return super().all_unmixed(region, coefficients)

    def inaccuracy(self, coefficients: FloatArray, longest: FloatArray) -> FloatArray:
        """Return what the norms of all unmixed sums may be off by, (Q, Q), beside their debts.

        They are no longer than `longest`.
        """
        return ROUNDING * longest

    def keeps(self, region: int, true: int) -> bool:
        """Say whether one unmixed sum is kept by itself: none is."""
        return False

    def _catch_up(self, regions: IntArray) -> None:
        """Let rows that moved leave and join the sums of regions."""
        again, followed = self.arrears.behind(regions)
        if len(again) == len(followed) == 0:
            return
        moved = [self.arrears.net(region) for region in followed.tolist()]
        behind = np.concatenate([again, followed])
        self.arrears.give_up(behind)  # if it is interrupted
        for region in again.tolist():
            self._of(region).fill(0.0)
        if len(again):
            for transfer in Transfer.rows_in(self._engine, self._region, again, MOVED_TOGETHER):
                self._add(transfer)
        for region, (rows, weights) in zip(followed, moved, strict=True):
            for start in range(0, len(rows), MOVED_TOGETHER):
                some = slice(start, start + MOVED_TOGETHER)
                of = np.full(len(rows[some]), region)
                self._add(Transfer.joining(self._engine, rows[some], of, weights[some]))
        for region in behind.tolist():  # rounding must not leave a trace of rows that have left
            self._of(region)[self._cells.empty[region]] = 0.0
        self.arrears.settle(behind)
