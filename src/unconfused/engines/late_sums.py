"""The sums of regions, each brought up to date once it is asked for.

While weights are young an update sends rows to and fro between many regions, and the one vector
that is wanted is of one of them. Of the others it is only kept how long the rows are, together,
that have moved since their norms were measured: by so much norms can have changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unconfused._typing import BoolArray, FloatArray, IntArray
from unconfused.engines.cells import Cells
from unconfused.engines.snapshots import Snapshots
from unconfused.engines.unmixed_sums import UnmixedSums

if TYPE_CHECKING:
    from unconfused.engines.local import LocalEngine

ROUNDING = 1e-12
"""Share of its longest possible length by which the norm of a vector may be off."""

WORTH_NOTING = 2**21
"""Products, in the norms of all vectors, below which measuring all takes less than to find out
which of them matter."""

UNKNOWN = -1


class LateSums(UnmixedSums):
    """Sums of regions, `n_sets` at a time, made when they are asked for."""

    def __init__(
        self, engine: LocalEngine, n_classes: int, region: IntArray, cells: Cells, n_sets: int
    ) -> None:
        super().__init__(engine, (n_sets + 1) * engine.n_codes)
        self._region = region
        self._cells = cells
        by_set = self._sums.reshape(n_sets + 1, engine.n_codes, engine.n_features)
        self._snapshots = Snapshots(engine, by_set)
        self._squares = np.zeros((n_sets + 1, n_classes))
        """Squared norms of the unmixed sums of every set."""

        self._is_measured = np.zeros(n_sets + 1, dtype=bool)
        self._is_measured[self._snapshots.none] = True
        self._set = np.full(n_classes, UNKNOWN)
        """Which set every region is, if it is held."""

        self._last = np.zeros(n_classes, dtype=np.int64)
        """Which it was when it last was any."""

        self._masses = np.zeros((n_classes, engine.n_codes))
        """How long the rows are that moved since norms of a region were measured, by code."""

        self._is_compared = np.zeros(n_classes, dtype=bool)

    def clear(self) -> None:
        """Forget all regions; sets of rows stay what they are."""
        self._set.fill(UNKNOWN)
        self._masses.fill(0.0)
        self._is_compared.fill(False)

    def move(self, rows: IntArray, leaves: IntArray, joins: IntArray, regions: BoolArray) -> None:
        """Let rows leave some cells, and join others; -1 is none. `regions` says of which."""
        from unconfused.engines._order_kernels import weigh_moves

        known = (self._engine.weights, self._engine.row_norms)
        weigh_moves(rows, leaves, joins, *known, self._masses.reshape(-1))
        self._set[regions] = UNKNOWN
        self._is_compared[regions] = False

    def debts(self, coefficients: FloatArray) -> FloatArray:
        """Return how far every unmixed sum may be from when its norm was measured, (Q, Q)."""
        return np.asarray(self._masses @ np.abs(coefficients))

    def settle(self, regions: IntArray) -> None:
        """Note that the norms of regions have been measured."""
        self._masses[regions] = 0.0

    def inaccuracy(self, coefficients: FloatArray, longest: FloatArray) -> FloatArray:
        """Return what the norms of all unmixed sums may be off by, (Q, Q), beside their debts.

        They are no longer than `longest`.
        """
        return ROUNDING * longest

    def keeps(self, region: int, true: int) -> bool:
        """Say whether one unmixed sum is kept by itself: none is."""
        return False

    def compare(self, regions: IntArray) -> tuple[IntArray, FloatArray]:
        """Return regions that are closer to a set of rows than to what they were when measured.

        And the squared norms of these sets, from which on they have debts now.
        """
        regions = regions[~self._is_compared[regions]]
        self._is_compared[regions] = True
        nearest = self._snapshots.compare(
            self._region, regions, self._is_measured, self._masses, self._last
        )
        closer = nearest >= 0
        return regions[closer], self._squares[nearest[closer]]

    def squared_norms(self, regions: IntArray, coefficients: FloatArray) -> FloatArray:
        """Return the squared norms of the unmixed sums of regions, (regions, Q)."""
        out = np.empty((len(regions), coefficients.shape[1]))
        together = self._snapshots.none  # as many as there are sets
        for start in range(0, len(regions), together):
            some = regions[start : start + together]
            sets = self._firsts(some) // self._engine.n_codes
            unmeasured = np.array([k for k in set(sets.tolist()) if not self._is_measured[k]])
            if len(unmeasured):
                firsts = unmeasured * self._engine.n_codes
                self._squares[unmeasured] = self._squares_at(firsts, coefficients)
                self._is_measured[unmeasured] = True
            out[start : start + together] = self._squares[sets]
        return out

    def unmixed_pairs(
        self, pairs: Sequence[tuple[int, int]], coefficients: FloatArray
    ) -> FloatArray:
        """Return the unmixed sums of some pairs (region, true class), (pairs, features)."""
        together = self._snapshots.none
        several = [
            super(LateSums, self).unmixed_pairs(pairs[start : start + together], coefficients)
            for start in range(0, len(pairs), together)
        ]
        return several[0] if len(several) == 1 else np.concatenate(several)

    def _firsts(self, regions: IntArray) -> IntArray:
        # No more regions than sets are asked for at a time.
        known = self._set[regions]
        self._snapshots.ask(known[known != UNKNOWN])
        for region in regions.tolist():
            if self._set[region] == UNKNOWN:
                self._set[region] = self._last[region] = self._find_or_make(region)
        return np.asarray(self._set[regions] * self._engine.n_codes)

    def _find_or_make(self, region: int) -> int:
        """Return the set that a region is, which is held from now on."""
        rows = self._snapshots.rows_in(self._region, region)
        nearest, distance, n_rows = self._snapshots.nearest(rows, int(self._last[region]))
        if distance == 0:
            self._snapshots.hold(nearest)
            return nearest
        old = self._snapshots.place_for(nearest, distance, n_rows)
        self._set[self._set == old] = UNKNOWN
        self._is_measured[old] = False
        self._snapshots.replace(old, rows, nearest, distance, self._cells.empty[region])
        return old
