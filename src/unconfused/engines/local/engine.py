"""Engine for rows in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cached_property, reduce
from itertools import pairwise
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from unconfused._compilation import compiled
from unconfused._typing import FloatArray, IntArray
from unconfused._typing import Rows as Matrix
from unconfused.engines.base import LikelihoodPass, RowMap, logarithms
from unconfused.engines.base import posterior as log_posterior
from unconfused.engines.local.assignment import RowAssignment
from unconfused.engines.local.gram import GramSums
from unconfused.engines.local.partition import KeptSums, LazySums, LocalPartition, SumsOnDemand
from unconfused.engines.local.rows import Rows, add_rows, row_blocks, squared_norms, wrap_rows

if TYPE_CHECKING:
    from unconfused._matrix import Unmixing

BLOCK_ROWS = 4096
"""Rows scored at a time in a likelihood pass."""

DENSE = 0.1
"""Density above which a sparse block is multiplied faster as a dense array."""

ALMOST_IMPOSSIBLE = 1e-200
"""Probability of a label, relative to that of the likeliest class, below which rounding to 0 is
near, and quotients may overflow."""

SCORES_BYTES = 64 * 2**20
"""Largest table of scores that `scored` keeps in memory."""

SMALL = 16 * 2**20
"""Bytes of sums that are always affordable, however few rows there are."""

TEMPORARY = 2**19
"""Bytes of temporary lists of rows."""

WORTH_DELAYING = 2**21
"""Multiplications in all norms above which sums are updated lazily."""

WORTH_A_THREAD = 200_000
"""Minimum number of stored entries per thread: below, a thread costs more than it saves."""


class RowThreads:
    """Runs loops over rows in a thread pool; the calling thread does its share."""

    def __init__(self, n_threads: int, rows: Rows) -> None:
        worth = max(1, rows.n_entries // WORTH_A_THREAD)
        self.n_threads = max(1, min(n_threads, worth, rows.n_rows))
        self._n_rows, self._brings_threads = rows.n_rows, rows.brings_threads
        self._pool = ThreadPoolExecutor(self.n_threads - 1) if self.n_threads > 1 else None

    def pieces(self, n_pieces: int | None = None, multiple_of: int = 1) -> list[tuple[int, int]]:
        """Split the rows into chunks of about equal size, by default one per thread."""
        n_blocks = -(-self._n_rows // multiple_of)
        edges = np.linspace(0, n_blocks, min(n_pieces or self.n_threads, n_blocks) + 1).astype(int)
        return list(pairwise(np.minimum(edges * multiple_of, self._n_rows).tolist()))

    def __call__(self, loop: Callable[[int, int], None]) -> None:
        """Call ``loop(start, stop)`` on chunks that cover every row once."""
        self.each(loop, self.pieces())

    def total(self, measure: Callable[[int, int], Any]) -> Any:
        """Add up ``measure(start, stop)`` over chunks that cover every row once."""
        # Rows whose products are multithreaded already are measured in one chunk.
        pieces = [(0, self._n_rows)] if self._brings_threads else self.pieces()
        return reduce(add, self.each(measure, pieces))

    def each(self, work: Callable[..., Any], items: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Return ``work(*item)`` of every item, in order; a thread that is free takes the next."""
        waiting = deque(enumerate(items))
        found: list[Any] = [None] * len(waiting)

        def take() -> None:
            while waiting:
                try:
                    place, item = waiting.popleft()
                except IndexError:  # another thread was faster
                    return
                found[place] = work(*item)

        n_helpers = min(self.n_threads, len(waiting)) - 1
        if self._pool is None or n_helpers < 1:
            take()
            return found
        futures = [self._pool.submit(take) for _ in range(n_helpers)]
        try:
            take()
            wait(futures)
        except BaseException:
            # No helper may still be writing when this returns, not even after an interrupt.
            waiting.clear()
            wait(futures)
            raise
        for future in futures:
            future.result()
        return found


