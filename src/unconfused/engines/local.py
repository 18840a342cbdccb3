"""The engine for rows in this machine's memory."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray, IntArray
from unconfused._typing import Rows as Matrix
from unconfused.engines._moments import gram, gram_product
from unconfused.engines.base import CellTables, LikelihoodPass
from unconfused.engines.rows import RowThreads, wrap_rows

TIE = 1e-12
"""Scores of a row closer than this share of their scale are tied."""

BLOCK_ROWS = 4096
"""Rows whose scores are held at once when the likelihood is measured."""

CELL_SUM_BYTES = 256 * 2**20
"""Cell sums are kept while they fit into this, and otherwise summed again when asked for."""


class LocalEngine:
    """Rows in memory, dense or CSR, float32 or float64, used in place.

    Parameters
    ----------
    X : C-ordered array or CSR matrix
    codes : the label code of every row, in 0 .. n_codes - 1
    n_codes : number of label codes
    sample_weight : how many rows each row stands for; 1 if None
    intercept : whether a constant 1 is appended to every row
    n_threads : how many threads may share the rows
    """

    def __init__(
        self,
        X: Matrix,
        codes: IntArray,
        n_codes: int,
        sample_weight: FloatArray | None = None,
        *,
        intercept: bool = True,
        n_threads: int = 1,
    ) -> None:
        self.rows = wrap_rows(X)
        self.codes = codes
        self.n_codes = n_codes
        self.intercept = intercept
        n_rows = self.rows.n_rows
        self.weights = np.ones(n_rows) if sample_weight is None else sample_weight
        self.in_threads = RowThreads(n_threads, self.rows)
        self.squared_norms = np.empty(n_rows)
        self.in_threads(lambda a, b: self.rows.squared_norms(a, b, self.squared_norms))
        self.squared_norms += intercept
        self.row_norms = np.sqrt(self.squared_norms)

    @property
    def n_features(self) -> int:
        """Columns of the weights, the intercept's included."""
        return self.rows.n_columns + self.intercept

    @property
    def code_counts(self) -> FloatArray:
        """Total weight of the rows with each label code."""
        return np.bincount(self.codes, self.weights, minlength=self.n_codes).astype(np.float64)

    @property
    def code_squares(self) -> FloatArray:
        """Weighted sum of the squared norms of the rows with each label code."""
        squares = self.weights * self.squared_norms
        return np.bincount(self.codes, squares, minlength=self.n_codes).astype(np.float64)

    def code_sums(self) -> FloatArray:
        """Return the weighted sum of the rows with each label code, (S, features)."""
        sums = np.zeros((self.n_codes, self.n_features))
        self.add(np.arange(self.rows.n_rows), self.codes, self.weights, sums)
        return sums

    def dot(self, vector: FloatArray, out: FloatArray) -> None:
        """Write the product of every row with a vector."""
        columns = np.ascontiguousarray(vector[: self.rows.n_columns])
        self.in_threads(lambda a, b: self.rows.dot(columns, a, b, out))
        if self.intercept:
            out += vector[-1]

    def add(self, rows: IntArray, cells: IntArray, weights: FloatArray, sums: FloatArray) -> None:
        """Add each chosen row, times its weight, to its cell's sum."""
        self.rows.add(rows, cells, weights, sums)
        if self.intercept:
            sums[:, -1] += np.bincount(cells, weights, minlength=len(sums))

    def second_moment(self) -> FloatArray:
        """Return the weighted sum of x x' over the rows, (features, features)."""
        return gram(self.rows, self.weights, self.intercept)

    def second_moment_product(self, vectors: FloatArray) -> FloatArray:
        """Return the second moment times vectors, (features, k), without writing it out."""
        return gram_product(self.rows, self.weights, vectors, self.intercept, self.in_threads)

    def partition(self, unmixing: Unmixing, alpha: float) -> LocalPartition:
        """Return a cut of the rows, for rows predicted with a margin of at least `alpha`."""
        return LocalPartition(self, unmixing, alpha)

    def likelihood(
        self, weights: FloatArray, mixing: FloatArray, code_weights: FloatArray
    ) -> LikelihoodPass:
        """Measure weights against the labels, a block of rows at a time."""
        by_feature = np.ascontiguousarray(weights[:, : self.rows.n_columns].T)
        passes: dict[int, LikelihoodPass] = {}

        def run(start: int, stop: int) -> None:
            passes[start] = self._measure(weights, by_feature, mixing, code_weights, start, stop)

        if self.rows.brings_threads:
            run(0, self.rows.n_rows)
        else:
            self.in_threads(run)
        # In the order of the rows, whichever thread was first: the same sum every time.
        return reduce(add, (passes[start] for start in sorted(passes)))

    def _measure(
        self,
        weights: FloatArray,
        by_feature: FloatArray,
        mixing: FloatArray,
        code_weights: FloatArray,
        first: int,
        last: int,
    ) -> LikelihoodPass:
        from unconfused.engines._kernels import posterior

        columns = self.rows.n_columns
        gradient = np.zeros((len(weights), self.n_features))
        features = np.zeros_like(by_feature)
        table = np.zeros(mixing.shape)
        loss = 0.0
        for start in range(first, last, BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, last)
            scores = self.rows.scores(by_feature, start, stop)
            if self.intercept:
                scores += weights[:, columns].astype(scores.dtype)
            codes = self.codes[start:stop]
            row_weights = self.weights[start:stop] * code_weights[codes]
            loss += posterior(scores, codes, row_weights, mixing, 0, stop - start, table)
            self.rows.add_outer(scores, start, stop, features)
            if self.intercept:
                gradient[:, columns] += scores.sum(axis=0, dtype=np.float64)
        gradient[:, :columns] = features.T
        return LikelihoodPass(loss, gradient, table)


