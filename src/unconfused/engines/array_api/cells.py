"""Rows of an array in cells; scores, assignments and sums are kept between updates.

Only functions of the array API standard are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unconfused._typing import FloatArray
from unconfused.engines.base import TIE, CellTables, ExactNorms

if TYPE_CHECKING:
    from unconfused._matrix import Unmixing

BLOCK_BYTES = 256 * 2**20
"""Approximate size of the blocks in which rows are converted and summed."""

REBUILD_AFTER = 8
"""Moves per row after which cell sums are rebuilt, to limit accumulated rounding."""


@dataclass(frozen=True)
class ArraySpace:
    """Namespace and device of an array, and a function that converts it to NumPy."""

    xp: Any
    device: Any
    to_host: Callable[[Any], NDArray[Any]]

    @cached_property
    def precise(self) -> Any:
        """Data type of sums: float64, or float32 on a device without it."""
        known = self.xp.__array_namespace_info__().dtypes(kind="real floating", device=self.device)
        return known.get("float64", known["float32"])

    def put(self, array: NDArray[Any]) -> Any:
        """Copy a NumPy array to the device; floats become `precise`."""
        dtype = self.precise if array.dtype.kind == "f" else None
        # Always a copy: on the CPU, the result could share memory with the argument.
        return self.xp.asarray(
            np.ascontiguousarray(array), dtype=dtype, device=self.device, copy=True
        )

    def zeros(self, *shape: int) -> Any:
        """Return zeros of type `precise`."""
        return self.xp.zeros(shape, dtype=self.precise, device=self.device)

    def indices(self, n: int) -> Any:
        """Return 0 .. n - 1."""
        return self.xp.arange(n, dtype=self.xp.int64, device=self.device)

    def exact(self, array: Any) -> Any:
        """Convert an array to `precise`, without a copy if it is that already."""
        return self.xp.astype(array, self.precise, copy=False)

    def sum_by_cell(self, values: Any, cells: Any, n_cells: int) -> Any:
        """Sum the rows of `values` by cell, (n_cells, columns).

        The standard has no scatter-add. A product with indicators of the cells takes more
        operations than sums over sorted rows, but few and large ones, which suit a GPU.
        """
        indicators = self.exact(cells[:, None] == self.indices(n_cells)[None, :])
        return indicators.T @ values


def blocks(n_rows: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of blocks of rows that fit into `BLOCK_BYTES` as float64."""
    size = max(1, BLOCK_BYTES // (8 * max(1, width)))
    for start in range(0, n_rows, size):
        yield start, min(start + size, n_rows)


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
