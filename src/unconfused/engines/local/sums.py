"""Sums of the rows in every cell: kept where there is room, otherwise made when asked for.

Only the longest update vectors are ever wanted, so nothing follows at once when rows move. A
partition bounds how far every vector can be from when it was last measured; whichever could be the
longest is measured again, and only then are the sums of its region brought up to date.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines.local.memory_plan import sums_fit

if TYPE_CHECKING:
    from unconfused.engines.local.engine import LocalEngine

PARTS = 4
"""Parts that the rows of a region are summed in, whatever the number of threads: sums round alike."""


class CellSums(Protocol):
    """Unmixed sums over the rows of regions."""

    def clear(self) -> None:
        """Forget all rows."""
        ...

    def measure(
        self, pairs: Sequence[tuple[int, int]], squared_norms: FloatArray, slack: FloatArray
    ) -> None:
        """Write the squared norms of these pairs' sums, or of more, and set their slack to 0."""
        ...

    def unmixed(self, region: int, true: int) -> FloatArray:
        """Return one unmixed sum of a region, (features,)."""
        ...

    def all_unmixed(self, region: int) -> FloatArray:
        """Return all unmixed sums of a region, (Q, features)."""
        ...


def cell_sums(engine: LocalEngine, coefficients: FloatArray, region: IntArray) -> CellSums:
    """Keep the sums of all cells if they fit."""
    fit = sums_fit(engine, coefficients.shape[1])
    return (KeptSums if fit else SumsOnDemand)(engine, coefficients, region)


class KeptSums:
    """The sums of all cells, each region's brought up to date when it is asked for."""

    def __init__(self, engine: LocalEngine, coefficients: FloatArray, region: IntArray) -> None:
        self._engine, self._coefficients, self._region = engine, coefficients, region
        n_classes = coefficients.shape[1]
        self._sums = np.zeros((n_classes, engine.n_codes, engine.n_features))
        self._counted = np.zeros((n_classes, engine.rows.n_rows), dtype=bool)
        """Which rows the sums of each region count."""

    def clear(self) -> None:
        """Forget all rows."""
        self._sums.fill(0.0)
        self._counted.fill(False)

    def measure(
        self, pairs: Sequence[tuple[int, int]], squared_norms: FloatArray, slack: FloatArray
    ) -> None:
        """Write the squared norms of all sums of these pairs' regions."""
        for region in sorted({predicted for predicted, _ in pairs}):
            vectors = self.all_unmixed(region)
            np.einsum("qj,qj->q", vectors, vectors, out=squared_norms[region])
            slack[region] = 0.0

    def unmixed(self, region: int, true: int) -> FloatArray:
        """Return one unmixed sum of a region, (features,)."""
        return np.asarray(self._coefficients[:, true] @ self._updated(region))

    def all_unmixed(self, region: int) -> FloatArray:
        """Return all unmixed sums of a region, (Q, features)."""
        return np.asarray(self._coefficients.T @ self._updated(region))

    def _updated(self, region: int) -> FloatArray:
        """Bring the sums of a region's codes up to date with the rows that left or joined it."""
        sums, counted = self._sums[region], self._counted[region]
        inside = self._region == region
        changed = np.flatnonzero(inside != counted)
        if len(changed):
            weights = self._engine.weights[changed]
            weights = np.where(inside[changed], weights, -weights)
            self._engine.add(changed, self._engine.codes[changed], weights, sums)
            counted[changed] ^= True
        return sums


class SumsOnDemand:
    """No sums at all: every question goes back to the rows of a region."""

    def __init__(self, engine: LocalEngine, coefficients: FloatArray, region: IntArray) -> None:
        self._engine, self._coefficients, self._region = engine, coefficients, region
        self.n_measured = 0

    def clear(self) -> None:
        """Forget all rows: nothing is kept."""

    def measure(
        self, pairs: Sequence[tuple[int, int]], squared_norms: FloatArray, slack: FloatArray
    ) -> None:
        """Write the squared norms of these pairs' sums."""
        self.n_measured += len(pairs)
        for pair in pairs:
            vector = self.unmixed(*pair)
            squared_norms[pair] = np.einsum("j,j->", vector, vector)
            slack[pair] = 0.0

    def unmixed(self, region: int, true: int) -> FloatArray:
        """Return one unmixed sum of a region, (features,)."""
        rows = np.flatnonzero(self._region == region)
        weights = self._coefficients[self._engine.codes[rows], true] * self._engine.weights[rows]
        out = np.zeros((1, self._engine.n_features))
        self._engine.add(rows, np.zeros(len(rows), dtype=np.intp), weights, out)
        return out[0]

    def all_unmixed(self, region: int) -> FloatArray:
        """Return all unmixed sums of a region, (Q, features)."""
        rows = np.flatnonzero(self._region == region)
        codes, places = np.unique(self._engine.codes[rows], return_inverse=True)
        sums = np.zeros((len(codes), self._engine.n_features))
        self._engine.add(rows, places, self._engine.weights[rows], sums)
        return np.asarray(self._coefficients[codes].T @ sums)
