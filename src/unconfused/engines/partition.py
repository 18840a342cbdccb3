"""The rows of a local engine, cut into cells; only what an update moved is touched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray, IntArray
from unconfused.engines._kept_scores import clearly_learnt
from unconfused.engines.base import CellTables
from unconfused.engines.cells import MOVED_TOGETHER, Cells, Transfer, worth_exchanging
from unconfused.engines.cut import RowCut
from unconfused.engines.late_sums import LateSums
from unconfused.engines.products import KeptProducts
from unconfused.engines.room import cell_sums
from unconfused.engines.sums import ADDED_PER_ROW, CellSums, KeptSums
from unconfused.engines.unmixed_sums import UnmixedSums

if TYPE_CHECKING:
    from unconfused.engines.local import LocalEngine

SKIP_ROWS = True
"""Whether rows that cannot have changed their region are passed over."""

FEW_TOGETHER, MANY_TOGETHER = 2**12, 2**17
"""Rows that change cells at once where they are not sorted first; few if there are few."""


class LocalPartition:
    """Rows cut into cells, with predictions, tables and sums kept between updates.

    Without `for_norms` nothing is kept for the sake of `pair_norms`, which then takes longer.
    """

    def __init__(
        self, engine: LocalEngine, unmixing: Unmixing, alpha: float, *, for_norms: bool = True
    ) -> None:
        self._engine = engine
        self._coefficients = np.ascontiguousarray(unmixing.coefficients)
        self._n_classes = unmixing.n_classes
        self.total = float(engine.weights.sum())
        self.n_features = engine.n_features
        self._cut = RowCut(engine, unmixing.n_classes, alpha, skip=SKIP_ROWS)
        self._cells = Cells(engine, unmixing.n_classes)
        self._sums = cell_sums(
            engine, unmixing.n_classes, self._cut.region, self._cells, for_norms=for_norms
        )
        self._norms = np.zeros((unmixing.n_classes, unmixing.n_classes))
        self._dirty = np.ones(unmixing.n_classes, dtype=bool)
        """Which regions have changed since their norms were measured."""

        self._versions = np.zeros(unmixing.n_classes, dtype=np.int64)
        self._together = max(FEW_TOGETHER, min(engine.rows.n_rows // 16, MANY_TOGETHER))
        self.everywhere = True
        """Whether all weights are 0, and every region is that of all rows."""

        self._outdated = True
        self._transferred = 0

    def restart(self, weights: FloatArray) -> None:
        """Cut afresh by these weights; with all of them 0, every row is in every class."""
        self.everywhere = not weights.any()
        self._outdated = True
        if self.everywhere:
            self._cut.region.fill(0)
        else:
            self._cut.restart(weights)

    def move(self, steps: FloatArray, direction: FloatArray) -> None:
        """Add ``steps[r] * direction`` to the weights of every class r, and cut again."""
        if self.everywhere:
            self.restart(np.outer(steps, direction))
            return
        rows, before = self._cut.move(steps, direction)
        if isinstance(self._sums, KeptProducts):
            self._sums.vectors.follow(steps, direction, self._cut.longest)
        if self._outdated or len(rows) == 0:
            return
        self._outdated = True  # if it is interrupted
        sums = self._sums
        if not isinstance(sums, LateSums):
            rows, before = self._after_exchange(sums, rows, before)
        self._transferred += 2 * len(rows)  # a row leaves one cell, and joins another
        # Rounding cannot pile up in tables and sums: they are made anew once in a while.
        if self._transferred > ADDED_PER_ROW * self._engine.rows.n_rows:
            return
        if isinstance(sums, LateSums) or _takes_in_order(sums):
            for start in range(0, len(rows), self._together):
                some = slice(start, start + self._together)
                self._move_in_order(sums, rows[some], before[some])
            self._outdated = False
            return
        together = min(self._together, MOVED_TOGETHER)
        for start in range(0, len(rows), together):
            some = slice(start, start + together)
            after = self._cut.region[rows[some]]
            moves = (rows[some], before[some], after)
            transfer = Transfer.between(self._engine, *moves, self._cells.n_cells)
            self._cells.shift(transfer)
            sums.shift(transfer, self._coefficients)
            changed = transfer.regions(self._engine.n_codes)
            self._dirty[changed] = True
            self._versions[changed] += 1
        self._outdated = False

    def _move_in_order(self, sums: KeptSums | LateSums, rows: IntArray, before: IntArray) -> None:
        """Let rows change from one region to where they are now; -1 is none."""
        from unconfused.engines._order_kernels import cells_between

        n_codes, after = self._engine.n_codes, self._cut.region[rows]
        leaves: Any = np.empty(len(rows), dtype=np.int32)
        joins: Any = np.empty(len(rows), dtype=np.int32)
        seen = np.zeros(self._n_classes + 1, dtype=bool)
        cells_between(rows, before, after, self._engine.codes, n_codes, leaves, joins, seen)
        regions = seen[:-1]
        self._cells.move(rows, leaves, joins)
        sums.move(rows, leaves, joins, regions)
        self._dirty |= regions
        self._versions += regions

    def _after_exchange(
        self, sums: CellSums, rows: IntArray, before: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Return the rows that have to change cells; exchange two regions first if that helps.

        While the weights are young an update can send all rows of one class to another.
        """
        from unconfused.engines._transfer_kernels import other_moves

        exchange = worth_exchanging(before, self._cut.region[rows], self._cells.sizes)
        if exchange is None:
            return rows, before
        first, second = exchange
        for table in (self._norms, self._dirty):
            table[[first, second]] = table[[second, first]]
        self._versions[[first, second]] += 1
        self._cells.exchange(first, second)
        sums.exchange(first, second)
        changed = other_moves(self._cut.region, rows, before, first, second)
        return changed[0], changed[1]

    def tables(self) -> CellTables:
        """Return what the cells hold."""
        self._rebuild_if_outdated()
        tables = self._cells.tables()
        if not self.everywhere:
            return tables
        return CellTables(
            self._for_every_class(tables.counts), self._for_every_class(tables.squares)
        )

    def pair_norms(self) -> FloatArray:
        """Return the norm of every update vector, (Q, Q)."""
        self._rebuild_if_outdated()
        if self.everywhere:
            self._measure(np.zeros(1, dtype=np.intp))
            self._norms[:] = self._norms[0]
        else:
            self._measure(np.flatnonzero(self._dirty))
        return self._norms.copy()

    def _measure(self, regions: IntArray) -> None:
        """Make the norms of some regions exact."""
        squared = self._sums.squared_norms(regions, self._coefficients)
        self._norms[regions] = np.sqrt(squared) / self.total
        self._dirty[regions] = False

    def update_vector(self, predicted: int, true: int) -> FloatArray:
        """Return z: the mean over all rows of those predicted so and truly (unmixed) so."""
        self._rebuild_if_outdated()
        region = 0 if self.everywhere else predicted
        return self._sums.unmixed(region, true, self._coefficients) / self.total

    def learnt_pairs(self, weights: FloatArray) -> list[tuple[int, int]]:
        """Return pairs known to make no update: their vectors are clearly scored right."""
        if self._outdated or self.everywhere or not isinstance(self._sums, KeptProducts):
            return []
        return self._sums.vectors.learnt(weights, self._cut.longest)

    def learnt_among(
        self, pairs: Sequence[tuple[int, int]], weights: FloatArray
    ) -> list[tuple[int, int]]:
        """Return those of some pairs that clearly make no update, where sums are kept."""
        if self._outdated or self.everywhere or not isinstance(self._sums, UnmixedSums):
            return []
        vectors = self._sums.unmixed_pairs(pairs, self._coefficients)
        learnt = clearly_learnt(vectors, np.array([q for _, q in pairs]), weights)
        return [pair for pair, known in zip(pairs, learnt, strict=True) if known]

    def region_versions(self) -> IntArray:
        """Return a number for every region, (Q,), that is another whenever its rows changed."""
        self._rebuild_if_outdated()
        return self._versions.copy()

    def region_sums(self, predicted: int) -> FloatArray:
        """Return the update vectors of a region as sums over rows, not means, (Q, features)."""
        self._rebuild_if_outdated()
        return self._sums.all_unmixed(0 if self.everywhere else predicted, self._coefficients)

    def _rebuild_if_outdated(self) -> None:
        if not self._outdated:
            return
        self._cells.clear()
        self._sums.clear()
        sums = self._sums
        if isinstance(sums, LateSums) or _takes_in_order(sums):
            n_rows = self._engine.rows.n_rows
            for start in range(0, n_rows, self._together):
                stop = min(start + self._together, n_rows)
                rows = np.arange(start, stop, dtype=self._cut.row_type)
                self._move_in_order(sums, rows, np.full_like(self._cut.region[: stop - start], -1))
        else:
            together = min(self._together, MOVED_TOGETHER)
            for transfer in Transfer.all_rows(self._engine, self._cut.region, together):
                self._cells.shift(transfer)
                sums.fill(transfer)
        self._dirty.fill(True)
        self._norms.fill(0.0)  # of regions that have no rows
        self._versions += 1
        self._outdated = False
        self._transferred = 0

    def _for_every_class(self, table: FloatArray) -> FloatArray:
        return np.tile(table[:1], (self._n_classes, 1))


def _takes_in_order(sums: CellSums) -> TypeGuard[KeptSums]:
    """Say whether rows are better moved as they come than sorted by cell."""
    return isinstance(sums, KeptSums) and sums.takes_in_order