class LocalEngine:
    """Dense or CSR rows in memory, float32 or float64, used without a copy.

    Parameters
    ----------
    X : C-ordered array or CSR matrix
    codes : label code of every row, in 0 .. n_codes - 1
    n_codes : number of label codes
    sample_weight : weight of every row; 1 if None
    intercept : whether to append a constant feature 1
    n_threads : maximum number of threads
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
        self._n_threads = n_threads
        self.weights = np.ones(self.rows.n_rows) if sample_weight is None else sample_weight
        self.in_threads = RowThreads(n_threads, self.rows)

    @cached_property
    def row_norms(self) -> FloatArray:
        """Norms of the rows, including the intercept; fits of the likelihood do not need them."""
        norms = np.empty(self.rows.n_rows)
        self.in_threads(lambda a, b: squared_norms(self.rows.stored, a, b, norms))
        return np.asarray(np.sqrt(norms + self.intercept, out=norms))

    def _with_rows(self, X: Matrix, intercept: bool) -> LocalEngine:
        """Return an engine with the labels and weights of this one."""
        labels = self.codes, self.n_codes, self.weights
        return LocalEngine(X, *labels, intercept=intercept, n_threads=self._n_threads)

    def mapped(self, change: RowMap) -> LocalEngine:
        return self._with_rows(self.rows.mapped(change), self.intercept)

    @property
    def density(self) -> float:
        return self.rows.n_entries / max(1, self.rows.n_rows * self.rows.n_columns)

    @property
    def n_features(self) -> int:
        return self.rows.n_columns + self.intercept

    @cached_property
    def code_counts(self) -> FloatArray:
        return np.bincount(self.codes, self.weights, minlength=self.n_codes).astype(np.float64)

    @property
    def code_squares(self) -> FloatArray:
        squares = self.weights * self.row_norms**2
        return np.bincount(self.codes, squares, minlength=self.n_codes).astype(np.float64)

    def code_sums(self) -> FloatArray:
        sums = np.zeros((self.n_codes, self.n_features))
        self.add(np.arange(self.rows.n_rows), self.codes, self.weights, sums)
        return sums

    def add(self, rows: IntArray, cells: IntArray, weights: FloatArray, sums: FloatArray) -> None:
        """Add the weighted rows to the sums of their cells."""
        add_rows(self.rows.stored, rows, cells, weights, sums)
        if self.intercept:
            sums[:, -1] += np.bincount(cells, weights, minlength=len(sums))

    def feature_squares(self) -> FloatArray:
        rows, columns = self.rows, self.rows.n_columns
        squares = np.zeros(self.n_features)
        for start, stop in row_blocks(0, rows.n_rows, rows.n_entries // rows.n_rows):
            squares[:columns] += (rows.block(start, stop) ** 2).T @ self.weights[start:stop]
        if self.intercept:
            squares[-1] = self.weights.sum()
        return squares

    def second_moment(self) -> FloatArray:
        columns = self.rows.n_columns
        moment = np.zeros((self.n_features, self.n_features))
        for start, stop in row_blocks(0, self.rows.n_rows, columns):
            weights, block = self.weights[start:stop], self.rows.block(start, stop)
            if sparse.issparse(block) and block.nnz > DENSE * block.shape[0] * columns:
                block = block.toarray()
            # The square root on both sides: BLAS computes A'A in half the time of A'B.
            scaled = sparse.diags_array(np.sqrt(weights)) @ block
            square = scaled.T @ scaled
            moment[:columns, :columns] += square.toarray() if sparse.issparse(square) else square
            if self.intercept:
                moment[:columns, -1] += block.T @ weights
        if self.intercept:
            moment[-1, :columns] = moment[:columns, -1]
            moment[-1, -1] = self.weights.sum()
        return moment

    def second_moment_product(self, vectors: FloatArray) -> FloatArray:
        rows, columns = self.rows, self.rows.n_columns
        width = max(vectors.shape[1], rows.n_entries // rows.n_rows)

        def measure(first: int, last: int) -> FloatArray:
            product = np.zeros(vectors.shape)
            for start, stop in row_blocks(first, last, width):
                block = rows.block(start, stop)
                scores = block @ vectors[:columns]
                if self.intercept:
                    scores += vectors[-1]
                scores *= self.weights[start:stop, np.newaxis]
                product[:columns] += block.T @ scores
                if self.intercept:
                    product[-1] += scores.sum(axis=0)
            return product

        return np.asarray(self.in_threads.total(measure))

    def partition(self, unmixing: Unmixing, alpha: float) -> LocalPartition:
        assignment = RowAssignment(self, unmixing.n_classes, alpha)
        sums = cell_sums(self, unmixing.n_classes, assignment.region)
        assignment.room = spare_bytes(self, unmixing.n_classes) - max(0, sums.n_bytes - SMALL)
        return LocalPartition(self, unmixing, assignment, sums)

    def likelihood(
        self, weights: FloatArray, mixing: FloatArray, code_weights: FloatArray
    ) -> LikelihoodPass:
        measured: LikelihoodPass = self.in_threads.total(
            lambda start, stop: self._measure(weights, mixing, code_weights, start, stop)
        )
        return measured

    def scored(self, weights: FloatArray) -> LocalEngine | None:
        n_rows, columns = self.rows.n_rows, self.rows.n_columns
        if 8 * n_rows * len(weights) > SCORES_BYTES:
            return None
        scores = np.empty((n_rows, len(weights)), dtype=self.rows.score_dtype)
        self.rows.scores(np.ascontiguousarray(weights[:, :columns].T), 0, n_rows, scores)
        scores = scores.astype(np.float64, copy=False)
        if self.intercept:
            scores += weights[:, columns]
        return self._with_rows(scores, intercept=False)

    def _measure(
        self, weights: FloatArray, mixing: FloatArray, factors: FloatArray, first: int, last: int
    ) -> LikelihoodPass:
        columns = self.rows.n_columns
        by_feature = np.ascontiguousarray(weights[:, :columns].T)
        gradient = np.zeros((len(weights), self.n_features))
        features = np.zeros_like(by_feature)
        table, totals = np.zeros(mixing.shape), np.zeros(len(weights))
        intercepts = weights[:, columns] if self.intercept else totals.copy()
        intercepts = intercepts.astype(self.rows.score_dtype)
        loss = 0.0
        # Allocated once: Dask workers return freed memory to the system after every block.
        n_rows = min(BLOCK_ROWS, last - first)
        all_scores = np.empty((n_rows, len(weights)), dtype=self.rows.score_dtype)
        all_shares, all_weights = np.empty(all_scores.shape), np.empty(n_rows)
        left = np.empty(n_rows, dtype=np.intp)
        for start in range(first, last, BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, last)
            scores, row_weights = all_scores[: stop - start], all_weights[: stop - start]
            shares = all_shares[: stop - start]
            self.rows.scores(by_feature, start, stop, scores)
            add_and_centre(scores, intercepts, shares)
            np.exp(shares, out=shares)  # vectorized, unlike that of compiled loops
            codes = self.codes[start:stop]
            np.take(factors, codes, out=row_weights, mode="clip")  # "raise" makes a copy
            row_weights *= self.weights[start:stop]
            given = codes, row_weights, mixing, table, totals
            explained, n_left = posterior(scores, shares, *given, left)
            loss += explained
            if n_left:
                loss += surprises(left[:n_left], scores, *given)
            self.rows.add_outer(scores, start, stop, features)
        gradient[:, :columns] = features.T
        if self.intercept:
            gradient[:, columns] = totals
        return LikelihoodPass(loss, gradient, table)


def cell_sums(engine: LocalEngine, n_classes: int, region: IntArray) -> SumsOnDemand:
    """Keep the sums of all cells if they fit, else their Gram matrices, else nothing."""
    n_cells, masks = n_classes * engine.n_codes, n_classes * engine.rows.n_rows
    room = max(SMALL, spare_bytes(engine, n_classes) - masks)
    strategy = SumsOnDemand
    if 8 * n_cells * engine.n_features <= room:
        n_products = n_cells * n_classes * engine.n_features
        strategy = KeptSums if n_products < WORTH_DELAYING else LazySums
    elif 8 * n_cells * engine.n_codes <= room:
        strategy = GramSums
    return strategy(engine, n_classes, region)


def spare_bytes(engine: LocalEngine, n_classes: int) -> float:
    """Return the bytes available for cell sums and quantized rows.

    The budget of a fit is 1.5 times the bytes of X, plus 8 bytes per row and class, plus 64 bytes
    per class and feature. X itself is not copied, scores take 4 bytes per row and class, and the
    remaining state about 45 bytes per row.
    """
    n_rows = engine.rows.n_rows
    row_bytes = engine.rows.n_entries * np.dtype(engine.rows.dtype).itemsize
    per_class = 4 * n_rows + 64 * engine.n_features
    return float(row_bytes) / 2 + per_class * n_classes - 45 * n_rows - TEMPORARY


@compiled
def add_and_centre(scores: Any, intercepts: Any, centred: FloatArray) -> None:
    """Add the intercepts to the scores in place; write scores less the highest of each row."""
    n_classes = scores.shape[1]
    for i in range(len(scores)):
        row, out = scores[i], centred[i]
        highest = -np.inf
        for q in range(n_classes):
            row[q] += intercepts[q]
            highest = max(highest, float(row[q]))
        for q in range(n_classes):
            out[q] = float(row[q]) - highest


@compiled
def posterior(
    scores: Any,
    shares: FloatArray,
    codes: Any,
    row_weights: FloatArray,
    mixing: FloatArray,
    table: FloatArray,
    totals: FloatArray,
    left: IntArray,
) -> tuple[float, int]:
    """Replace the scores of rows by their residuals, the gradient of the loss, in place.

    With P the softmax of a row's scores and R its posterior given the label, the residual is the
    row's weight times P - R. `shares` is P times any factor. R is summed by label code in `table`,
    residuals in `totals`. Returns the weighted sum of -log P(label), and how many rows are left to
    `surprises`, and listed in `left`: with these in the loop, all rows take three times as long.
    """
    n_classes = scores.shape[1]
    loss, n_left = 0.0, 0
    for i in range(len(scores)):
        code, weight = codes[i], row_weights[i]
        row, share, chances, counts = scores[i], shares[i], mixing[code], table[code]
        total, seen = 0.0, 0.0
        for q in range(n_classes):
            total += share[q]
            seen += chances[q] * share[q]
        if not seen > ALMOST_IMPOSSIBLE:
            left[n_left] = i
            n_left += 1
            continue
        loss += weight * np.log(total / seen)
        by_row, by_label = weight / total, weight / seen
        for q in range(n_classes):
            responsible = by_label * (chances[q] * share[q])
            counts[q] += responsible
            row[q] = by_row * share[q] - responsible
            totals[q] += row[q]
    return loss, n_left


def surprises(
    rows: IntArray,
    scores: Any,
    codes: IntArray,
    row_weights: FloatArray,
    mixing: FloatArray,
    table: FloatArray,
    totals: FloatArray,
) -> float:
    """Do the same for rows whose label is almost impossible, by log-sum-exp for P(label)."""
    own, weights = codes[rows], row_weights[rows]
    log_chances = logarithms(mixing[own])
    with np.errstate(invalid="ignore"):  # a step may have been far too long
        losses, share, given_label = log_posterior(np, scores[rows].astype(np.float64), log_chances)
    residuals = weights[:, np.newaxis] * (share - given_label)
    scores[rows] = residuals
    totals += residuals.sum(axis=0)
    np.add.at(table, own, weights[:, np.newaxis] * given_label)
    return float(weights @ losses)
