"""What is asked of the sums of regions, wherever they are kept: sums unmixed, and their norms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unconfused._typing import FloatArray, IntArray

if TYPE_CHECKING:
    from unconfused.engines.local import LocalEngine

WORTH_BLAS = 2**18
"""Products from which on BLAS makes them faster than a loop without its preparations."""

PRODUCTS_PER_ENTRY = 16
"""Products that BLAS makes in the time that an entry of a row takes to come in and be added."""

STRIP = 512
"""Features whose squares BLAS makes at once."""

REGIONS_TOGETHER = 4
"""Regions that one thread measures at a time, where each takes little."""


class UnmixedSums(ABC):
    """Sums of rows, by region and code; those of a region's codes follow one another."""

    def __init__(self, engine: LocalEngine, n_sums: int) -> None:
        self._engine = engine
        self._sums = np.zeros((n_sums, engine.n_features))

    @abstractmethod
    def _firsts(self, regions: IntArray) -> IntArray:
        """Return where the sums of regions begin, brought up to date."""

    def squared_norms(self, regions: IntArray, coefficients: FloatArray) -> FloatArray:
        """Return the squared norms of the unmixed sums of regions, (regions, Q)."""
        return self._squares_at(self._firsts(regions), coefficients)

    def unmixed(self, region: int, true: int, coefficients: FloatArray) -> FloatArray:
        """Return one unmixed sum of a region, (features,)."""
        # Not by BLAS, which rounds as its number of threads has it.
        return np.asarray(np.einsum("s,sj->j", coefficients[:, true], self._of(region)))

    def unmixed_pairs(
        self, pairs: Sequence[tuple[int, int]], coefficients: FloatArray
    ) -> FloatArray:
        """Return the unmixed sums of some pairs (region, true class), (pairs, features)."""
        from unconfused.engines._cell_kernels import unmix_pairs

        regions, true = np.array(pairs).T
        out = np.empty((len(pairs), self._sums.shape[1]))
        unmix_pairs(self._sums, self._firsts(regions), true, coefficients, out)
        return out

    def all_unmixed(self, region: int, coefficients: FloatArray) -> FloatArray:
        """Return all unmixed sums of a region, (Q, features)."""
        return np.asarray(coefficients.T @ self._of(region))

    def _of(self, region: int) -> FloatArray:
        (first,) = self._firsts(np.array([region]))
        return self._sums[first : first + self._engine.n_codes]

    def _squares_at(self, firsts: IntArray, coefficients: FloatArray) -> FloatArray:
        """Return the squared norms of unmixed sums that begin at some places, (places, Q)."""
        if self._sums.shape[1] * coefficients.size >= WORTH_BLAS:
            return self._squares_by_blas(firsts, coefficients)
        from unconfused.engines._cell_kernels import unmixed_squares

        out = np.empty((len(firsts), coefficients.shape[1]))

        def run(start: int) -> None:
            some = slice(start, start + REGIONS_TOGETHER)
            unmixed_squares(self._sums, firsts[some], coefficients, out[some])

        n_products = len(firsts) * self._sums.shape[1] * coefficients.size
        starts = range(0, len(firsts), REGIONS_TOGETHER)
        self._engine.in_threads.each(run, starts, n_products)
        return out

    def _squares_by_blas(self, firsts: IntArray, coefficients: FloatArray) -> FloatArray:
        # Strips of one width, so that one region is work for all threads and norms round alike.
        starts = range(0, self._sums.shape[1], STRIP)
        strips = [slice(start, start + STRIP) for start in starts]
        parts = np.empty((len(firsts), len(strips), coefficients.shape[1]))
        n_codes = self._engine.n_codes

        def run(piece: int) -> None:
            k, strip = divmod(piece, len(strips))
            own = self._sums[firsts[k] : firsts[k] + n_codes, strips[strip]]
            vectors = coefficients.T @ own
            np.einsum("qj,qj->q", vectors, vectors, out=parts[k, strip])

        n_products = len(firsts) * self._sums.shape[1] * coefficients.size
        n_pieces = len(firsts) * len(strips)
        self._engine.in_threads.each(run, range(n_pieces), n_products // PRODUCTS_PER_ENTRY)
        return np.asarray(parts.sum(axis=1))
