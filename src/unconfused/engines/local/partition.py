"""Incremental partition of the rows of a local engine, with the sums of its cells.

The solver needs only the longest update vectors. A partition bounds all norms and measures those
that could be the longest, so the sums of a region need to be current only then.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from unconfused._compilation import compiled
from unconfused._typing import FloatArray, IntArray
from unconfused.engines.base import CellTables

if TYPE_CHECKING:
    from unconfused._matrix import Unmixing
    from unconfused.engines.local.assignment import RowAssignment
    from unconfused.engines.local.engine import LocalEngine

ROWS_AT_ONCE = 8192
"""Rows added to tables and sums at a time: lists of rows take memory."""

LOST = 1e-9
"""Share of the total by which rounding may have reduced a cell."""

MOVES_PER_ROW = 8
"""Moves per row after which tables and sums are rebuilt, to limit accumulated rounding."""

LONGER = 1.0 + 1e-7
"""Factor by which norm bounds are widened, for the rounding of a sum of many norms."""

ROUNDING = 3e-7
"""Error of a norm computed from inner products, relative to its Cauchy-Schwarz bound: taking the
square root halves the digits."""


class Labelled(NamedTuple):
    """Label code, weight and norm of every row."""

    codes: Any
    weights: FloatArray
    norms: FloatArray


class Tables(NamedTuple):
    """Statistics of every cell (region, label code)."""

    members: IntArray
    """Number of rows that count."""

    counts: FloatArray
    """Their total weight."""

    squares: FloatArray
    """Weighted sum of their squared norms."""

    moved: FloatArray
    """Weighted sum of the norms of rows that left or joined in the last call."""


class SumsOnDemand:
    """Store nothing: recompute sums from the rows of a region. Base class of the others.

    The owner modifies `region`, that of every row (-1 for none), in place.
    """

    coefficients: FloatArray
    """Unmixing coefficients by region, label code and class, (Q, S, Q); set by the owner."""

    n_bytes = 0
    """Memory taken."""

    def __init__(self, engine: LocalEngine, n_classes: int, region: IntArray) -> None:
        self._engine, self._region = engine, region

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

        self._engine.in_threads.each(run, [(r,) for r in sorted({p for p, _ in pairs})])

    def unmixed(self, region: int, true: int) -> FloatArray:
        """Return one unmixed sum of a region, (features,)."""
        rows = np.flatnonzero(self._region == region)
        weights = self.coefficients[region, self._engine.codes[rows], true]
        weights = weights * self._engine.weights[rows]
        out = np.zeros((1, self._engine.n_features))
        self._engine.add(rows, np.zeros(len(rows), dtype=np.intp), weights, out)
        return np.asarray(out[0])

    def all_unmixed(self, region: int) -> FloatArray:
        """Return all unmixed sums of a region, (Q, features)."""
        codes, sums = self.sums_of(region)
        return np.asarray(self.coefficients[region, codes].T @ sums)

    def sums_of(self, region: int) -> tuple[IntArray, FloatArray]:
        """Return the label codes present in a region and their sums, (codes, features)."""
        rows = np.flatnonzero(self._region == region)
        codes, places = np.unique(self._engine.codes[rows], return_inverse=True)
        sums = np.zeros((len(codes), self._engine.n_features))
        self._engine.add(rows, places, self._engine.weights[rows], sums)
        return codes, sums


class KeptSums(SumsOnDemand):
    """Sums of all cells, updated at every move."""

    def __init__(self, engine: LocalEngine, n_classes: int, region: IntArray) -> None:
        super().__init__(engine, n_classes, region)
        self._sums = np.zeros((n_classes, engine.n_codes, engine.n_features))
        self._codes = np.arange(engine.n_codes)
        self.n_bytes = self._sums.nbytes

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
        return np.asarray(self.coefficients[region, :, true] @ self.sums_of(region)[1])

    def sums_of(self, region: int) -> tuple[IntArray, FloatArray]:
        """Return all label codes and their sums, (S, features)."""
        return self._codes, self._sums[region]


class LazySums(KeptSums):
    """Sums updated only when a region is requested; by then many rows have moved back."""

    def __init__(self, engine: LocalEngine, n_classes: int, region: IntArray) -> None:
        super().__init__(engine, n_classes, region)
        self._counted = np.zeros((n_classes, engine.rows.n_rows), dtype=bool)
        """Rows included in the sums of every region."""

        self.n_bytes += self._counted.nbytes

    def clear(self) -> None:
        super().clear()
        self._counted.fill(False)

    def move(self, rows: IntArray, before: IntArray) -> None:
        """Do nothing: moves stay pending until `sums_of`."""

    def measure(
        self, pairs: Sequence[tuple[int, int]], squared_norms: FloatArray, slack: FloatArray
    ) -> None:
        for region in sorted({p for p, _ in pairs}):
            self._start_near(region)
        super().measure(pairs, squared_norms, slack)

    def _start_near(self, region: int) -> None:
        """Replace a region's sums by those with the fewest moves to apply: regions trade places."""
        inside = self._region == region
        n_changed = np.count_nonzero(inside != self._counted[region])
        if n_changed * self._engine.n_features > self._counted.size:  # else a search costs more
            nearest = int(np.count_nonzero(inside != self._counted, axis=1).argmin())
            for own in (self._sums, self._counted):
                own[region] = own[nearest]

    def sums_of(self, region: int) -> tuple[IntArray, FloatArray]:
        """Apply pending moves; return all label codes and their sums, (S, features)."""
        inside = self._region == region
        changed = np.flatnonzero(inside != self._counted[region])
        weights = self._engine.weights[changed]
        weights = np.where(inside[changed], weights, -weights)
        self._engine.add(changed, self._engine.codes[changed], weights, self._sums[region])
        self._counted[region] = inside
        return self._codes, self._sums[region]


