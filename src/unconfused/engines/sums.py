"""Sums of the rows in every cell, or as much of them as there is room for.

Update vectors are sums over the cells of a region, unmixed. Where there is room for the sums of
all cells (`room.py`) they are kept and moved along with the rows. With many classes and features
there is none; then only their products within a region are kept, which are all that norms need
(`products.py`), or nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from unconfused._typing import BoolArray, FloatArray, IntArray
from unconfused.engines.cells import Transfer
from unconfused.engines.unmixed_sums import UnmixedSums

if TYPE_CHECKING:
    from unconfused.engines.local import LocalEngine

ADDED_PER_ROW = 16
"""Additions to sums, per row there is, after which they are made from the rows again: rounding
cannot pile up."""

PARTS = 4
"""Parts that rows are summed in."""

WORTH_PARTS = 2**20
"""Entries of rows that move from which on these are summed in parts."""

IN_FAST_MEMORY = 2**19
"""Bytes of all sums up to which every thread keeps its own at hand."""


TOGETHER = 2**13
"""Rows of a region that are summed at once."""


class CellSums(Protocol):
    """Sums over the rows of every cell, in as far as they are kept."""

    def clear(self) -> None:
        """Forget all rows; all there are will follow by `fill`."""
        ...

    def fill(self, transfer: Transfer) -> None:
        """Let some rows join their cells."""
        ...

    def shift(self, transfer: Transfer, coefficients: FloatArray) -> None:
        """Move some rows."""
        ...

    def exchange(self, first: int, second: int) -> None:
        """Let two regions change places."""
        ...

    def squared_norms(self, regions: IntArray, coefficients: FloatArray) -> FloatArray:
        """Return the squared norms of the unmixed sums of regions, (regions, Q)."""
        ...

    def unmixed(self, region: int, true: int, coefficients: FloatArray) -> FloatArray:
        """Return one unmixed sum of a region, (features,)."""
        ...

    def all_unmixed(self, region: int, coefficients: FloatArray) -> FloatArray:
        """Return all unmixed sums of a region, (Q, features)."""
        ...


class KeptSums(UnmixedSums):
    """The sums of all cells."""

    def __init__(self, engine: LocalEngine, n_cells: int) -> None:
        super().__init__(engine, n_cells)
        self._places: Any = np.append(np.arange(n_cells, dtype=np.int32), np.int32(-1))
        """Where the sum of a cell is; the last is for no cell, -1."""

    def clear(self) -> None:
        """Forget all rows."""
        self._sums.fill(0.0)
        self._places[:-1] = np.arange(len(self._sums))

    def fill(self, transfer: Transfer) -> None:
        """Let some rows join their cells."""
        self._add(transfer)

    def shift(self, transfer: Transfer, coefficients: FloatArray) -> None:
        """Move some rows."""
        self._add(transfer)

    def _add(self, transfer: Transfer) -> None:
        if len(transfer.rows) == 0:  # two regions changed places, and that was all
            return
        n_threads = self._engine.in_threads.n_threads
        # Every thread has cells of its own: none waits for another, and sums round alike.
        cuts = np.linspace(0, len(transfer.cells), n_threads + 1).astype(int)
        cuts[1:-1] = np.searchsorted(transfer.cells, transfer.cells[cuts[1:-1]])
        places = self._places[transfer.cells]

        def run(part: int) -> None:
            own = slice(cuts[part], cuts[part + 1])
            self._engine.rows.add(
                transfer.rows[own], places[own], transfer.weights[own], self._sums
            )

        n_entries = len(transfer.rows) * self._engine.rows.entries_per_row
        self._engine.in_threads.each(run, range(n_threads), n_entries)
        self._engine.add_constant(places, transfer.weights, self._sums)

    @property
    def takes_in_order(self) -> bool:
        """Whether rows are better moved as they come than sorted by cell."""
        return self._sums.nbytes <= IN_FAST_MEMORY

    def move(self, rows: IntArray, leaves: IntArray, joins: IntArray, regions: BoolArray) -> None:
        """Let rows leave some cells, and join others; -1 is none. `regions` says of which."""
        n_entries = len(rows) * self._engine.rows.entries_per_row
        old, new = self._places[leaves], self._places[joins]
        if n_entries < WORTH_PARTS:
            self._engine.rows.move(rows, old, new, self._engine.weights, self._sums)
            return
        # As many parts whatever the number of threads, so that sums round alike.
        parts = np.zeros((PARTS, *self._sums.shape))
        cuts = np.linspace(0, len(rows), PARTS + 1).astype(int)

        def run(part: int) -> None:
            own = slice(cuts[part], cuts[part + 1])
            self._engine.rows.move(rows[own], old[own], new[own], self._engine.weights, parts[part])

        self._engine.in_threads.each(run, range(PARTS), n_entries)
        for part in parts:
            self._sums += part

    def exchange(self, first: int, second: int) -> None:
        """Let two regions change places."""
        n_codes = self._engine.n_codes
        own, other = (self._places[r * n_codes :][:n_codes] for r in (first, second))
        own[:], other[:] = other.copy(), own.copy()

    def _firsts(self, regions: IntArray) -> IntArray:
        return np.asarray(self._places[regions * self._engine.n_codes])


class SumsOnDemand:
    """No sums at all: every question goes back to the rows of a region."""

    def __init__(self, engine: LocalEngine, region: IntArray) -> None:
        self._engine = engine
        self._region = region

    def clear(self) -> None:
        """Forget all rows: nothing is kept."""

    def fill(self, transfer: Transfer) -> None:
        """Let some rows join their cells: nothing is kept."""

    def shift(self, transfer: Transfer, coefficients: FloatArray) -> None:
        """Move some rows: nothing is kept."""

    def exchange(self, first: int, second: int) -> None:
        """Let two regions change places: nothing is kept."""

    def squared_norms(self, regions: IntArray, coefficients: FloatArray) -> FloatArray:
        """Return the squared norms of the unmixed sums of regions, (regions, Q)."""
        out = np.empty((len(regions), coefficients.shape[1]))

        def run(k: int) -> None:
            vectors = self.all_unmixed(int(regions[k]), coefficients)
            np.einsum("qj,qj->q", vectors, vectors, out=out[k])

        n_entries = out.size * self._engine.n_features
        self._engine.in_threads.each(run, range(len(regions)), n_entries)
        return out

    def unmixed(self, region: int, true: int, coefficients: FloatArray) -> FloatArray:
        """Return one unmixed sum of a region, (features,)."""
        rows = np.flatnonzero(self._region == region)
        weights = coefficients[self._engine.codes[rows], true] * self._engine.weights[rows]
        # As many parts whatever the number of threads, so that sums round alike.
        parts = np.zeros((PARTS, self._engine.n_features))
        cuts = np.linspace(0, len(rows), PARTS + 1).astype(int)

        def run(part: int) -> None:
            own = slice(cuts[part], cuts[part + 1])
            cells = np.zeros(cuts[part + 1] - cuts[part], dtype=np.intp)
            self._engine.add(rows[own], cells, weights[own], parts[part : part + 1])

        n_entries = len(rows) * self._engine.rows.entries_per_row
        self._engine.in_threads.each(run, range(PARTS), n_entries)
        return np.asarray(parts.sum(axis=0))

    def all_unmixed(self, region: int, coefficients: FloatArray) -> FloatArray:
        """Return all unmixed sums of a region, (Q, features)."""
        codes, sums = self.sums_of(region)
        return np.asarray(coefficients[codes].T @ sums)

    def sums_of(self, region: int) -> tuple[IntArray, FloatArray]:
        """Return the codes there are in a region, and their sums."""
        rows, n_codes = np.flatnonzero(self._region == region), self._engine.n_codes
        parts = [rows[start : start + TOGETHER] for start in range(0, len(rows), TOGETHER)]
        counts = np.zeros(n_codes, dtype=np.intp)
        for part in parts:
            counts += np.bincount(self._engine.codes[part], minlength=n_codes)
        codes = np.flatnonzero(counts)
        places = np.zeros(n_codes, dtype=np.intp)
        places[codes] = np.arange(len(codes))
        sums = np.zeros((len(codes), self._engine.n_features))
        for part in parts:
            weights = self._engine.weights[part]
            self._engine.add(part, places[self._engine.codes[part]], weights, sums)
        return codes, sums
