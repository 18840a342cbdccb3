"""The inner products of the sums within every region, brought up to date where it matters.

To move products along with rows takes a read of all rows in the regions concerned, and with text
nearly all regions are, in every update. So rows that moved are noted down (`arrears.py`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines._kept_vectors import KeptVectors
from unconfused.engines.arrears import Arrears
from unconfused.engines.cells import Cells, Transfer
from unconfused.engines.sums import SumsOnDemand

if TYPE_CHECKING:
    from unconfused.engines.local import LocalEngine

VECTOR_BYTES = 24 * 2**20
"""Beside products, so much of update vectors is kept."""

BLAS_GAIN = 8
"""How many times faster a product is in BLAS than in a loop over rows."""

PIECES = 8
"""Pieces of work that products are brought up to date in, at least."""

ROUNDING = 3e-7
"""Share of its longest possible length by which the norm of a vector, made of products, may be off:
half of the digits."""


class KeptProducts(SumsOnDemand):
    """Products of the sums within every region, and a few update vectors."""

    def __init__(self, engine: LocalEngine, n_classes: int, region: IntArray, cells: Cells) -> None:
        super().__init__(engine, region)
        self._cells = cells
        self._grams = np.zeros((n_classes, engine.n_codes, engine.n_codes))
        self.arrears = Arrears(engine, n_classes, self._limits)
        self.vectors = KeptVectors(engine, cells, VECTOR_BYTES)

    def clear(self) -> None:
        """Forget all rows: products start again from those of a region once they are asked for."""
        self.vectors.clear()
        self._grams.fill(0.0)
        self.arrears.start()

    def fill(self, transfer: Transfer) -> None:
        """Note where there are rows."""
        self.arrears.fill(transfer.regions(self._engine.n_codes))

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
        self.arrears.note(transfer, coefficients)

    def exchange(self, first: int, second: int) -> None:
        """Let two regions change places."""
        self.vectors.exchange(first, second)
        self.arrears.exchange(first, second)
        self._grams[[first, second]] = self._grams[[second, first]]

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

    def inaccuracy(self, coefficients: FloatArray, longest: FloatArray) -> FloatArray:
        """Return what the norms of all unmixed sums may be off by, (Q, Q), beside their debts.

        They are no longer than `longest`; but products say more closely how long their parts are.
        """
        sizes = np.sqrt(np.maximum(np.einsum("rss->rs", self._grams), 0.0))
        return np.asarray(ROUNDING * ((sizes + np.abs(self._cells.counts)) @ np.abs(coefficients)))

    def debts(self, coefficients: FloatArray) -> FloatArray:
        """Return how far every unmixed sum may be from when its norm was measured, (Q, Q)."""
        return self.arrears.debts

    def settle(self, regions: IntArray) -> None:
        """Note that the norms of regions have been measured."""
        self.arrears.debts[regions] = 0.0

    def keeps(self, region: int, true: int) -> bool:
        """Say whether one unmixed sum is kept, and up to date."""
        return (region, true) in self.vectors

    def _limits(self) -> FloatArray:
        """Return how many rows may have moved until to start again takes less than to follow."""
        # Rows may have less than an entry each.
        per_row = BLAS_GAIN * max(1, self._engine.rows.entries_per_row)
        limit = self._engine.n_codes * self._engine.rows.n_columns / per_row
        return np.full(len(self._grams), limit)

    def _catch_up(self, regions: IntArray) -> None:
        """Bring the products of regions up to date with all that moved."""
        again, followed = self.arrears.behind(regions)
        n_entries = self._engine.rows.n_entries
        self._engine.in_threads.each(self._start_again, again.tolist(), n_entries)
        if len(followed):
            self._follow(followed)
        self.arrears.settle(np.concatenate([again, followed]))

    def _follow(self, regions: IntArray) -> None:
        engine, n_codes = self._engine, self._engine.n_codes
        lists = [self.arrears.net(region) for region in regions]
        self.arrears.give_up(regions)  # if it is interrupted
        some = np.array([len(rows) > 0 for rows, _ in lists])  # all may have come back
        regions, moved = regions[some], [one for one in lists if len(one[0])]
        if len(regions) == 0:
            return
        (members,) = Transfer.rows_in(engine, self._region, regions, max(1, engine.rows.n_rows))
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
