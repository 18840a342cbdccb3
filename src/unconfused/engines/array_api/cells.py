"""Rows of an array cut into cells, with scores, predictions and cell sums kept between updates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray
from unconfused.engines.array_api.namespace import blocks
from unconfused.engines.base import TIE, CellTables, ExactNorms

if TYPE_CHECKING:
    from unconfused.engines.array_api.engine import ArrayEngine

REBUILD_AFTER = 8
"""Cell sums are made anew once so many times all rows have moved: rounding cannot pile up."""


class ArrayPartition(ExactNorms):
    """Cells of rows: one row of scores per class, one column of sums per feature."""

    def __init__(self, engine: ArrayEngine, unmixing: Unmixing, alpha: float) -> None:
        space = engine.space
        self._engine, self._space, self._alpha = engine, space, alpha
        self._n_classes, self._n_codes = unmixing.n_classes, engine.n_codes
        self._unmix = space.put(unmixing.coefficients.T)
        self._total = engine.total
        self._scores = space.zeros(self._n_classes, engine.n_rows)
        self.restart(np.zeros((self._n_classes, engine.n_features)))

    def restart(self, weights: FloatArray) -> None:
        """Cut afresh by these weights; with all of them 0, every row is in every class."""
        self._everywhere = not weights.any()
        self._largest_norm = float(np.sqrt(np.einsum("rj,rj->r", weights, weights).max()))
        if self._everywhere:
            self._scores[:, :] = 0.0
            self._region = 0 * self._engine.row_codes
        else:
            self._score(self._space.put(weights.T))
            self._region = self._cut()
        self._rebuild()

    def move(self, steps: FloatArray, direction: FloatArray) -> None:
        """Add ``steps[r] * direction`` to the weights of every class r, and cut again."""
        # An upper bound is enough: it only sets how close scores must be to count as equal.
        self._largest_norm += float(np.abs(steps).max() * np.linalg.norm(direction))
        moved, left = self._advance(steps, direction)
        n_moved = int(moved.shape[0])
        self._moved_since_rebuilt += n_moved
        # A row that moves is read twice, for the cell it leaves and the one it comes to.
        if (
            self._everywhere
            or 2 * n_moved > self._engine.n_rows
            or self._moved_since_rebuilt > REBUILD_AFTER * self._engine.n_rows
        ):
            self._everywhere = False
            self._rebuild()
        else:
            self._shift(moved, left)

    def tables(self) -> CellTables:
        """Return what the cells hold."""
        self._collect()
        return CellTables(self._counts.copy(), self._squares.copy())

    def pair_norms(self) -> FloatArray:
        """Return the norm of every update vector, (Q, Q)."""
        self._collect()
        return self._norms.copy()

    def update_vector(self, predicted: int, true: int) -> FloatArray:
        """Return z: the mean over all rows of those predicted so and truly (unmixed) so."""
        first = (0 if self._everywhere else predicted) * self._n_codes
        own = self._sums[first : first + self._n_codes, : self._engine.n_features]
        return self._engine.host(self._unmix[true, :] @ own) / self._total

    def _score(self, by_feature: Any) -> None:
        """Score all classes afresh; by_feature is (features, Q)."""
        engine, columns = self._engine, self._engine.n_columns
        for start, stop in blocks(engine.n_rows, max(columns, self._n_classes)):
            scores = self._space.exact(engine.X[start:stop, :]) @ by_feature[:columns, :]
            if engine.intercept:
                scores = scores + by_feature[-1, :]
            self._scores[:, start:stop] = scores.T

    def _advance(self, steps: FloatArray, direction: FloatArray) -> tuple[Any, Any]:
        """Move the scores, cut again; return which rows moved, and the regions they left."""
        projection = self._engine.products(self._space.put(direction))
        for r in np.flatnonzero(steps).tolist():
            self._scores[r, :] = self._scores[r, :] + float(steps[r]) * projection
        previous, self._region = self._region, self._cut()
        moved = self._space.xp.nonzero(self._region != previous)[0]
        return moved, self._space.xp.take(previous, moved, axis=0)

    def _cut(self) -> Any:
        """Return the class every row belongs to, -1 for none.

        It is the best class, the lowest on a tie, if it leads every other by at least `alpha`.
        Scores within a rounding error are equal: some step rules leave rows exactly level.
        """
        xp, scores = self._space.xp, self._scores
        allowance = TIE * self._largest_norm * self._engine.row_norms
        highest = xp.max(scores, axis=0)
        leading = xp.astype(scores >= highest - allowance, xp.int8)
        best = xp.astype(xp.argmax(leading, axis=0), xp.int64)
        if self._alpha == 0:
            return best
        own = self._space.indices(self._n_classes)[:, None] == best[None, :]
        others = xp.max(xp.where(own, -xp.inf, scores), axis=0)
        lead = xp.max(xp.where(own, scores, -xp.inf), axis=0) - others
        return xp.where(lead >= self._alpha - allowance, best, -1)

    def _rebuild(self) -> None:
        self._moved_since_rebuilt = 0
        engine = self._engine
        self._sums = self._space.zeros(self._n_classes * self._n_codes, engine.n_columns + 2)
        rows = self._space.indices(engine.n_rows)
        self._add(rows, self._region, engine.row_codes, engine.row_weights)

    def _shift(self, moved: Any, left: Any) -> None:
        """Take rows from the cells they were in, and add them to those they are in now."""
        if not moved.shape[0]:
            return
        xp, engine = self._space.xp, self._engine
        codes, weights, entered = (
            xp.take(values, moved, axis=0)
            for values in (engine.row_codes, engine.row_weights, self._region)
        )
        self._add(
            *(
                xp.concat(both)
                for both in ([moved, moved], [left, entered], [codes, codes], [-weights, weights])
            )
        )

    def _add(self, rows: Any, regions: Any, codes: Any, weights: Any) -> None:
        """Add rows, times their weights, to their cells; those in no region count nothing."""
        inside = regions >= 0
        cells = self._space.xp.where(inside, regions, 0) * self._n_codes + codes
        weights = self._space.xp.where(inside, weights, 0.0)
        self._sums = self._engine.add(rows, cells, weights, self._sums)
        self._collected = False

    def _collect(self) -> None:
        """Bring norms and tables to the solver, all of them in one transfer."""
        if self._collected:
            return
        xp, n_classes, n_codes = self._space.xp, self._n_classes, self._n_codes
        regions = 1 if self._everywhere else n_classes
        by_region = xp.reshape(self._sums[: regions * n_codes, :], (regions, n_codes, -1))
        unmixed = self._unmix @ by_region[:, :, : self._engine.n_features]
        norms = xp.sqrt(xp.sum(unmixed * unmixed, axis=2)) / self._total
        tables = [by_region[:, :, -2], by_region[:, :, -1]]
        parts = np.split(
            self._engine.host(xp.concat([norms, *tables], axis=1)),
            [n_classes, n_classes + n_codes],
            axis=1,
        )
        if self._everywhere:
            parts = [np.tile(part, (n_classes, 1)) for part in parts]
        self._norms, self._counts, self._squares = parts
        self._collected = True
