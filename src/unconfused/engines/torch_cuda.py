"""The engine for torch tensors on a CUDA device: the same sums, in kernels that read rows once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray
from unconfused.engines import _triton_kernels as kernels
from unconfused.engines._array_cells import ArrayPartition
from unconfused.engines._torch_likelihood import can_measure, measure_fused, power_of_two
from unconfused.engines.array_api import ArrayEngine
from unconfused.engines.base import LikelihoodPass
from unconfused.engines.local import TIE

PROJECT_ROWS, PROJECT_WARPS = 32, 4
FOLLOW_ROWS = 256
SETTLE_ROWS, SETTLE_CLASSES, SETTLE_PROGRAMS = 64, 16, 132 * 16
ADD_ROWS = 16
LARGEST_TILE = 256
"""Columns held at once."""


class TorchEngine(ArrayEngine):
    """Rows in a torch tensor on a CUDA device."""

    def __init__(self, X: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(X.contiguous(), *args, **kwargs)

    def products(self, vectors: Any) -> Any:
        """Return the product of every row with vectors, (features,) or (features, k)."""
        if vectors.ndim > 1:
            return super().products(vectors)
        last = vectors if self.intercept else self.space.xp.concat([vectors, self.space.zeros(1)])
        out = self.space.zeros(self.n_rows)
        tile = min(LARGEST_TILE, power_of_two(self.n_columns))
        kernels.project[(-(-self.n_rows // PROJECT_ROWS),)](
            self.X, last, out, self.n_rows, self.n_columns, PROJECT_ROWS, tile,
            num_warps=PROJECT_WARPS,
        )  # fmt: skip
        return out

    def add(self, rows: Any, cells: Any, weights: Any, sums: Any) -> Any:
        """Return sums by cell with chosen rows, times their weights, added (in place)."""
        # Sorted, most groups of rows are of one cell: they are summed before they are written.
        cells, order = cells.sort()
        tile = min(LARGEST_TILE, power_of_two(self.n_columns))
        grid = (-(-len(rows) // ADD_ROWS), -(-self.n_columns // tile))
        kernels.add_rows[grid](
            self.X, rows[order], cells, weights[order], self.squared_norms, sums,
            len(rows), self.n_columns, ADD_ROWS, tile,
        )  # fmt: skip
        return sums

    @cached_property
    def rows_by_code(self) -> tuple[Any, Any]:
        """Label codes in order, and the rows that have them."""
        codes, order = self.row_codes.sort()
        return codes, order

    def likelihood(
        self, weights: FloatArray, mixing: FloatArray, code_weights: FloatArray
    ) -> LikelihoodPass:
        """Measure weights against the labels."""
        if can_measure(self, len(weights)):
            return measure_fused(self, weights, mixing, code_weights)
        return super().likelihood(weights, mixing, code_weights)

    def partition(self, unmixing: Unmixing, alpha: float) -> TorchPartition:
        """Return a cut of the rows, for rows predicted with a margin of at least `alpha`."""
        return TorchPartition(self, unmixing, alpha)


class TorchPartition(ArrayPartition):
    """Cells that look at all classes of a row only where its class may have changed."""

    def __init__(self, engine: TorchEngine, unmixing: Unmixing, alpha: float) -> None:
        xp, place = engine.space.xp, {"device": engine.space.device}
        n_rows = engine.n_rows
        self._top, self._bound = engine.space.zeros(n_rows), engine.space.zeros(n_rows)
        self._waiting = xp.zeros(n_rows, dtype=xp.int32, **place)
        self._moved = xp.zeros(n_rows, dtype=xp.int64, **place)
        self._left = xp.zeros(n_rows, dtype=xp.int64, **place)
        self._counters = xp.zeros(2, dtype=xp.int32, **place)
        self._still = engine.space.zeros(n_rows)
        super().__init__(engine, unmixing, alpha)

    def restart(self, weights: FloatArray) -> None:
        """Cut afresh by these weights; with all of them 0, every row is in every class."""
        super().restart(weights)
        if self._everywhere:
            self._forget()

    def _forget(self) -> None:
        """Make the next look a full one."""
        self._bound[:] = self._space.xp.inf

    def _cut(self) -> Any:
        self._region = self._space.xp.full(
            self._engine.n_rows, -1, dtype=self._space.xp.int32, device=self._space.device
        )
        self._forget()
        self._look(np.zeros(self._n_classes), self._still)
        return self._region

    def _advance(self, steps: FloatArray, direction: FloatArray) -> tuple[Any, Any]:
        if self._everywhere:
            self._region = self._space.xp.astype(self._region, self._space.xp.int32)
        self._look(steps, self._engine.products(self._space.put(direction)))
        n_moved = int(self._counters[1])
        return self._moved[:n_moved], self._left[:n_moved]

    def _look(self, steps: FloatArray, projection: Any) -> None:
        engine, n_rows = self._engine, self._engine.n_rows
        changed = np.flatnonzero(steps)
        limits = np.array([TIE * self._largest_norm, self._alpha])
        numbers = self._space.put(np.concatenate([limits, steps]))
        limits, steps = numbers[:2], numbers[2:]
        self._counters[:] = 0
        kernels.follow[(-(-n_rows // FOLLOW_ROWS),)](
            self._scores, projection, steps, self._space.put(changed), limits, engine.row_norms,
            self._region, self._top, self._bound, self._waiting, self._counters,
            n_rows, len(changed), FOLLOW_ROWS,
        )  # fmt: skip
        kernels.settle[(SETTLE_PROGRAMS,)](
            self._scores, limits, engine.row_norms, self._region, self._top, self._bound,
            self._waiting, self._counters, self._moved, self._left,
            n_rows, self._n_classes, SETTLE_ROWS, SETTLE_CLASSES,
        )  # fmt: skip