class LocalPartition:
    """Rows cut into cells, with scores, predictions and cell sums kept between updates."""

    def __init__(self, engine: LocalEngine, unmixing: Unmixing, alpha: float) -> None:
        self._engine = engine
        self._coefficients = unmixing.coefficients
        self._alpha = alpha
        n_rows, n_classes = engine.rows.n_rows, unmixing.n_classes
        self._n_classes = n_classes
        self._total = float(engine.weights.sum())
        self._scores = np.zeros((n_rows, n_classes))
        self._region = np.zeros(n_rows, dtype=np.intp)
        self._previous = np.zeros(n_rows, dtype=np.intp)
        self._projection = np.empty(n_rows)
        cells = n_classes * engine.n_codes
        kept = cells * engine.n_features * 8 <= CELL_SUM_BYTES
        self._sums = np.zeros((cells, engine.n_features)) if kept else None
        self._norms = np.zeros((n_classes, n_classes))
        self._dirty = np.ones(n_classes, dtype=bool)
        self._everywhere = True
        self._largest_norm = 0.0
        self._moved_since_rebuilt = 0
        self.restart(np.zeros((n_classes, engine.n_features)))

    def restart(self, weights: FloatArray) -> None:
        """Cut afresh by these weights; with all of them 0, every row is in every class."""
        self._everywhere = not weights.any()
        self._largest_norm = float(np.sqrt(np.einsum("rj,rj->r", weights, weights).max()))
        self._scores.fill(0.0)
        if self._everywhere:
            self._region.fill(0)
        else:
            for r, own in enumerate(weights):
                self._engine.dot(own, self._projection)
                self._scores[:, r] = self._projection
            self._advance(np.zeros(self._n_classes))
        self._rebuild()

    def move(self, steps: FloatArray, direction: FloatArray) -> None:
        """Add ``steps[r] * direction`` to the weights of every class r, and cut again."""
        self._engine.dot(direction, self._projection)
        # An upper bound is enough: it only sets how close scores must be to count as equal.
        self._largest_norm += float(np.abs(steps).max() * np.linalg.norm(direction))
        self._previous, self._region = self._region, self._previous
        self._advance(steps)
        moved = np.flatnonzero(self._region != self._previous)
        self._moved_since_rebuilt += len(moved)
        # Rounding cannot pile up in the sums: they are made anew once every row could have moved.
        if self._everywhere or self._moved_since_rebuilt > len(self._region):
            self._everywhere = False
            self._rebuild()
        else:
            self._shift(moved, self._previous, -1.0)
            self._shift(moved, self._region, 1.0)

    def tables(self) -> CellTables:
        """Return what the cells hold."""
        inside = np.flatnonzero(self._region >= 0)
        cells = self._region[inside] * self._engine.n_codes + self._engine.codes[inside]
        weights = self._engine.weights[inside]
        counts = self._as_table(cells, weights)
        squares = self._as_table(cells, weights * self._engine.squared_norms[inside])
        return CellTables(counts, squares)

    def pair_norms(self) -> FloatArray:
        """Return the norm of every update vector, (Q, Q)."""
        if self._everywhere:
            self._norms[:] = self._norms_of(self._cell_sums(0))
            return self._norms.copy()
        for p in np.flatnonzero(self._dirty):
            self._norms[p] = self._norms_of(self._cell_sums(int(p)))
        self._dirty[:] = False
        return self._norms.copy()

    def update_vector(self, predicted: int, true: int) -> FloatArray:
        """Return z: the mean over all rows of those predicted so and truly (unmixed) so."""
        region = 0 if self._everywhere else predicted
        coefficients = self._coefficients[:, true]
        if self._sums is not None:
            return np.asarray(coefficients @ self._cell_sums(region)) / self._total
        rows = np.flatnonzero(self._region == region)
        weights = coefficients[self._engine.codes[rows]] * self._engine.weights[rows]
        vector = np.zeros((1, self._engine.n_features))
        self._engine.add(rows, np.zeros(len(rows), dtype=np.intp), weights, vector)
        return np.asarray(vector[0] / self._total)

    def _advance(self, steps: FloatArray) -> None:
        from unconfused.engines._kernels import advance

        rounding = TIE * self._largest_norm
        before = (self._scores, self._projection, steps, self._alpha)
        region, row_norms = self._region, self._engine.row_norms
        self._engine.in_threads(lambda a, b: advance(*before, row_norms, rounding, a, b, region))

    def _rebuild(self) -> None:
        self._dirty[:] = True
        self._moved_since_rebuilt = 0
        if self._sums is not None:
            self._sums.fill(0.0)
            self._shift(np.arange(len(self._region)), self._region, 1.0)

    def _shift(self, rows: IntArray, regions: IntArray, sign: float) -> None:
        """Add rows to (or take them from) the cells of the regions they are in."""
        rows = rows[regions[rows] >= 0]
        self._dirty[regions[rows]] = True
        if self._sums is not None:
            cells = regions[rows] * self._engine.n_codes + self._engine.codes[rows]
            self._engine.add(rows, cells, sign * self._engine.weights[rows], self._sums)

    def _cell_sums(self, region: int) -> FloatArray:
        n_codes = self._engine.n_codes
        if self._sums is not None:
            return self._sums[region * n_codes : (region + 1) * n_codes]
        sums = np.zeros((n_codes, self._engine.n_features))
        rows = np.flatnonzero(self._region == region)
        self._engine.add(rows, self._engine.codes[rows], self._engine.weights[rows], sums)
        return sums

    def _norms_of(self, sums: FloatArray) -> FloatArray:
        unmixed = self._coefficients.T @ sums
        # Not a BLAS product per row: starting its threads Q times costs more than the sums.
        return np.asarray(np.sqrt(np.einsum("qj,qj->q", unmixed, unmixed)) / self._total)

    def _as_table(self, cells: IntArray, weights: FloatArray) -> FloatArray:
        n_codes = self._engine.n_codes
        # astype: bincount of no rows at all counts in integers
        flat = np.bincount(cells, weights, minlength=self._n_classes * n_codes).astype(np.float64)
        table = flat.reshape(self._n_classes, n_codes)
        return np.tile(table[:1], (self._n_classes, 1)) if self._everywhere else table
