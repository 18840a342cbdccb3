"""Engine for array API libraries such as torch and CuPy.

The rows stay on their device. Only tables of classes and single vectors are copied to the host.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines.array_api.cells import ArrayPartition
from unconfused.engines.array_api.namespace import ArraySpace, blocks
from unconfused.engines.base import LikelihoodPass, RowMap, logarithms, posterior

if TYPE_CHECKING:
    from unconfused._matrix import Unmixing


class ArrayEngine:
    """Rows in an array of any array API library, used without a copy.

    Codes and weights are NumPy arrays; the parameters are those of `LocalEngine`, and `space`, the
    namespace and device of X.
    """

    def __init__(
        self,
        X: Any,
        codes: IntArray,
        n_codes: int,
        sample_weight: FloatArray | None = None,
        *,
        space: ArraySpace,
        intercept: bool = True,
    ) -> None:
        self.X = X
        self.space = space
        self.codes = codes
        self.n_codes = n_codes
        self.intercept = intercept
        self.n_rows, self.n_columns = X.shape
        self.weights = np.ones(self.n_rows) if sample_weight is None else sample_weight
        self.row_codes = space.put(codes.astype(np.int64, copy=False))
        self.row_weights = space.put(self.weights)
        self.squared_norms = self._squared_norms()
        self.row_norms = space.xp.sqrt(self.squared_norms)

    @property
    def n_features(self) -> int:
        return int(self.n_columns + self.intercept)

    @property
    def density(self) -> float:
        return 1.0

    def mapped(self, change: RowMap) -> ArrayEngine:
        xp, space, dtype = self.space.xp, self.space, self.X.dtype
        matrix = space.put(change.matrix)
        offset = space.put(change.centre @ change.matrix) if change.matrix.ndim == 2 else None
        parts = []
        for start, stop in blocks(self.n_rows, self.n_columns):
            block = space.exact(self.X[start:stop, :])
            changed = block * matrix if offset is None else block @ matrix - offset
            parts.append(xp.astype(changed, dtype, copy=False))
        own = self.codes, self.n_codes, self.weights
        return type(self)(xp.concat(parts), *own, space=space, intercept=self.intercept)

    @cached_property
    def total(self) -> float:
        """Total weight of all rows."""
        return float(self.weights.sum())

    @cached_property
    def code_counts(self) -> FloatArray:
        return np.bincount(self.codes, self.weights, minlength=self.n_codes).astype(np.float64)

    @cached_property
    def code_squares(self) -> FloatArray:
        squares = self.weights * self.space.to_host(self.squared_norms)
        return np.bincount(self.codes, squares, minlength=self.n_codes).astype(np.float64)

    @cached_property
    def _code_sums(self) -> FloatArray:
        sums = self.space.zeros(self.n_codes, self.n_columns + 2)
        all_rows = self.space.indices(self.n_rows)
        sums = self.add(all_rows, self.row_codes, self.row_weights, sums)
        return self.host(sums[:, : self.n_features])

    def code_sums(self) -> FloatArray:
        return self._code_sums.copy()

    def host(self, array: Any) -> FloatArray:
        """Copy an array to the host as float64."""
        return np.asarray(self.space.to_host(array), dtype=np.float64)

    def products(self, vectors: Any) -> Any:
        """Return X times vectors of shape (features,) or (features, k)."""
        columns, exact = vectors[: self.n_columns, ...], self.space.exact
        parts = [
            exact(self.X[start:stop, :]) @ columns
            for start, stop in blocks(self.n_rows, self.n_columns)
        ]
        found = parts[0] if len(parts) == 1 else self.space.xp.concat(parts)
        return found + vectors[-1, ...] if self.intercept else found

    def add(self, rows: Any, cells: Any, weights: Any, sums: Any) -> Any:
        """Return the sums by cell with the chosen weighted rows added.

        The columns of a sum are those of X, then the weight, which is also the intercept's column,
        then the squared norm.
        """
        xp, exact, n_cells = self.space.xp, self.space.exact, sums.shape[0]
        for start, stop in blocks(rows.shape[0], self.n_columns + 2 + n_cells):
            chosen, own = rows[start:stop], weights[start:stop, None]
            squares = xp.take(self.squared_norms, chosen, axis=0)[:, None]
            values = own * exact(xp.take(self.X, chosen, axis=0))
            columns = xp.concat([values, own, own * squares], axis=1)
            sums = sums + self.space.sum_by_cell(columns, cells[start:stop], n_cells)
        return sums

    def feature_squares(self) -> FloatArray:
        squares = self.space.zeros(self.n_columns)
        for start, stop in blocks(self.n_rows, self.n_columns):
            block = self.space.exact(self.X[start:stop, :])
            squares = squares + self.row_weights[start:stop] @ (block * block)
        found = self.host(squares)
        return np.append(found, self.total) if self.intercept else found

    def second_moment(self) -> FloatArray:
        return self.second_moment_product(np.eye(self.n_features))

    def second_moment_product(self, vectors: FloatArray) -> FloatArray:
        space = self.space
        columns = space.put(vectors[: self.n_columns])
        product = space.zeros(self.n_columns, vectors.shape[1])
        last = space.zeros(vectors.shape[1])
        offset = space.put(vectors[-1]) if self.intercept else last
        for start, stop in blocks(self.n_rows, max(self.n_columns, vectors.shape[1])):
            block = space.exact(self.X[start:stop, :])
            scores = self.row_weights[start:stop, None] * (block @ columns + offset)
            product = product + block.T @ scores
            last = last + space.xp.sum(scores, axis=0)
        found = self.host(product)
        return np.vstack([found, self.host(last)]) if self.intercept else found

    def partition(self, unmixing: Unmixing, alpha: float) -> ArrayPartition:
        return ArrayPartition(self, unmixing, alpha)

    def likelihood(
        self, weights: FloatArray, mixing: FloatArray, code_weights: FloatArray
    ) -> LikelihoodPass:
        space, columns = self.space, self.n_columns
        xp, dtype = space.xp, self.X.dtype
        # Products in the precision of the rows: mixed precision would copy them.
        by_feature = xp.astype(space.put(weights[:, :columns].T), dtype)
        offsets = space.put(weights[:, columns] if self.intercept else np.zeros(len(weights)))
        log_chances, counted = space.put(logarithms(mixing)), space.put(code_weights)
        loss, table = space.zeros(1), space.zeros(*mixing.shape)
        slope, offset_slope = space.zeros(columns, len(weights)), space.zeros(len(weights))
        for start, stop in blocks(self.n_rows, max(columns, 4 * len(weights))):
            rows, codes = self.X[start:stop, :], self.row_codes[start:stop]
            own = self.row_weights[start:stop] * xp.take(counted, codes, axis=0)
            scores = space.exact(rows @ by_feature) + offsets
            losses, shares, given = posterior(xp, scores, xp.take(log_chances, codes, axis=0))
            loss = loss + xp.sum(own * losses)
            table = table + space.sum_by_cell(own[:, None] * given, codes, mixing.shape[0])
            residual = own[:, None] * (shares - given)
            slope = slope + space.exact(rows.T @ xp.astype(residual, dtype))
            offset_slope = offset_slope + xp.sum(residual, axis=0)
        gradient = self.host(slope).T
        if self.intercept:
            gradient = np.column_stack([gradient, self.host(offset_slope)])
        return LikelihoodPass(float(self.host(loss)[0]), gradient, self.host(table))

    def scored(self, weights: FloatArray) -> None:
        return None

    def _squared_norms(self) -> Any:
        xp, exact = self.space.xp, self.space.exact
        parts = [
            xp.sum(exact(self.X[start:stop, :]) ** 2, axis=1)
            for start, stop in blocks(self.n_rows, self.n_columns)
        ]
        return xp.concat(parts) + float(self.intercept)
