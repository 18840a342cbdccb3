"""The inner products of the sums within every region, brought up to date where it matters.

To move products along with rows takes a read of all rows in the regions concerned, and with text
nearly all regions are, in every update. But only the longest update vectors are ever wanted. So
rows that moved are noted down, with how much longer or shorter they can have made each vector (its
debt); products follow once a vector of their region could be the one that is looked for.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines._kept_vectors import KeptVectors
from unconfused.engines.cells import Cells, Transfer
from unconfused.engines.sums import SumsOnDemand

if TYPE_CHECKING:
    from unconfused.engines.local import LocalEngine

VECTOR_BYTES = 24 * 2**20
"""Beside products, so much of update vectors is kept."""

BLAS_GAIN = 8
"""How many times faster a product is in BLAS than in a loop over rows."""

HOPELESS = 2**62
"""More rows to follow than there are."""

PIECES = 8
"""Pieces of work that products are brought up to date in, at least."""

ROUNDING = 3e-7
"""Share of its longest possible length by which the norm of a vector, made of products, may be off:
half of the digits."""

Moved = tuple[IntArray, FloatArray]
"""Rows, and what they count: negatively if they left."""


class KeptProducts(SumsOnDemand):
    """Products of the sums within every region, and a few update vectors."""

    def __init__(self, engine: LocalEngine, n_classes: int, region: IntArray, cells: Cells) -> None:
        super().__init__(engine, region)
        self._cells = cells
        self._grams = np.zeros((n_classes, engine.n_codes, engine.n_codes))
        self._pending: list[list[Moved]] = [[] for _ in range(n_classes)]
        """Rows that the products of each region do not know of yet."""

        self._n_pending = np.zeros(n_classes, dtype=np.int64)
        self.debts = np.zeros((n_classes, n_classes))
        """How far every unmixed sum may be from what it was when its norm was last asked for."""

        self.vectors = KeptVectors(engine, cells, VECTOR_BYTES)

    def clear(self) -> None:
        """Forget all rows: products start again from those of a region once they are asked for."""
        self.vectors.clear()
        self._grams.fill(0.0)
        self._settle(np.arange(len(self._grams)))

    def fill(self, transfer: Transfer) -> None:
        """Note where there are rows."""
        self._n_pending[transfer.regions(self._engine.n_codes)] = HOPELESS

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
        n_classes, n_codes = len(self._grams), self._engine.n_codes
        lengths = np.abs(transfer.weights) * self._engine.row_norms[transfer.rows]
        masses = np.bincount(transfer.cells, lengths, minlength=n_classes * n_codes)
        self.debts += masses.reshape(n_classes, n_codes) @ np.abs(coefficients)
        ends = np.searchsorted(transfer.cells, np.arange(n_classes + 1) * n_codes)
        self._n_pending += np.diff(ends)
        for region in np.flatnonzero(np.diff(ends)).tolist():
            own = slice(ends[region], ends[region + 1])
            if self._is_hopeless(region):
                self._pending[region].clear()
            else:
                # Copies: a view would keep the lists of all regions.
                self._pending[region].append(
                    (transfer.rows[own].copy(), transfer.weights[own].copy())
                )

    def exchange(self, first: int, second: int) -> None:
        """Let two regions change places."""
        self.vectors.exchange(first, second)
        for table in (self._grams, self.debts, self._n_pending):
            table[[first, second]] = table[[second, first]]
        pending = self._pending
        pending[first], pending[second] = pending[second], pending[first]

    def squared_norms(self, regions: IntArray, coefficients: FloatArray) -> FloatArray:
        """Return the squared norms of the unmixed sums of regions, (regions, Q)."""
        self._catch_up(regions)
        out = np.empty((len(regions), coefficients.shape[1]))
        for k, region in enumerate(regions):
            half = self._grams[region] @ coefficients
            np.einsum("sq,sq->q", coefficients, half, out=out[k])
        if self._engine.intercept:
            out += (self._cells.counts[regions] @ coefficients) ** 2
        return np.maximum(out, 0.0)

    def inaccuracy(self, coefficients: FloatArray) -> FloatArray:
        """Return what the norms of all unmixed sums may be off by, (Q, Q), beside their debts."""
        sizes = np.sqrt(np.maximum(np.einsum("rss->rs", self._grams), 0.0))
        return np.asarray(ROUNDING * ((sizes + np.abs(self._cells.counts)) @ np.abs(coefficients)))

    def keeps(self, region: int, true: int) -> bool:
        """Say whether one unmixed sum is kept, and up to date."""
        return (region, true) in self.vectors

    def _is_hopeless(self, region: int) -> bool:
        """Say whether to start from a region's rows takes less than to follow those that moved."""
        # Of whole numbers without bounds, and of rows that may have less than an entry each.
        n_pending, per_row = int(self._n_pending[region]), max(1, self._engine.rows.entries_per_row)
        return BLAS_GAIN * n_pending * per_row > self._engine.n_codes * self._engine.rows.n_columns

    def _settle(self, regions: IntArray) -> None:
        """Note that nothing is pending in regions."""
        self.debts[regions] = 0.0
        self._n_pending[regions] = 0
        for region in regions:
            self._pending[region].clear()

    def _catch_up(self, regions: IntArray) -> None:
        """Bring the products of regions up to date with all that moved."""
        behind = regions[self._n_pending[regions] > 0]
        hopeless = np.array([self._is_hopeless(region) for region in behind], dtype=bool)
        followed = behind[~hopeless]
        n_entries = self._engine.rows.n_entries
        self._engine.in_threads.each(self._start_again, behind[hopeless].tolist(), n_entries)
        if len(followed):
            self._follow(followed)
        self._settle(behind)

    def _follow(self, regions: IntArray) -> None:
        engine, n_codes = self._engine, self._engine.n_codes
        lists = [_together(self._pending[region]) for region in regions]
        some = np.array([len(rows) > 0 for rows, _ in lists])  # all may have come back
        regions, moved = regions[some], [one for one in lists if len(one[0])]
        if len(regions) == 0:
            return
        members = Transfer.rows_in(engine, self._region, regions)
        halves = np.zeros((len(regions), n_codes, n_codes))
        n_parts = min(n_codes, -(-PIECES // len(regions)))
        work = []
        for k, region in enumerate(regions):
            edges = np.searchsorted(members.cells, region * n_codes + np.arange(n_codes + 1))
            # Of about as many rows each; a code costs something even without rows.
            shares = edges - edges[0] + np.arange(n_codes + 1) * len(moved[k][0])
            cuts = np.searchsorted(shares, np.linspace(0, shares[-1], n_parts + 1))
            work += [(k, edges, codes) for codes in pairwise(cuts) if codes[0] < codes[1]]

        def run(piece: int) -> None:
            k, edges, (first, last) = work[piece]
            rows, weights = moved[k]
            engine.rows.move_gram(
                members.rows, edges, engine.weights, rows, engine.codes[rows], weights,
                first, last, halves[k],
            )  # fmt: skip

        # The largest first: a thread that gets one at the end would keep the others waiting.
        costs = [edges[last] - edges[first] for _, edges, (first, last) in work]
        engine.in_threads.each(run, np.argsort(costs)[::-1].tolist(), engine.rows.n_entries)
        for region, half in zip(regions, halves, strict=True):
            self._grams[region] += half + half.T
            bare = self._cells.empty[region]
            self._grams[region, bare] = self._grams[region][:, bare] = 0.0

    def _start_again(self, region: int) -> None:
        codes, sums = self.sums_of(region)
        columns = sums[:, : self._engine.rows.n_columns]
        self._grams[region] = 0.0
        self._grams[region][np.ix_(codes, codes)] = columns @ columns.T


def _together(moved: list[Moved]) -> Moved:
    """Join what moved, leaving out rows that came back, or left again."""
    rows, places = np.unique(np.concatenate([one for one, _ in moved]), return_inverse=True)
    weights = np.bincount(places, np.concatenate([weights for _, weights in moved]))
    stayed = weights != 0
    return rows[stayed], weights[stayed]
