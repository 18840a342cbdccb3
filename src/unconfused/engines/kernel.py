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
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse

from unconfused._typing import FloatArray, IntArray
from unconfused.engines.array_api.cells import ArrayPartition
from unconfused.engines.array_api.namespace import ArraySpace

if TYPE_CHECKING:
    from unconfused._matrix import Unmixing

Gram: TypeAlias = Callable[[IntArray], FloatArray]
"""From row indices to their kernel values with all rows, (indices, n)."""

BLOCK_VALUES = 2**23
"""Kernel values computed at once: 64 MB."""

IN_SPAN = 1e-12
"""A vector with less of its squared norm outside the span than this adds no basis vector."""


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
        self.gram, self.n_codes, self.intercept = gram, n_codes, intercept
        self.space = ArraySpace(np, "cpu", np.asarray)
        self.n_rows = self.n_columns = len(codes)  # a sum is known by its kernel values
        self.row_codes = codes
        self.row_weights = np.ones(self.n_rows) if weights is None else weights
        self.total = float(self.row_weights.sum())
        self.squares = np.maximum(diagonal, 0.0) + float(intercept)
        self.row_norms = np.sqrt(self.squares)
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
        return np.bincount(self.row_codes, self.row_weights, self.n_codes).astype(np.float64)

    @property
    def code_squares(self) -> FloatArray:
        squares = self.row_weights * self.squares
        return np.bincount(self.row_codes, squares, self.n_codes).astype(np.float64)

    def code_sums(self) -> FloatArray:
        sums = self.space.zeros(self.n_codes, self.n_columns + 2)
        self.add(np.arange(self.n_rows), self.row_codes, self.row_weights, sums)
        found = []
        for code in range(self.n_codes):
            chosen = np.where(self.row_codes == code, self.row_weights, 0.0)
            found.append(self.coordinates(chosen, sums[code, : self.n_rows]))
            self.extend(found[-1])
        return np.array(found)

    def partition(self, unmixing: Unmixing, alpha: float) -> KernelPartition:
        return KernelPartition(self, unmixing, alpha)

    def scores(self, weights: FloatArray) -> FloatArray:
        """Return the scores of all rows by weights in coordinates, (n, Q)."""
        found = self.features @ weights[:, : self.rank].T
        return found + weights[:, -1] if self.intercept else found

    def products(self, direction: FloatArray) -> FloatArray:
        """Return the scores of all rows by one vector in coordinates, (n,)."""
        return self.scores(direction[np.newaxis])[:, 0]

    def host(self, array: FloatArray) -> FloatArray:
        """Return the array: it is here already."""
        return array

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

    def add(self, rows: Any, cells: Any, weights: FloatArray, sums: FloatArray) -> FloatArray:
        """Add weighted rows to the sums of their cells, (cells, n + 2), and return these.

        The columns of a sum are its kernel values with all rows, its weight and squared norm.
        """
        chosen, places = np.unique(rows, return_inverse=True)  # a row that moves is there twice
        shape = (len(chosen), len(sums))
        combinations = sparse.csr_matrix((weights, (places, cells)), shape)
        size = max(1, BLOCK_VALUES // self.n_rows)
        for start in range(0, len(chosen), size):
            part = slice(start, start + size)
            sums[:, :-2] += combinations[part].T @ self.gram(chosen[part])
        for column, values in ((-2, weights), (-1, weights * self.squares[rows])):
            sums[:, column] += np.bincount(cells, values, len(sums))
        return sums

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


class KernelPartition(ArrayPartition):
    """Partition whose cell sums are known by their kernel values with all rows, (cells, n + 2)."""

    _engine: KernelEngine

    def update_vector(self, predicted: int, true: int) -> FloatArray:
        engine, region = self._engine, 0 if self._at_zero else predicted
        unmix = self._unmix[min(region, len(self._unmix) - 1), true] / self._total
        weights = engine.row_weights * unmix[engine.row_codes]
        chosen = np.where(self._region == region, weights, 0.0)
        first = region * self._n_codes
        values = unmix @ self._current_sums()[first : first + self._n_codes, :-2]
        return engine.coordinates(chosen, values)

    def update_vectors(self, predicted: int) -> FloatArray:
        return np.array([self.update_vector(predicted, true) for true in range(self._n_classes)])

    def _score(self, by_feature: FloatArray) -> None:
        self._scores[:] = self._engine.scores(by_feature.T).T

    def _advance(self, steps: FloatArray, direction: FloatArray) -> tuple[Any, Any]:
        self._engine.extend(direction)
        return super()._advance(steps, direction)

    def _norms_of(self, by_region: FloatArray, unmix: FloatArray) -> FloatArray:
        inside = np.flatnonzero(self._region >= 0)
        region, weights = self._region[inside], self._engine.row_weights[inside]
        cells = region * self._n_codes + self._engine.row_codes[inside]
        shape = (len(by_region) * self._n_codes, len(inside))
        # Kernel values of the rows with the sums of their own region, summed by cell.
        own = by_region[region, :, inside]
        sums = sparse.csr_matrix((weights, (cells, np.arange(len(inside)))), shape) @ own
        grams = sums.reshape(-1, self._n_codes, self._n_codes)
        squares = np.asarray(((unmix @ grams) * unmix).sum(axis=2))
        if self._engine.intercept:
            squares += (unmix @ by_region[:, :, -2, np.newaxis])[:, :, 0] ** 2
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))
