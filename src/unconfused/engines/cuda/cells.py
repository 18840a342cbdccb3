"""Cells of rows on a CUDA device: only rows whose class may have changed are looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray
from unconfused.engines.array_api.cells import REBUILD_AFTER, ArrayPartition
from unconfused.engines.cuda import moves
from unconfused.engines.cuda import triton_kernels as kernels
from unconfused.engines.cuda.moves import Moves, power_of_two
from unconfused.engines.cut import TIE

if TYPE_CHECKING:
    from unconfused.engines.cuda.engine import TorchEngine

FOLLOW_ROWS, FOLLOW_WARPS = 128, 4

FEW_CLASSES = 32
SETTLE_SCORES = 64, 512
"""Scores that a warp looks at together, with few classes and with many; at least one row's."""


class TorchPartition(ArrayPartition):
    """Cells that look at all classes of a row only where its class may have changed."""

    _engine: TorchEngine

    def __init__(self, engine: TorchEngine, unmixing: Unmixing, alpha: float) -> None:
        n_rows, xp, zeros = engine.n_rows, engine.space.xp, engine.space.zeros

        def integers() -> Any:
            return xp.zeros(n_rows, dtype=xp.int32, device=engine.space.device)

        # The scores of a row's class and of its two rivals, and a bound on those of all others.
        self._leaders = zeros(n_rows), zeros(n_rows), zeros(n_rows), zeros(n_rows)
        self._region, self._rivals, self._waiting = integers(), (integers(), integers()), integers()
        self._projection = zeros(n_rows)
        self._moves = Moves(engine, unmixing.n_classes)
        self._sums = zeros(unmixing.n_classes * engine.n_codes, engine.n_columns + 2)
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

    def move(self, steps: FloatArray, direction: FloatArray) -> None:
        """Add ``steps[r] * direction`` to the weights of every class r, and cut again."""
        self._collect()
        self._largest_norm += float(np.abs(steps).max() * np.linalg.norm(direction))
        self._engine.project(direction, self._projection)
        self._look(steps)
        if self._everywhere:
            self._everywhere = False
            self._rebuild()
        else:
            self._moves.add_to(self._sums)
            self._collected = False

    def _look(self, steps: FloatArray) -> None:
        """Move the scores by steps along the projection, and find the rows that moved."""
        engine, n_rows, changed = self._engine, self._engine.n_rows, np.flatnonzero(steps)
        head = [TIE * self._largest_norm, self._alpha, len(changed), self._longest_row]
        # Classes are read two at a time: a last one must be followed by something.
        settings = self._space.put(np.concatenate([head, steps, changed, [0.0]]))
        self._moves.clear()
        kept = (self._region, *self._rivals, *self._leaders, self._waiting, *self._moves.notebook)
        kernels.follow[(-(-n_rows // FOLLOW_ROWS),)](
            self._scores, self._projection, settings, *kept,
            n_rows, *self._moves.sizes, FOLLOW_ROWS, num_warps=FOLLOW_WARPS,
        )  # fmt: skip
        classes = power_of_two(self._n_classes)
        together = SETTLE_SCORES[classes > FEW_CLASSES]
        kernels.settle[(moves.PROGRAMS,)](
            self._scores, settings, engine.row_norms, *kept,
            n_rows, *self._moves.sizes, max(1, together // classes), classes,
            num_warps=min(8, max(1, classes // together)),
        )  # fmt: skip

    def _rebuild(self) -> None:
        """Sum all cells afresh: as if every row came from nowhere."""
        self._sums.zero_()
        self._moves.note_all(self._region)
        self._moves.add_to(self._sums)
        self._moves.clear()
        self._moved_since_rebuilt, self._collected = 0, False

    def _collect(self) -> None:
        """Bring norms and tables to the solver."""
        if self._collected:
            return
        self._moved_since_rebuilt += self._moves.count()
        if self._moved_since_rebuilt > REBUILD_AFTER * self._engine.n_rows:
            self._rebuild()
        super()._collect()
