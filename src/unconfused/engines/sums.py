"""Sums of the rows in every cell, or as much of them as there is room for.

Update vectors are sums over the cells of a region, unmixed. Where the sums of all cells fit into
`KEPT_BYTES` they are kept and moved along with the rows. With many classes and features they do
not; then only their products within a region are kept, which are all that norms need, or nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines._kept_vectors import KeptVectors
from unconfused.engines.cells import Cells, Transfer

if TYPE_CHECKING:
    from unconfused.engines.local import LocalEngine

KEPT_BYTES = 64 * 2**20
"""Sums, and products of sums, are kept while they fit into this, and otherwise made when asked."""

VECTOR_BYTES = 24 * 2**20
"""Beside products, so much of update vectors is kept."""

PARTS = 4
"""Parts that the rows of a region are summed in."""

BLAS_GAIN = 8
"""How many times faster a product is in BLAS than in a loop over rows."""


class CellSums(Protocol):
    """Sums over the rows of every cell, in as far as they are kept."""

    def rebuild(self, transfer: Transfer) -> None:
        """Start from all rows."""
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


def cell_sums(
    engine: LocalEngine, n_classes: int, region: IntArray, cells: Cells, *, for_norms: bool = True
) -> CellSums:
    """Keep what there is room for; products only where norms will be asked for."""
    n_cells = n_classes * engine.n_codes
    if n_cells * engine.n_features * 8 <= KEPT_BYTES:
        return KeptSums(engine, n_cells)
    if for_norms and n_cells * engine.n_codes * 8 <= KEPT_BYTES:
        return KeptProducts(engine, n_classes, region, cells)
    return SumsOnDemand(engine, region)


class KeptSums:
    """The sums of all cells."""

    def __init__(self, engine: LocalEngine, n_cells: int) -> None:
        self._engine = engine
        self._sums = np.zeros((n_cells, engine.n_features))

    def rebuild(self, transfer: Transfer) -> None:
        """Start from all rows."""
        self._sums.fill(0.0)
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

        def run(part: int) -> None:
            own = slice(cuts[part], cuts[part + 1])
            self._engine.rows.add(
                transfer.rows[own], transfer.cells[own], transfer.weights[own], self._sums
            )

        n_entries = len(transfer.rows) * self._engine.rows.entries_per_row
        self._engine.in_threads.each(run, range(n_threads), n_entries)
        self._engine.add_constant(transfer.cells, transfer.weights, self._sums)

    def exchange(self, first: int, second: int) -> None:
        """Let two regions change places."""
        own, other = self._of(first), self._of(second)
        own[:], other[:] = other.copy(), own.copy()

    def squared_norms(self, regions: IntArray, coefficients: FloatArray) -> FloatArray:
        """Return the squared norms of the unmixed sums of regions, (regions, Q)."""
        from unconfused.engines._cell_kernels import unmixed_squares

        out = np.empty((len(regions), coefficients.shape[1]))
        self._engine.in_threads.each(
            lambda k: unmixed_squares(self._of(regions[k]), coefficients, out[k]),
            range(len(regions)),
            len(regions) * self._sums.shape[1] * coefficients.size,
        )
        return out

    def unmixed(self, region: int, true: int, coefficients: FloatArray) -> FloatArray:
        """Return one unmixed sum of a region, (features,)."""
        return np.asarray(coefficients[:, true] @ self._of(region))

    def all_unmixed(self, region: int, coefficients: FloatArray) -> FloatArray:
        """Return all unmixed sums of a region, (Q, features)."""
        return np.asarray(coefficients.T @ self._of(region))

    def _of(self, region: int) -> FloatArray:
        n_codes = self._engine.n_codes
        return self._sums[region * n_codes : (region + 1) * n_codes]


class SumsOnDemand:
    """No sums at all: every question goes back to the rows of a region."""

    def __init__(self, engine: LocalEngine, region: IntArray) -> None:
        self._engine = engine
        self._region = region

    def rebuild(self, transfer: Transfer) -> None:
        """Start from all rows: nothing is kept."""

    def shift(self, transfer: Transfer, coefficients: FloatArray) -> None:
        """Move some rows: nothing is kept."""

    def exchange(self, first: int, second: int) -> None:
        """Let two regions change places: nothing is kept."""

    def squared_norms(self, regions: IntArray, coefficients: FloatArray) -> FloatArray:
        """Return the squared norms of the unmixed sums of regions, (regions, Q)."""
        out = np.empty((len(regions), coefficients.shape[1]))
        for k, region in enumerate(regions):
            vectors = self.all_unmixed(int(region), coefficients)
            np.einsum("qj,qj->q", vectors, vectors, out=out[k])
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
        codes, sums = self._sums_of(region)
        return np.asarray(coefficients[codes].T @ sums)

    def _sums_of(self, region: int) -> tuple[IntArray, FloatArray]:
        """Return the codes there are in a region, and their sums."""
        rows = np.flatnonzero(self._region == region)
        codes, places = np.unique(self._engine.codes[rows], return_inverse=True)
        sums = np.zeros((len(codes), self._engine.n_features))
        self._engine.add(rows, places, self._engine.weights[rows], sums)
        return codes, sums


class KeptProducts(SumsOnDemand):
    """The inner products of the sums within every region, and a few update vectors."""

    def __init__(self, engine: LocalEngine, n_classes: int, region: IntArray, cells: Cells) -> None:
        super().__init__(engine, region)
        self._cells = cells
        self._grams = np.zeros((n_classes, engine.n_codes, engine.n_codes))
        self.vectors = KeptVectors(engine, cells, VECTOR_BYTES)

    def rebuild(self, transfer: Transfer) -> None:
        """Start from all rows."""
        self.vectors.clear()
        self._grams.fill(0.0)
        for region in transfer.regions(self._engine.n_codes):
            self._start_again(int(region))

    def unmixed(self, region: int, true: int, coefficients: FloatArray) -> FloatArray:
        """Return one unmixed sum of a region, (features,)."""
        vector = self.vectors.get((region, true))
        if vector is None:
            vector = super().unmixed(region, true, coefficients)
            self.vectors.put((region, true), vector)
        return vector

    def shift(self, transfer: Transfer, coefficients: FloatArray) -> None:
        """Move some rows."""
        self.vectors.shift(transfer, coefficients)
        n_codes, rows = self._engine.n_codes, self._engine.rows
        regions = transfer.regions(n_codes)
        members = Transfer.rows_in(self._engine, self._region, regions)
        edges = np.searchsorted(members.cells, np.arange(self._grams.shape[0] * n_codes + 1))
        ends = np.searchsorted(transfer.cells, np.append(regions, regions[-1:] + 1) * n_codes)

        def run(k: int) -> None:
            region = int(regions[k])
            own = slice(ends[k], ends[k + 1])
            inside = edges[region * n_codes : (region + 1) * n_codes + 1]
            n_products = (ends[k + 1] - ends[k]) * rows.entries_per_row
            if BLAS_GAIN * n_products > n_codes * rows.n_columns:
                self._start_again(region)
                return
            rows.move_gram(
                members.rows, inside, self._engine.weights, transfer.rows[own],
                transfer.cells[own] - region * n_codes, transfer.weights[own], self._grams[region],
            )  # fmt: skip
            bare = self._cells.empty[region]
            self._grams[region, bare] = self._grams[region][:, bare] = 0.0

        # The largest first: a thread that gets one at the end would keep the others waiting.
        costs = edges[(regions + 1) * n_codes] - edges[regions * n_codes] + n_codes * np.diff(ends)
        largest_first = np.argsort(-costs, kind="stable").tolist()
        self._engine.in_threads.each(run, largest_first, self._engine.rows.n_entries)

    def exchange(self, first: int, second: int) -> None:
        """Let two regions change places."""
        self.vectors.exchange(first, second)
        self._grams[[first, second]] = self._grams[[second, first]]

    def squared_norms(self, regions: IntArray, coefficients: FloatArray) -> FloatArray:
        """Return the squared norms of the unmixed sums of regions, (regions, Q)."""
        out = np.empty((len(regions), coefficients.shape[1]))
        for k, region in enumerate(regions):
            half = self._grams[region] @ coefficients
            np.einsum("sq,sq->q", coefficients, half, out=out[k])
        if self._engine.intercept:
            out += (self._cells.counts[regions] @ coefficients) ** 2
        return np.maximum(out, 0.0)

    def _start_again(self, region: int) -> None:
        codes, sums = self._sums_of(region)
        columns = sums[:, : self._engine.rows.n_columns]
        self._grams[region] = 0.0
        self._grams[region][np.ix_(codes, codes)] = columns @ columns.T
