"""What the cells hold: counts and squares, moved along with the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._typing import BoolArray, FloatArray, IntArray
from unconfused.engines.base import CellTables

if TYPE_CHECKING:
    from unconfused.engines.local import LocalEngine


MOVED_TOGETHER = 2**15
"""Rows that change cells at once: their lists take more room than what is kept of them."""

LOST = 1e-9
"""Share of what all rows count that rounding may have taken from a cell."""

FEW_CELLS = 2**16
"""Cells up to which rows are sorted by counting them."""


@dataclass(frozen=True)
class Transfer:
    """Rows that left a cell (negative weight) or joined one, sorted by cell."""

    rows: IntArray
    cells: IntArray
    """Region times the number of codes, plus the code."""

    weights: FloatArray

    @classmethod
    def all_rows(cls, engine: LocalEngine, region: IntArray, together: int) -> Iterator[Transfer]:
        """Let every row join the cell it is in, so many at a time."""
        regions = np.arange(region.max(initial=-1) + 1)
        return cls.rows_in(engine, region, regions, together)

    @classmethod
    def rows_in(
        cls, engine: LocalEngine, region: IntArray, regions: IntArray, together: int
    ) -> Iterator[Transfer]:
        """Let the rows of these regions join the cells they are in, of so many rows at a time."""
        highest = max(region.max(initial=0), regions.max(initial=0))  # all rows may have left one
        wanted = np.zeros(int(highest) + 2, dtype=bool)  # the last is for -1
        wanted[regions] = True
        for start in range(0, len(region), together):
            inside = start + np.flatnonzero(wanted[region[start : start + together]])
            yield cls.joining(engine, inside, region[inside], engine.weights[inside])

    @classmethod
    def between(
        cls, engine: LocalEngine, rows: IntArray, before: IntArray, after: IntArray, n_cells: int
    ) -> Transfer:
        """Let rows change from one region to another; -1 is none."""
        from unconfused.engines._transfer_kernels import list_moves

        if n_cells <= FEW_CELLS:
            moves = (rows, before, after, engine.codes, engine.weights, engine.n_codes, n_cells)
            return cls(*list_moves(*moves))
        twice, regions = np.concatenate([rows, rows]), np.concatenate([before, after])
        weights = engine.weights[rows]
        weights = np.concatenate([-weights, weights])
        inside = regions >= 0
        return cls.joining(engine, twice[inside], regions[inside], weights[inside])

    @classmethod
    def joining(
        cls, engine: LocalEngine, rows: IntArray, regions: IntArray, weights: FloatArray
    ) -> Transfer:
        """Let rows join regions, or leave them where their weight is negative."""
        cells = regions.astype(np.int64) * engine.n_codes + engine.codes[rows]
        order = np.argsort(_small(cells), kind="stable")
        return cls(rows[order], cells[order], weights[order])

    def regions(self, n_codes: int) -> IntArray:
        """Return the regions that anything happened to, in order."""
        if len(self.cells) == 0:
            return np.zeros(0, dtype=np.int64)
        all_regions = np.arange(self.cells[-1] // n_codes + 1)
        firsts = np.searchsorted(self.cells, np.append(all_regions, len(all_regions)) * n_codes)
        return all_regions[np.diff(firsts) > 0]


class Cells:
    """Counts and squares of all cells."""

    def __init__(self, engine: LocalEngine, n_classes: int) -> None:
        self._engine = engine
        self._shape, n_rows = (n_classes, engine.n_codes), engine.rows.n_rows
        self._members: Any = np.zeros(self._shape, dtype=np.int32 if n_rows < 2**31 else np.int64)
        self._counts = np.zeros(self._shape)
        self._squares = np.zeros(self._shape)
        self._total = float(engine.weights.sum())
        self._total_square = float(
            np.einsum("i,i,i->", engine.weights, engine.row_norms, engine.row_norms)
        )

    def clear(self) -> None:
        """Forget all rows."""
        for table in (self._members, self._counts, self._squares):
            table.fill(0)

    def shift(self, transfer: Transfer) -> None:
        """Move some rows."""
        from unconfused.engines._transfer_kernels import move_counts

        tables = [table.reshape(-1) for table in (self._members, self._counts, self._squares)]
        move_counts(
            transfer.rows, transfer.cells, transfer.weights, self._engine.row_norms, *tables
        )

    def move(self, rows: IntArray, leaves: IntArray, joins: IntArray) -> None:
        """Let rows leave some cells, and join others; -1 is none."""
        from unconfused.engines._order_kernels import move_counts_in_order

        tables = [table.reshape(-1) for table in (self._members, self._counts, self._squares)]
        own = self._engine.weights, self._engine.row_norms
        move_counts_in_order(rows, leaves, joins, *own, *tables)

    def exchange(self, first: int, second: int) -> None:
        """Let two regions change places."""
        for table in (self._members, self._counts, self._squares):
            table[[first, second]] = table[[second, first]]

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return int(self._members.size)

    @property
    def sizes(self) -> FloatArray:
        """Number of rows in every region."""
        return np.asarray(self._members.sum(axis=1))

    @property
    def empty(self) -> BoolArray:
        """Which cells hold no row of any weight."""
        return np.asarray(self._members == 0)

    @property
    def counts(self) -> FloatArray:
        """Total weight of the rows in every cell, (Q, S)."""
        return self._counts

    def longest_sums(self, coefficients: FloatArray) -> FloatArray:
        """Return what no unmixed sum of a region is longer than, (Q, Q), wherever its rows point.

        Rows of lengths l and weights w are together no longer than the sum of w l, and that is at
        most the root of the sums of w and of w l squared. What these have lost to rounding, where
        most of a cell has left it, is made up for.
        """
        counts = np.maximum(self._counts, 0.0) + LOST * self._total
        squares = np.maximum(self._squares, 0.0) + LOST * self._total_square
        masses = np.where(self.empty, 0.0, np.sqrt(counts) * np.sqrt(squares))
        return np.asarray(masses @ np.abs(coefficients))

    def tables(self) -> CellTables:
        """Return what the cells hold."""
        return CellTables(self._counts.copy(), self._squares.copy())


def worth_exchanging(
    before: IntArray, after: IntArray, sizes: FloatArray
) -> tuple[int, int] | None:
    """Find two regions such that more rows changed between them than stayed, if there are.

    `before` and `after` are the regions of the rows that moved, `sizes` those of all regions
    before.

    Examples
    --------
    >>> import numpy as np
    >>> worth_exchanging(np.array([0, 0, 2]), np.array([1, 1, 1]), np.array([3.0, 0.0, 9.0]))
    (0, 1)
    """
    from unconfused.engines._transfer_kernels import count_flow

    n_classes = len(sizes)
    if n_classes > 1 and 2 * len(before) < np.partition(sizes, 1)[:2].sum():
        return None  # of any two regions more stayed than moved at all
    flow = np.zeros((n_classes, n_classes), dtype=np.int64)
    leaving = np.zeros(n_classes, dtype=np.int64)
    count_flow(before, after, flow, leaving)
    first, second = (int(r) for r in np.unravel_index(flow.argmax(), flow.shape))
    between = flow[first, second] + flow[second, first]
    staying = sizes[[first, second]].sum() - leaving[[first, second]].sum()
    return (first, second) if between > staying else None


def _small(cells: IntArray) -> IntArray:
    """Return the numbers in 16 bits if they fit: those are sorted in one sweep, not by merging."""
    return cells.astype(np.uint16) if len(cells) and cells.max() < FEW_CELLS else cells
