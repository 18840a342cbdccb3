"""Cells of rows on a CUDA device: only rows whose class may have changed are looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray
from unconfused.engines.array_api.cells import ArrayPartition
from unconfused.engines.base import TIE
from unconfused.engines.cuda import triton_kernels as kernels

if TYPE_CHECKING:
    from unconfused.engines.cuda.engine import TorchEngine

FOLLOW_ROWS, FOLLOW_WARPS = 128, 4

SETTLE_PROGRAMS = 132 * 16
"""Programs that share a list whose length only the device knows; half of what an H200 can hold."""

FEW_CLASSES = 32
SETTLE_SCORES = 64, 512
"""Scores that a warp looks at together, with few classes and with many; at least one row's."""


class TorchPartition(ArrayPartition):
    """Cells that look at all classes of a row only where its class may have changed."""

    _engine: TorchEngine

    def __init__(self, engine: TorchEngine, unmixing: Unmixing, alpha: float) -> None:
        n_rows, zeros = engine.n_rows, engine.space.zeros

        def integers() -> Any:
            return torch.zeros(n_rows, dtype=torch.int32, device=engine.space.device)

        # The scores of a row's class and of its two rivals, and a bound on those of all others.
        self._leaders = zeros(n_rows), zeros(n_rows), zeros(n_rows), zeros(n_rows)
        self._region, self._rivals, self._waiting = integers(), (integers(), integers()), integers()
        self._projection = zeros(n_rows)
        self._longest_row = float(engine.row_norms.max()) if n_rows else 0.0
        super().__init__(engine, unmixing, alpha)

    def restart(self, weights: FloatArray) -> None:
        """Cut afresh by these weights; with all of them 0, every row is in every class."""
        self._everywhere = not weights.any()
        self._largest_norm = float(np.sqrt(np.einsum("rj,rj->r", weights, weights).max()))
        self._leaders[-1].fill_(float("inf"))  # makes the next look a full one
        if self._everywhere:
            self._scores.zero_()
            self._region.zero_()
        else:
            self._score(self._space.put(weights.T))
            self._region.fill_(-1)
            self._projection.zero_()
            self._look(np.zeros(self._n_classes))
        self._rebuild()

    def _advance(self, steps: FloatArray, direction: FloatArray) -> tuple[Any, Any]:
        """Move the scores, cut again; return which rows moved, and the regions they left."""
        self._engine.project(direction, self._projection)
        previous = self._region.clone()
        self._look(steps)
        moved = (self._region != previous).nonzero()[:, 0]
        return moved, previous[moved]

    def _look(self, steps: FloatArray) -> None:
        """Move the scores by steps along the projection, and find the class of every row."""
        n_rows, n_classes, changed = self._engine.n_rows, self._n_classes, np.flatnonzero(steps)
        head = [TIE * self._largest_norm, self._alpha, len(changed), self._longest_row]
        # Classes are read two at a time: a last one must be followed by something.
        settings = self._space.put(np.concatenate([head, steps, changed, [0.0]]))
        n_waiting = self._region.new_zeros(1)
        kept = (self._region, *self._rivals, *self._leaders, self._waiting, n_waiting)
        kernels.follow[(-(-n_rows // FOLLOW_ROWS),)](
            self._scores, self._projection, settings, *kept, n_rows, n_classes, FOLLOW_ROWS,
            num_warps=FOLLOW_WARPS,
        )  # fmt: skip
        classes = kernels.power_of_two(n_classes)
        together = SETTLE_SCORES[classes > FEW_CLASSES]
        kernels.settle[(SETTLE_PROGRAMS,)](
            self._scores, settings, self._engine.row_norms, *kept, n_rows, n_classes,
            max(1, together // classes), classes, num_warps=min(8, max(1, classes // together)),
        )  # fmt: skip

    def _rebuild(self) -> None:
        """Sum all cells afresh: as if every row came from nowhere."""
        engine, nowhere = self._engine, torch.full_like(self._region, -1)
        self._moved_since_rebuilt = 0
        self._sums = self._space.zeros(self._n_classes * self._n_codes, engine.n_columns + 2)
        engine.shift(self._space.indices(engine.n_rows), nowhere, self._region, self._sums)
        self._collected = False

    def _shift(self, moved: Any, left: Any) -> None:
        """Take rows from the cells they were in, and add them to those they are in now."""
        self._engine.shift(moved, left, self._region[moved], self._sums)
        self._collected = False
