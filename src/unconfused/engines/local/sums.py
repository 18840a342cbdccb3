"""Sums of the rows in every cell: kept where there is room, otherwise made when asked for.

Only the longest update vectors are ever wanted. A partition bounds how far every vector can be from
when it was last measured; whichever could be the longest is measured again, and only then need the
sums of its region be up to date. `cell_sums` chooses one of four strategies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unconfused._typing import FloatArray, IntArray

if TYPE_CHECKING:
    from unconfused.engines.local.engine import LocalEngine


class SumsOnDemand:
    """No sums are kept: every question goes back to the rows of a region.

    Parameters
    ----------
    engine : the rows
    coefficients : (S, Q), how much a row with each label code counts as each class
    region : the region of every row, -1 for none; changes in place
    """

    def __init__(self, engine: LocalEngine, coefficients: FloatArray, region: IntArray) -> None:
        self._engine, self._coefficients, self._region = engine, coefficients, region

    def clear(self) -> None:
        """Forget all rows."""

    def move(self, rows: IntArray, before: IntArray) -> None:
        """Let rows leave the regions they were in, and join those they are in; -1 is none."""

    def measure(
        self, pairs: Sequence[tuple[int, int]], squared_norms: FloatArray, slack: FloatArray
    ) -> None:
        """Write the squared norms of all unmixed sums of these pairs' regions; slack is then 0."""

        def run(region: int) -> None:
            vectors = self.all_unmixed(region)
            np.einsum("qj,qj->q", vectors, vectors, out=squared_norms[region])
            slack[region] = 0.0

        self._engine.in_threads.each(run, [(r,) for r in sorted({p for p, _ in pairs})])

    def unmixed(self, region: int, true: int) -> FloatArray:
        """Return one unmixed sum of a region, (features,)."""
        rows = np.flatnonzero(self._region == region)
        weights = self._coefficients[self._engine.codes[rows], true] * self._engine.weights[rows]
        out = np.zeros((1, self._engine.n_features))
        self._engine.add(rows, np.zeros(len(rows), dtype=np.intp), weights, out)
        return np.asarray(out[0])

    def all_unmixed(self, region: int) -> FloatArray:
        """Return all unmixed sums of a region, (Q, features)."""
        codes, sums = self.sums_of(region)
        return np.asarray(self._coefficients[codes].T @ sums)

    def sums_of(self, region: int) -> tuple[IntArray, FloatArray]:
        """Return the label codes there are in a region, and their sums, (codes, features)."""
        rows = np.flatnonzero(self._region == region)
        codes, places = np.unique(self._engine.codes[rows], return_inverse=True)
        sums = np.zeros((len(codes), self._engine.n_features))
        self._engine.add(rows, places, self._engine.weights[rows], sums)
        return codes, sums


class KeptSums(SumsOnDemand):
    """The sums of all cells, moved along with the rows."""

    def __init__(self, engine: LocalEngine, coefficients: FloatArray, region: IntArray) -> None:
        super().__init__(engine, coefficients, region)
        self._sums = np.zeros((coefficients.shape[1], engine.n_codes, engine.n_features))
        self._codes = np.arange(engine.n_codes)

    def clear(self) -> None:
        """Forget all rows."""
        self._sums.fill(0.0)

    def move(self, rows: IntArray, before: IntArray) -> None:
        """Let rows leave the regions they were in, and join those they are in; -1 is none."""
        weights, n_codes = self._engine.weights[rows], np.intp(self._engine.n_codes)
        by_cell = self._sums.reshape(-1, self._sums.shape[2])
        for regions, signed in ((before, -weights), (self._region[rows], weights)):
            inside = regions >= 0
            cells = regions[inside] * n_codes + self._engine.codes[rows[inside]]
            self._engine.add(rows[inside], cells, signed[inside], by_cell)

    def unmixed(self, region: int, true: int) -> FloatArray:
        """Return one unmixed sum of a region, (features,)."""
        return np.asarray(self._coefficients[:, true] @ self.sums_of(region)[1])

    def sums_of(self, region: int) -> tuple[IntArray, FloatArray]:
        """Return all label codes, and their sums, (S, features)."""
        return self._codes, self._sums[region]


class LazySums(KeptSums):
    """Sums that follow only when a region is asked for; by then many rows have come back.

    As many sets of rows are summed as there are regions. Whichever is nearest to a region becomes
    the region's: while weights are young, an update can send all rows of one class to another.
    """

    def __init__(self, engine: LocalEngine, coefficients: FloatArray, region: IntArray) -> None:
        super().__init__(engine, coefficients, region)
        self._counted = np.zeros((len(self._sums), engine.rows.n_rows), dtype=bool)
        """Which rows every set of sums counts."""

        self._sets = np.arange(len(self._sums))
        """Which set is whose."""

    def clear(self) -> None:
        """Forget all rows."""
        super().clear()
        self._counted.fill(False)

    def move(self, rows: IntArray, before: IntArray) -> None:
        """Do nothing yet."""

    def measure(
        self, pairs: Sequence[tuple[int, int]], squared_norms: FloatArray, slack: FloatArray
    ) -> None:
        """Write the squared norms, one region after the other: they share the sets."""
        for pair in pairs:
            if slack[pair] > 0.0:
                vectors = self.all_unmixed(pair[0])
                np.einsum("qj,qj->q", vectors, vectors, out=squared_norms[pair[0]])
                slack[pair[0]] = 0.0

    def sums_of(self, region: int) -> tuple[IntArray, FloatArray]:
        """Return all label codes, and their sums up to date with the rows that left or joined."""
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
