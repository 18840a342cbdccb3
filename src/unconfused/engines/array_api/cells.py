"""Partition of the rows of an array; scores, assignments and cell sums are kept between updates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._typing import FloatArray
from unconfused.engines.array_api.namespace import blocks
from unconfused.engines.base import TIE, CellTables, ExactNorms

if TYPE_CHECKING:
    from unconfused._matrix import Unmixing

REBUILD_AFTER = 8
"""Moves per row after which cell sums are rebuilt, to limit accumulated rounding."""


class ArrayPartition(ExactNorms):
    """Partition with scores of shape (Q, rows) and cell sums of shape (cells, columns + 2).

    The engine is an `ArrayEngine`, or one that offers what is used of it here.
    """

    _engine: Any

    def __init__(self, engine: Any, unmixing: Unmixing, alpha: float) -> None:
        space = engine.space
        self._engine, self._space, self._alpha = engine, space, alpha
        self._n_classes, self._n_codes = unmixing.n_classes, engine.n_codes
        self.set_unmixing(unmixing)
        self._total, self._moved_since_rebuilt = engine.total, 0
        self._scores = space.zeros(self._n_classes, engine.n_rows)
        self.restart(np.zeros((self._n_classes, engine.n_features)))

    def set_unmixing(self, unmixing: Unmixing) -> None:
        self._unmix = self._space.put(unmixing.coefficients_by_region.transpose(0, 2, 1))
        self._collected = False

    def restart(self, weights: FloatArray) -> None:
        self._at_zero = not weights.any()
        self._largest_norm = float(np.sqrt(np.einsum("rj,rj->r", weights, weights).max()))
        if self._at_zero:
            self._scores[:, :] = 0.0
            self._region = 0 * self._engine.row_codes
        else:
            self._score(self._space.put(weights.T))
            self._region = self._assign()
        self._outdated = True

    def move(self, steps: FloatArray, direction: FloatArray) -> None:
        # An upper bound suffices: it only scales the tolerance for ties.
        self._largest_norm += float(np.abs(steps).max() * np.linalg.norm(direction))
        moved, left = self._advance(steps, direction)
        n_moved = int(moved.shape[0])
        self._moved_since_rebuilt += n_moved
        # A row that moves is read twice: once for its old cell, once for its new one.
        if (
            self._at_zero
            or 2 * n_moved > self._engine.n_rows
            or self._moved_since_rebuilt > REBUILD_AFTER * self._engine.n_rows
        ):
            self._at_zero, self._outdated = False, True
        elif not self._outdated:
            self._shift(moved, left)

    def tables(self) -> CellTables:
        self._collect()
        return CellTables(self._counts.copy(), self._squares.copy())

    def pair_norms(self) -> FloatArray:
        """Return the norm of every update vector, (Q, Q)."""
        self._collect()
        return self._norms.copy()

    def update_vector(self, predicted: int, true: int) -> FloatArray:
        return np.asarray(self._update_vectors(predicted, slice(true, true + 1))[0])

    def update_vectors(self, predicted: int) -> FloatArray:
        return self._update_vectors(predicted, slice(None))

    def _update_vectors(self, predicted: int, true: slice) -> FloatArray:
        region = 0 if self._at_zero else predicted
        first = region * self._n_codes
        own = self._current_sums()[first : first + self._n_codes, : self._engine.n_features]
        unmix = self._unmix[min(region, self._unmix.shape[0] - 1), true, :]
        return np.asarray(self._engine.host(unmix @ own) / self._total)

    def _score(self, by_feature: Any) -> None:
        """Compute the scores of all classes; by_feature is (features, Q)."""
        engine, columns = self._engine, self._engine.n_columns
        for start, stop in blocks(engine.n_rows, max(columns, self._n_classes)):
            scores = self._space.exact(engine.X[start:stop, :]) @ by_feature[:columns, :]
            if engine.intercept:
                scores = scores + by_feature[-1, :]
            self._scores[:, start:stop] = scores.T

    def _advance(self, steps: FloatArray, direction: FloatArray) -> tuple[Any, Any]:
        """Update scores and regions; return the rows that moved and their previous regions."""
        projection = self._engine.products(self._space.put(direction))
        for r in np.flatnonzero(steps).tolist():
            self._scores[r, :] = self._scores[r, :] + float(steps[r]) * projection
        previous, self._region = self._region, self._assign()
        moved = self._space.xp.nonzero(self._region != previous)[0]
        return moved, self._space.xp.take(previous, moved, axis=0)

    def _assign(self) -> Any:
        """Return the region of every row, -1 for none.

        It is the best class, the lowest on a tie, if it leads every other by at least `alpha`.
        Scores within the tie tolerance are equal: some step rules produce exact ties.
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

    def _current_sums(self) -> Any:
        if self._outdated:
            self._rebuild()
            self._outdated = False
        return self._sums

    def _rebuild(self) -> None:
        self._moved_since_rebuilt = 0
        engine = self._engine
        self._sums = self._space.zeros(self._n_classes * self._n_codes, engine.n_columns + 2)
        rows = self._space.indices(engine.n_rows)
        self._add(rows, self._region, engine.row_codes, engine.row_weights)

    def _shift(self, moved: Any, left: Any) -> None:
        """Move rows from their previous cells to their current ones."""
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
        """Add weighted rows to their cells; rows in no region are ignored."""
        inside = regions >= 0
        cells = self._space.xp.where(inside, regions, 0) * self._n_codes + codes
        weights = self._space.xp.where(inside, weights, 0.0)
        self._sums = self._engine.add(rows, cells, weights, self._sums)
        self._collected = False

    def _collect(self) -> None:
        """Copy norms and tables to the host, in one transfer."""
        if self._collected and not self._outdated:
            return
        xp, n_classes, n_codes = self._space.xp, self._n_classes, self._n_codes
        regions = 1 if self._at_zero else n_classes
        sums = self._current_sums()[: regions * n_codes, :]
        by_region = xp.reshape(sums, (regions, n_codes, -1))
        # One set of coefficients may serve all regions; the standard forbids slices past the end.
        unmix = self._unmix[: min(regions, self._unmix.shape[0]), :, :]
        norms = self._norms_of(by_region, unmix) / self._total
        tables = [by_region[:, :, -2], by_region[:, :, -1]]
        parts = np.split(
            self._engine.host(xp.concat([norms, *tables], axis=1)),
            [n_classes, n_classes + n_codes],
            axis=1,
        )
        if self._at_zero:
            parts = [np.tile(part, (n_classes, 1)) for part in parts]
        self._norms, self._counts, self._squares = parts
        self._collected = True

    def _norms_of(self, by_region: Any, unmix: Any) -> Any:
        """Return the norms of all unmixed sums, (regions, Q)."""
        unmixed = unmix @ by_region[:, :, : self._engine.n_features]
        return self._space.xp.sqrt(self._space.xp.sum(unmixed * unmixed, axis=2))
