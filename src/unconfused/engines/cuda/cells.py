"""Partition of rows on a CUDA device; only rows whose class may have changed are reassigned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from unconfused._typing import FloatArray
from unconfused.engines.array_api.cells import ArrayPartition
from unconfused.engines.base import TIE
from unconfused.engines.cuda import triton_kernels as kernels

if TYPE_CHECKING:
    from unconfused._matrix import Unmixing
    from unconfused.engines.cuda.engine import TorchEngine

MOVE_ROWS, MOVE_WARPS = 128, 4

ASSIGN_PROGRAMS = 132 * 16
"""Programs that share the list of unsure rows, whose length only the device knows; half of the
capacity of an H200."""

FEW_CLASSES = 32
ASSIGN_SCORES = 64, 512
"""Scores that a warp handles at a time, with few classes and with many; at least one row."""


class TorchPartition(ArrayPartition):
    """Partition that compares all classes of a row only where its class may have changed."""

    _engine: TorchEngine

    def __init__(self, engine: TorchEngine, unmixing: Unmixing, alpha: float) -> None:
        n_rows, zeros = engine.n_rows, engine.space.zeros
        # Score of a row's class, and an upper bound on those of all others.
        self._top, self._bound, self._projection = zeros(n_rows), zeros(n_rows), zeros(n_rows)
        self._region, self._unsure = zeros(n_rows).int(), zeros(n_rows).int()
        self._longest_row = float(engine.row_norms.max()) if n_rows else 0.0
        super().__init__(engine, unmixing, alpha)

    def restart(self, weights: FloatArray) -> None:
        self._at_zero = not weights.any()
        self._largest_norm = float(np.sqrt(np.einsum("rj,rj->r", weights, weights).max()))
        self._bound.fill_(float("inf"))  # no row is sure: all are compared next time
        if self._at_zero:
            self._scores.zero_()
            self._region.zero_()
        else:
            self._score(self._space.put(weights.T))
            self._region.fill_(-1)
            self._projection.zero_()
            self._rescore(np.zeros(self._n_classes))
        self._outdated = True

    def _advance(self, steps: FloatArray, direction: FloatArray) -> tuple[Any, Any]:
        """Update scores and regions; return the rows that moved and their previous regions."""
        self._engine.project(direction, self._projection)
        previous = self._region.clone()
        self._rescore(steps)
        moved = (self._region != previous).nonzero()[:, 0]
        return moved, previous[moved]

    def _rescore(self, steps: FloatArray) -> None:
        """Add steps times the projection to the scores, and reassign the rows."""
        n_rows, n_classes, changed = self._engine.n_rows, self._n_classes, np.flatnonzero(steps)
        head = [TIE * self._largest_norm, self._alpha, len(changed), self._longest_row]
        settings = self._space.put(np.concatenate([head, steps, changed]))
        n_unsure = self._region.new_zeros(1)
        kept = (settings, self._region, self._top, self._bound, self._unsure, n_unsure)
        kernels.move_scores[(-(-n_rows // MOVE_ROWS),)](
            self._scores, self._projection, *kept, n_rows, n_classes, MOVE_ROWS,
            num_warps=MOVE_WARPS,
        )  # fmt: skip
        classes = kernels.power_of_two(n_classes)
        together = ASSIGN_SCORES[classes > FEW_CLASSES]
        kernels.assign_exactly[(ASSIGN_PROGRAMS,)](
            self._scores, self._engine.row_norms, *kept, n_rows, n_classes,
            max(1, together // classes), classes, num_warps=min(8, max(1, classes // together)),
        )  # fmt: skip

    def _rebuild(self) -> None:
        """Recompute all cell sums, by moving every row in from no region."""
        engine, nowhere = self._engine, torch.full_like(self._region, -1)
        self._moved_since_rebuilt = 0
        self._sums = self._space.zeros(self._n_classes * self._n_codes, engine.n_columns + 2)
        engine.shift(self._space.indices(engine.n_rows), nowhere, self._region, self._sums)
        self._collected = False

    def _shift(self, moved: Any, left: Any) -> None:
        """Move rows from their previous cells to their current ones."""
        self._engine.shift(moved, left, self._region[moved], self._sums)
        self._collected = False