class LocalPartition:
    """Partition that keeps assignments, tables and sums between updates.

    Norms are bounded lazily: a norm differs from its last measured value by at most its slack (the
    total length of the rows that moved since), and never exceeds the Cauchy-Schwarz bound of its
    region.
    """

    def __init__(
        self,
        engine: LocalEngine,
        unmixing: Unmixing,
        assignment: RowAssignment,
        sums: SumsOnDemand,
    ) -> None:
        self._engine, self._assignment, self._sums = engine, assignment, sums
        n_classes = unmixing.n_classes
        self.total = float(engine.weights.sum())
        self.n_features = engine.n_features
        shape = (n_classes, engine.n_codes)
        members = np.zeros(shape, dtype=np.int32 if engine.rows.n_rows < 2**31 else np.int64)
        self._cells = Tables(members, np.zeros(shape), np.zeros(shape), np.zeros(shape))
        self._labelled = Labelled(engine.codes, engine.weights, engine.row_norms)
        self._total_square = float(
            np.einsum("i,i,i->", engine.weights, engine.row_norms, engine.row_norms)
        )
        self._squared_norms = np.zeros((n_classes, n_classes))
        """Squared norms of the unmixed sums when last measured."""

        self._slack = np.zeros((n_classes, n_classes))
        """Bound on the distance of every unmixed sum from its last measured value."""

        self._longest = np.zeros((n_classes, n_classes))
        """Cauchy-Schwarz bounds on the norms of the unmixed sums; outdated in changed regions."""

        self._changed = np.ones(n_classes, dtype=bool)
        self._versions = np.zeros(n_classes, dtype=np.int64)
        self.at_zero = True
        """Whether all weights are 0: every region then holds all rows."""

        self._n_moved = 0
        self.set_unmixing(unmixing)

    def set_unmixing(self, unmixing: Unmixing) -> None:
        self._by_region = np.ascontiguousarray(unmixing.coefficients_by_region)
        """(Q, S, Q), or (1, S, Q) if they are the same in all regions."""

        shape = unmixing.n_classes, *self._by_region.shape[1:]
        self._sums.coefficients = np.broadcast_to(self._by_region, shape)
        self._outdated = True

    def restart(self, weights: FloatArray) -> None:
        self.at_zero = not weights.any()
        self._outdated = True
        if self.at_zero:
            self._assignment.region.fill(0)
        else:
            self._assignment.restart(weights)

    def move(self, steps: FloatArray, direction: FloatArray) -> None:
        if self.at_zero:
            self.restart(np.outer(steps, direction))
            return
        rows, before = self._assignment.move(steps, direction)
        self._n_moved += len(rows)
        if self._outdated or self._n_moved > MOVES_PER_ROW * self._engine.rows.n_rows:
            self._outdated = True
            return
        moved = self._move_cells(rows, before)
        changed = np.flatnonzero(moved.any(axis=1))
        self._slack[changed] += self._unmix(moved[changed], changed)
        self._versions[changed] += 1
        self._changed[changed] = True

    def tables(self) -> CellTables:
        self._rebuild_if_outdated()
        counts, squares = self._cells.counts.copy(), self._cells.squares.copy()
        if self.at_zero:
            counts[1:], squares[1:] = counts[0], squares[0]
        return CellTables(counts, squares)

    def norm_bounds(self) -> tuple[FloatArray, FloatArray]:
        self._rebuild_if_outdated()
        changed = np.flatnonzero(self._changed)
        with np.errstate(invalid="ignore"):  # overflow is reported by the solver
            self._longest[changed] = self._unmix(self._longest_sums(changed), changed)
        self._changed.fill(False)
        lower, upper = np.empty((2, *self._slack.shape))
        bound_norms(self._squared_norms, self._slack, self._longest, self.total, lower, upper)
        if self.at_zero:
            lower[1:], upper[1:] = lower[0], upper[0]
        return lower, upper

    def measure(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Compute the exact norms of these pairs."""
        self._rebuild_if_outdated()
        if self.at_zero:
            pairs = [(0, true) for _, true in pairs]
        slack = self._slack
        self._sums.measure([pair for pair in pairs if slack[pair] > 0], self._squared_norms, slack)

    def update_vector(self, predicted: int, true: int) -> FloatArray:
        self._rebuild_if_outdated()
        return self._sums.unmixed(0 if self.at_zero else predicted, true) / self.total

    def update_vectors(self, predicted: int) -> FloatArray:
        return self.region_sums(predicted) / self.total

    def region_versions(self) -> IntArray:
        """Return a counter for every region, (Q,), that changes whenever its rows do."""
        self._rebuild_if_outdated()
        return self._versions.copy()

    def region_sums(self, predicted: int) -> FloatArray:
        """Return the unmixed sums of a region: its update vectors times the total weight."""
        self._rebuild_if_outdated()
        return self._sums.all_unmixed(0 if self.at_zero else predicted)

    def _move_cells(self, rows: IntArray, before: IntArray) -> FloatArray:
        """Move rows between cells; return the sum of their weighted norms by cell, (Q, S)."""
        self._cells.moved.fill(0.0)
        for start in range(0, len(rows), ROWS_AT_ONCE):
            some, origin = (one[start : start + ROWS_AT_ONCE] for one in (rows, before))
            move_rows(some, origin, self._assignment.region, self._labelled, self._cells)
            self._sums.move(some, origin)
        return self._cells.moved

    def _longest_sums(self, regions: IntArray) -> FloatArray:
        """Return an upper bound on the norm of every cell's sum in these regions, (regions, S).

        By Cauchy-Schwarz, the weighted sum of rows with norms l and weights w is no longer than
        ``sqrt(sum(w) * sum(w l²))``. The tables are widened by what rounding may have lost.
        """
        members, counts, squares = (table[regions] for table in self._cells[:3])
        counts = np.sqrt(np.maximum(counts, 0.0) + LOST * self.total)
        squares = np.sqrt(np.maximum(squares, 0.0) + LOST * self._total_square)
        return np.where(members == 0, 0.0, counts * squares)

    def _unmix(self, lengths: FloatArray, regions: IntArray) -> FloatArray:
        """Bound the lengths of unmixed sums by the lengths of their cells, (regions, Q)."""
        if len(self._by_region) == 1:  # the same in all regions
            return np.asarray(lengths @ np.abs(self._by_region[0]))
        return np.asarray(np.einsum("ps,psq->pq", lengths, np.abs(self._by_region[regions])))

    def _rebuild_if_outdated(self) -> None:
        if not self._outdated:
            return
        region = self._assignment.region
        for table in self._cells:
            table.fill(0)
        self._sums.clear()
        held = np.zeros(len(self._slack), dtype=bool)
        for start in range(0, len(region), ROWS_AT_ONCE):
            rows = np.arange(start, min(start + ROWS_AT_ONCE, len(region)))
            nowhere = np.full(len(rows), -1, dtype=region.dtype)
            held |= self._move_cells(rows, nowhere).any(axis=1)
        self._slack[:] = np.where(held, np.inf, 0.0)[:, np.newaxis]
        self._squared_norms.fill(0.0)
        self._versions += 1
        self._changed.fill(True)
        self._n_moved = 0
        self._outdated = False


@compiled
def move_rows(rows: Any, before: Any, region: Any, labelled: Labelled, tables: Tables) -> None:
    """Move rows from their previous regions to their current ones; -1 is none."""
    members, counts, squares, moved = tables
    for k in range(len(rows)):
        i = rows[k]
        code, weight, norm = labelled.codes[i], labelled.weights[i], labelled.norms[i]
        if weight == 0.0:
            continue
        old, new = before[k], region[i]
        if old >= 0:
            members[old, code] -= 1
            counts[old, code] -= weight
            squares[old, code] -= weight * norm * norm
            moved[old, code] += weight * norm
            if members[old, code] == 0:  # an empty cell must be exactly 0
                counts[old, code] = squares[old, code] = 0.0
        if new >= 0:
            members[new, code] += 1
            counts[new, code] += weight
            squares[new, code] += weight * norm * norm
            moved[new, code] += weight * norm


@compiled
def bound_norms(
    squared_norms: FloatArray, slack: FloatArray, longest: FloatArray, total: float,
    lower: FloatArray, upper: FloatArray,
) -> None:  # fmt: skip
    """Write bounds on norms of means, from the squared norms of sums when last measured.

    A sum differs from that by its slack at most, and its norm does not exceed `longest`. Means are
    over rows of weight `total`.
    """
    for p in range(len(slack)):
        for q in range(slack.shape[1]):
            norm, most = sqrt(squared_norms[p, q]) / total, longest[p, q] * LONGER / total
            if norm > most:  # rounding may have left a trace of rows that are gone
                norm = most
            lower[p, q] = upper[p, q] = norm
            if slack[p, q] > 0.0:
                off = (slack[p, q] * LONGER + ROUNDING * longest[p, q]) / total
                upper[p, q] = min(norm + off, most)
                lower[p, q] = min(max(norm - off, 0.0), upper[p, q])
