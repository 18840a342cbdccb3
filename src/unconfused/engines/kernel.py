"""Engine of the dual form: rows are known by their kernel values alone.

Every vector that UMA makes is a combination of rows, and its weights lie in the span of the update
vectors so far. That span has an orthonormal basis in the kernel's feature space (Gram-Schmidt), and
in the coordinates of this basis weights and update vectors are ordinary vectors: the solver does
not see the kernel. The basis vectors are kept as combinations of rows.

Memory: a number for each row and basis vector (twice), one for each row and cell (predicted class,
label), and a block of the Gram matrix. Only its rows that change their cell are recomputed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy import sparse

from unconfused._typing import FloatArray, IntArray
from unconfused.engines.base import TIE, CellTables, ExactNorms

if TYPE_CHECKING:
    from unconfused._matrix import Unmixing

Gram: TypeAlias = Callable[[IntArray], FloatArray]
"""From row indices to their kernel values with all rows, (indices, n)."""

BLOCK_VALUES = 2**23
"""Kernel values computed at once: 64 MB."""

IN_SPAN = 1e-12
"""A vector with less of its squared norm outside the span than this adds no basis vector."""

REBUILD_AFTER = 8
"""Moves per row after which cell sums are rebuilt, to limit accumulated rounding."""


class KernelEngine:
    """Weighted rows with label codes, seen through a kernel.

    Parameters
    ----------
    gram : kernel values of some rows with all rows
    diagonal : (n,), kernel value of every row with itself
    codes, n_codes : label code of every row, and their number
    weights : weight of every row; None for 1
    intercept : whether rows have a further feature that is the constant 1
    capacity : largest number of basis vectors: of updates, and of label codes
    """

    def __init__(
        self,
        gram: Gram,
        diagonal: FloatArray,
        codes: IntArray,
        n_codes: int,
        weights: FloatArray | None,
        *,
        intercept: bool,
        capacity: int,
    ) -> None:
        self.gram, self.codes, self.n_codes, self.intercept = gram, codes, n_codes, intercept
        self.n_rows = len(codes)
        self.weights = np.ones(self.n_rows) if weights is None else weights
        self.squares = np.maximum(diagonal, 0.0) + float(intercept)
        self.capacity, self.rank = min(capacity, self.n_rows), 0
        self._features = np.empty((self.n_rows, 0))
        self._expansion = np.empty((0, self.n_rows))
        self._next: tuple[FloatArray, FloatArray, FloatArray] | None = None

    @property
    def n_features(self) -> int:
        """Number of coordinates, including the intercept; those not in use yet are 0."""
        return self.capacity + int(self.intercept)

    @property
    def code_counts(self) -> FloatArray:
        return _sums(self.codes, self.weights, self.n_codes)

    @property
    def code_squares(self) -> FloatArray:
        return _sums(self.codes, self.weights * self.squares, self.n_codes)

    def code_sums(self) -> FloatArray:
        rows = np.arange(self.n_rows)
        shape = (self.n_rows, self.n_codes)
        sums = self.values_with(rows, sparse.csr_matrix((self.weights, (rows, self.codes)), shape))
        found = []
        for code in range(self.n_codes):
            chosen = np.where(self.codes == code, self.weights, 0.0)
            found.append(self.coordinates(chosen, sums[:, code]))
            self.extend(found[-1])
        return np.array(found)

    def partition(self, unmixing: Unmixing, alpha: float) -> KernelPartition:
        return KernelPartition(self, unmixing, alpha)

    def scores(self, weights: FloatArray) -> FloatArray:
        """Return the scores of all rows by weights in coordinates, (n, Q)."""
        found = self.features @ weights[:, : self.rank].T
        return found + weights[:, -1] if self.intercept else found

    def dual_weights(self, weights: FloatArray) -> FloatArray:
        """Return weights in coordinates, (Q, features), as combinations of rows, (Q, n)."""
        return np.asarray(weights[:, : self.rank] @ self.expansion)

    @property
    def features(self) -> FloatArray:
        """Coordinates of the rows, (n, rank), without the intercept."""
        return self._features[:, : self.rank]

    @property
    def expansion(self) -> FloatArray:
        """Basis vectors as combinations of rows, (rank, n)."""
        return self._expansion[: self.rank]

    def values_with(self, rows: IntArray, combinations: sparse.csr_matrix) -> FloatArray:
        """Return the kernel values of all rows with combinations, (rows, k), of some: (n, k)."""
        found = np.zeros((self.n_rows, combinations.shape[1]))
        size = max(1, BLOCK_VALUES // self.n_rows)
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            found += (combinations[part].T @ self.gram(rows[part])).T
        return found

    def coordinates(self, coefficients: FloatArray, values: FloatArray) -> FloatArray:
        """Return a combination of rows in coordinates, given its kernel values with all rows.

        What lies outside the span of the basis is its next coordinate; see `extend`.
        """
        rank, squared = self.rank, float(coefficients @ values)
        vector, rest = np.zeros(self.n_features), coefficients
        for _ in range(2):  # once more for what rounding left in the span
            part = rest @ self.features
            vector[:rank] += part
            rest, values = rest - part @ self.expansion, values - self.features @ part
        beyond = float(rest @ values)
        self._next = None
        if rank < self.capacity and beyond > IN_SPAN * squared:
            vector[rank] = length = beyond**0.5
            self._next = vector, rest / length, values / length
        if self.intercept:
            vector[-1] = coefficients.sum()
        return vector

    def extend(self, vector: FloatArray) -> None:
        """Add the direction of the last combination to the basis, if this is its vector."""
        if self._next is None or not np.array_equal(self._next[0], vector):
            return
        if self.rank == self._features.shape[1]:
            grown = min(self.capacity, max(16, 2 * self.rank)) - self.rank
            self._features = np.pad(self._features, ((0, 0), (0, grown)))
            self._expansion = np.pad(self._expansion, ((0, grown), (0, 0)))
        _, self._expansion[self.rank], self._features[:, self.rank] = self._next
        self.rank, self._next = self.rank + 1, None


class KernelPartition(ExactNorms):
    """Partition that keeps the kernel value of every row with every cell sum, (n, cells)."""

    def __init__(self, engine: KernelEngine, unmixing: Unmixing, alpha: float) -> None:
        self._engine, self._unmixing, self._alpha = engine, unmixing, alpha
        self._n_classes, self._total = unmixing.n_classes, float(engine.weights.sum())
        self._norms = np.sqrt(engine.squares)
        self.restart(np.zeros((self._n_classes, engine.n_features)))

    def restart(self, weights: FloatArray) -> None:
        self._at_zero = not weights.any()
        self._largest_norm = float(np.sqrt(np.einsum("rj,rj->r", weights, weights).max()))
        self._scores = self._engine.scores(weights)
        self._region = np.zeros(self._engine.n_rows, np.intp) if self._at_zero else self._assign()
        self._rebuild()

    def move(self, steps: FloatArray, direction: FloatArray) -> None:
        self._engine.extend(direction)
        self._largest_norm += float(np.abs(steps).max() * np.linalg.norm(direction))
        self._scores += self._engine.scores(direction[np.newaxis]) * steps
        left, self._region = self._region, self._assign()
        moved = np.flatnonzero(self._region != left)
        self._moves += len(moved)
        often = self._moves > REBUILD_AFTER * self._engine.n_rows
        if self._at_zero or often or 2 * len(moved) > self._engine.n_rows:
            self._at_zero = False
            self._rebuild()
        else:
            change = self._in_cells(moved, self._region) - self._in_cells(moved, left)
            self._values += self._engine.values_with(moved, change)

    def tables(self) -> CellTables:
        engine, inside = self._engine, self._region >= 0
        cells, weights = self._cells(self._region)[inside], engine.weights[inside]
        shape = (self._n_classes, engine.n_codes)
        tables = [
            _sums(cells, each, shape[0] * shape[1]).reshape(shape)
            for each in (weights, weights * engine.squares[inside])
        ]
        if self._at_zero:
            tables = [np.tile(table[:1], (self._n_classes, 1)) for table in tables]
        return CellTables(*tables)

    def pair_norms(self) -> FloatArray:
        """Return the norm of every update vector, (Q, Q)."""
        engine, n_codes = self._engine, self._engine.n_codes
        inside = np.flatnonzero(self._region >= 0)
        own = self._values.reshape(engine.n_rows, -1, n_codes)[inside, self._region[inside]]
        places = (self._cells(self._region)[inside], np.arange(len(inside)))
        shape = (self._n_classes * n_codes, len(inside))
        sums = sparse.csr_matrix((engine.weights[inside], places), shape) @ own
        grams = sums.reshape(self._n_classes, n_codes, n_codes)
        if self._at_zero:
            grams = np.tile(grams[:1], (self._n_classes, 1, 1))
        unmix = self._unmixing.coefficients
        squares = np.einsum("sq,pst,tq->pq", unmix, grams, unmix, optimize=True)
        if engine.intercept:
            squares += self._unmixing.masses(self.tables().counts) ** 2
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)) / self._total)

    def update_vector(self, predicted: int, true: int) -> FloatArray:
        engine = self._engine
        region = 0 if self._at_zero else predicted
        unmix = self._unmixing.coefficients[:, true] / self._total
        chosen = np.where(self._region == region, engine.weights * unmix[engine.codes], 0.0)
        first = region * engine.n_codes
        values = self._values[:, first : first + engine.n_codes] @ unmix
        return engine.coordinates(chosen, values)

    def _assign(self) -> IntArray:
        """Return the region of every row, -1 for none: the best class, if it leads by `alpha`."""
        scores = self._scores
        allowance = TIE * self._largest_norm * self._norms
        leading = scores >= (scores.max(axis=1) - allowance)[:, np.newaxis]
        best: IntArray = leading.argmax(axis=1)
        if self._alpha == 0:
            return best
        rows = np.arange(len(scores))
        others = scores.copy()
        others[rows, best] = -np.inf
        lead = scores[rows, best] - others.max(axis=1)
        return np.where(lead >= self._alpha - allowance, best, -1)

    def _cells(self, region: IntArray) -> IntArray:
        return np.asarray(region * self._engine.n_codes + self._engine.codes)

    def _in_cells(self, rows: IntArray, region: IntArray) -> sparse.csr_matrix:
        """Return the weight of each of these rows in its cell, (rows, cells)."""
        inside = np.flatnonzero(region[rows] >= 0)
        chosen = rows[inside]
        places = (inside, self._cells(region)[chosen])
        shape = (len(rows), self._n_classes * self._engine.n_codes)
        return sparse.csr_matrix((self._engine.weights[chosen], places), shape)

    def _rebuild(self) -> None:
        self._moves = 0
        rows = np.arange(self._engine.n_rows)
        self._values = self._engine.values_with(rows, self._in_cells(rows, self._region))


def _sums(places: IntArray, weights: FloatArray, size: int) -> FloatArray:
    """Return the total weight at each place."""
    return np.bincount(places, weights, size).astype(np.float64)
