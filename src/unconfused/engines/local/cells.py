"""Counts and squared norms of all cells, and the mass that moved in or out of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines.base import CellTables

if TYPE_CHECKING:
    from unconfused.engines.local.engine import LocalEngine

LOST = 1e-9
"""Share of the total by which rounding may have reduced a cell."""


class Cells:
    """Incrementally updated tables of all cells."""

    def __init__(self, engine: LocalEngine, n_classes: int) -> None:
        from unconfused.engines.local.kernels.cells import Labelled, Tables

        shape = (n_classes, engine.n_codes)
        members = np.zeros(shape, dtype=np.int32 if engine.rows.n_rows < 2**31 else np.int64)
        self._tables = Tables(members, np.zeros(shape), np.zeros(shape), np.zeros(shape))
        self._labelled = Labelled(engine.codes, engine.weights, engine.row_norms)
        self._total = float(engine.weights.sum())
        self._total_square = float(
            np.einsum("i,i,i->", engine.weights, engine.row_norms, engine.row_norms)
        )

    def clear(self) -> None:
        """Empty all cells."""
        for table in self._tables:
            table.fill(0)

    def move(self, rows: IntArray, before: IntArray, region: IntArray) -> None:
        """Move rows from their previous region to the current one; -1 is none."""
        from unconfused.engines.local.kernels.cells import move_rows

        move_rows(rows, before, region, self._labelled, self._tables)

    def take_moved(self) -> FloatArray:
        """Return the weighted norms of rows moved since the last call, summed by cell, (Q, S)."""
        moved = self._tables.moved.copy()
        self._tables.moved.fill(0.0)
        return moved

    def longest_sums(self, regions: IntArray) -> FloatArray:
        """Return an upper bound on the norm of every cell's sum in these regions, (regions, S).

        By Cauchy-Schwarz, the weighted sum of rows with norms l and weights w is no longer than
        ``sqrt(sum(w) * sum(w l²))``. The tables are widened by what rounding may have lost.
        """
        members, counts, squares = (table[regions] for table in self._tables[:3])
        counts = np.sqrt(np.maximum(counts, 0.0) + LOST * self._total)
        squares = np.sqrt(np.maximum(squares, 0.0) + LOST * self._total_square)
        return np.where(members == 0, 0.0, counts * squares)

    def tables(self) -> CellTables:
        """Return copies of the counts and squared norms."""
        return CellTables(self._tables.counts.copy(), self._tables.squares.copy())
