"""Gram matrices of cell sums, where the sums themselves do not fit into memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from unconfused._compilation import compiled
from unconfused._typing import FloatArray, IntArray
from unconfused.engines.local.partition import SumsOnDemand
from unconfused.engines.local.rows import AHEAD, add_row, clear_row, dot_row, fetch

if TYPE_CHECKING:
    from unconfused.engines.local.engine import LocalEngine

SHRUNK = 16
"""A Gram matrix that has shrunk by this factor is recomputed, to limit rounding errors."""

BLAS_GAIN = 8
"""Approximate speed of a product in BLAS relative to a loop over rows."""


class Moved(NamedTuple):
    """Rows that joined a region, or left it."""

    rows: IntArray
    codes: Any
    weights: FloatArray
    """Negative for rows that left."""


class GramSums(SumsOnDemand):
    """Gram matrices of the cell sums of every region, where the sums themselves do not fit.

    With text, the sums of all cells would take gigabytes, but norms need only their inner products
    within a region. The Gram matrix of a region is updated by products with the rows that moved.
    """

    def __init__(self, engine: LocalEngine, n_classes: int, region: IntArray) -> None:
        super().__init__(engine, n_classes, region)
        n_codes = engine.n_codes
        self._grams = np.zeros((n_classes, n_codes, n_codes))
        self._counted = np.zeros((n_classes, engine.rows.n_rows), dtype=bool)
        """Rows included in every Gram matrix."""

        self.n_bytes = self._grams.nbytes + self._counted.nbytes

        self._largest = np.zeros(n_classes)
        """Trace of every Gram matrix when it was largest, since it was made."""

        per_row = BLAS_GAIN * max(1, engine.rows.n_entries // engine.rows.n_rows)
        self._most_moved = n_codes * engine.n_features / per_row
        """Number of moved rows beyond which recomputing is cheaper than updating."""

    def clear(self) -> None:
        self._grams.fill(0.0)
        self._counted.fill(False)
        self._largest.fill(0.0)

    def measure(
        self, pairs: Sequence[tuple[int, int]], squared_norms: FloatArray, slack: FloatArray
    ) -> None:
        regions = sorted({predicted for predicted, _ in pairs})
        self._update(regions)
        for region in regions:
            coefficients = self.coefficients[region]
            squared = np.einsum("sq,sq->q", coefficients, self._grams[region] @ coefficients)
            squared_norms[region] = np.maximum(squared, 0.0)
            slack[region] = 0.0

    def _update(self, regions: list[int]) -> None:
        """Apply pending moves to the Gram matrices of these regions."""
        recomputed, updated = [], []
        for region in regions:
            inside = self._region == region
            changed = np.flatnonzero(inside != self._counted[region])
            if len(changed) > self._most_moved:
                recomputed.append((region,))
            elif len(changed):
                updated.append((region, inside, changed))
            self._counted[region] = inside
        self._engine.in_threads.each(self._recompute, recomputed)
        self._apply(updated)
        traces = np.einsum("rss->r", self._grams)
        np.maximum(self._largest, traces, out=self._largest)
        shrunk = [(r,) for r in regions if SHRUNK * traces[r] < self._largest[r]]
        self._engine.in_threads.each(self._recompute, shrunk)

    def _recompute(self, region: int) -> None:
        codes, sums = self.sums_of(region)
        self._grams[region] = 0.0
        self._grams[region][np.ix_(codes, codes)] = sums @ sums.T
        self._largest[region] = np.trace(self._grams[region])

    def _apply(self, moves: list[tuple[int, FloatArray, IntArray]]) -> None:
        """Apply moves, each given as (region, mask of its current rows, moved rows)."""
        engine, n_codes, work = self._engine, self._engine.n_codes, []
        halves = np.zeros((len(moves), n_codes, n_codes))
        for half, (_, inside, changed) in zip(halves, moves, strict=True):
            members = np.flatnonzero(inside)
            members = members[np.argsort(engine.codes[members], kind="stable")]
            ends = np.searchsorted(engine.codes[members], np.arange(n_codes + 1))
            weights = np.where(inside[changed], 1.0, -1.0) * engine.weights[changed]
            moved = Moved(changed, engine.codes[changed], weights)
            # Balance the threads by cost; a code without rows still pays for the moved ones.
            costs = ends + np.arange(n_codes + 1) * len(changed)
            shares = np.linspace(0, costs[-1], engine.in_threads.n_threads + 1)
            for codes in pairwise(np.searchsorted(costs, shares)):
                work.append((members, ends, moved, codes, half))

        def run(
            members: IntArray, ends: IntArray, moved: Moved, codes: tuple[int, int],
            half: FloatArray,
        ) -> None:  # fmt: skip
            line = np.zeros(engine.n_features)
            settings = (engine.weights, engine.intercept, *codes, line, half)
            add_products(engine.rows.stored, members, ends, moved, *settings)

        engine.in_threads.each(run, work)
        for half, (region, *_) in zip(halves, moves, strict=True):
            self._grams[region] += half + half.T


@compiled
def add_products(
    rows: Any, members: IntArray, ends: IntArray, moved: Moved, weights: FloatArray,
    intercept: bool, first_code: int, last_code: int, line: FloatArray, half: FloatArray,
) -> None:  # fmt: skip
    """Add half of the change of a region's Gram matrix to `half`, for some label codes.

    With S the current sums and D their change, the Gram matrix changes by
    ``S D' + D S' - D D' = H D' + D H'`` with ``H = S - D / 2``. Columns first_code..last_code of
    ``D H'`` are added to `half`. `members` are the current rows of the region, those with code s at
    ``ends[s]`` to ``ends[s + 1]``. `line` is a buffer for one sum, all zeros on entry and exit.
    """
    n_moved, last = len(moved.rows), len(line) - 1
    for s in range(first_code, last_code):
        own = members[ends[s] : ends[s + 1]]
        for k in range(len(own)):
            fetch(rows, own[min(k + AHEAD, len(own) - 1)])
            i = own[k]
            add_row(rows, i, weights[i], line)
            if intercept:
                line[last] += weights[i]
        for k in range(n_moved):
            if moved.codes[k] == s:
                add_row(rows, moved.rows[k], -0.5 * moved.weights[k], line)
                if intercept:
                    line[last] -= 0.5 * moved.weights[k]
        for k in range(n_moved):
            product = dot_row(rows, moved.rows[k], line)
            if intercept:
                product += line[last]
            half[moved.codes[k], s] += moved.weights[k] * product
        for i in own:
            clear_row(rows, i, line)
        for k in range(n_moved):
            if moved.codes[k] == s:
                clear_row(rows, moved.rows[k], line)
        line[last] = 0.0
