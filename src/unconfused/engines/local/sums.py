"""Strategies for the sums of rows in every cell.

The solver needs only the longest update vectors. A partition bounds all norms and measures those
that could be the longest, so the sums of a region need to be current only then.
`memory_plan.cell_sums` chooses the strategy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unconfused._typing import FloatArray, IntArray

if TYPE_CHECKING:
    from unconfused.engines.local.engine import LocalEngine


class SumsOnDemand:
    """Store nothing: recompute sums from the rows of a region. Base class of the others.

    Parameters
    ----------
    engine : the rows
    coefficients : (Q, S, Q), unmixing coefficients by region, label code and class
    region : region of every row, -1 for none; modified in place by the owner
    """

    _in_parallel = True

    def __init__(self, engine: LocalEngine, coefficients: FloatArray, region: IntArray) -> None:
        self._engine, self._coefficients, self._region = engine, coefficients, region

    def clear(self) -> None:
        """Empty all regions."""

    def move(self, rows: IntArray, before: IntArray) -> None:
        """Move rows from their previous to their current regions; -1 is none."""

    def measure(
        self, pairs: Sequence[tuple[int, int]], squared_norms: FloatArray, slack: FloatArray
    ) -> None:
        """Write the squared norms of all unmixed sums in these pairs' regions; reset the slack."""

        def run(region: int) -> None:
            vectors = self.all_unmixed(region)
            np.einsum("qj,qj->q", vectors, vectors, out=squared_norms[region])
            slack[region] = 0.0

        regions = [(r,) for r in sorted({p for p, _ in pairs})]
        if self._in_parallel:
            self._engine.in_threads.each(run, regions)
        else:
            for region in regions:
                run(*region)

    def unmixed(self, region: int, true: int) -> FloatArray:
        """Return one unmixed sum of a region, (features,)."""
        rows = np.flatnonzero(self._region == region)
        weights = self._coefficients[region, self._engine.codes[rows], true]
        weights = weights * self._engine.weights[rows]
        out = np.zeros((1, self._engine.n_features))
        self._engine.add(rows, np.zeros(len(rows), dtype=np.intp), weights, out)
        return np.asarray(out[0])

    def all_unmixed(self, region: int) -> FloatArray:
        """Return all unmixed sums of a region, (Q, features)."""
        codes, sums = self.sums_of(region)
        return np.asarray(self._coefficients[region, codes].T @ sums)

    def sums_of(self, region: int) -> tuple[IntArray, FloatArray]:
        """Return the label codes present in a region and their sums, (codes, features)."""
        rows = np.flatnonzero(self._region == region)
        codes, places = np.unique(self._engine.codes[rows], return_inverse=True)
        sums = np.zeros((len(codes), self._engine.n_features))
        self._engine.add(rows, places, self._engine.weights[rows], sums)
        return codes, sums


class KeptSums(SumsOnDemand):
    """Sums of all cells, updated at every move."""

    def __init__(self, engine: LocalEngine, coefficients: FloatArray, region: IntArray) -> None:
        super().__init__(engine, coefficients, region)
        self._sums = np.zeros((len(coefficients), engine.n_codes, engine.n_features))
        self._codes = np.arange(engine.n_codes)

    def clear(self) -> None:
        self._sums.fill(0.0)

    def move(self, rows: IntArray, before: IntArray) -> None:
        weights, n_codes = self._engine.weights[rows], np.intp(self._engine.n_codes)
        by_cell = self._sums.reshape(-1, self._sums.shape[2])
        for regions, signed in ((before, -weights), (self._region[rows], weights)):
            inside = regions >= 0
            cells = regions[inside] * n_codes + self._engine.codes[rows[inside]]
            self._engine.add(rows[inside], cells, signed[inside], by_cell)

    def unmixed(self, region: int, true: int) -> FloatArray:
        return np.asarray(self._coefficients[region, :, true] @ self.sums_of(region)[1])

    def sums_of(self, region: int) -> tuple[IntArray, FloatArray]:
        """Return all label codes and their sums, (S, features)."""
        return self._codes, self._sums[region]


class LazySums(KeptSums):
    """Sums updated only when a region is requested; by then many rows have moved back.

    There are as many sets of summed rows as regions. A region takes over the set closest to its
    current rows, since an early update can move all rows of one class to another.
    """

    _in_parallel = False  # regions exchange sets

    def __init__(self, engine: LocalEngine, coefficients: FloatArray, region: IntArray) -> None:
        super().__init__(engine, coefficients, region)
        self._counted = np.zeros((len(self._sums), engine.rows.n_rows), dtype=bool)
        """Rows included in every set of sums."""

        self._sets = np.arange(len(self._sums))
        """The set that belongs to every region."""

    def clear(self) -> None:
        super().clear()
        self._counted.fill(False)

    def move(self, rows: IntArray, before: IntArray) -> None:
        """Do nothing: moves stay pending until `sums_of`."""

    def sums_of(self, region: int) -> tuple[IntArray, FloatArray]:
        """Apply pending moves; return all label codes and their sums, (S, features)."""
        inside, sets = self._region == region, self._sets
        differences = np.count_nonzero(self._counted != inside, axis=1)
        nearest = int(np.argmin(differences))
        if differences[nearest] < differences[sets[region]]:
            sets[sets == nearest], sets[region] = sets[region], nearest
        own = sets[region]
        changed = np.flatnonzero(inside != self._counted[own])
        weights = self._engine.weights[changed]
        weights = np.where(inside[changed], weights, -weights)
        self._engine.add(changed, self._engine.codes[changed], weights, self._sums[own])
        self._counted[own] = inside
        return self._codes, self._sums[own]
