"""Cells of rows on a CUDA device.

An update is one chain of kernels without a word from the host in between: what moved, and how many,
is known on the device alone. The chain is recorded once as a CUDA graph and replayed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray
from unconfused.engines import _triton_kernels as kernels
from unconfused.engines._array_cells import REBUILD_AFTER, ArrayPartition
from unconfused.engines.cut import TIE

if TYPE_CHECKING:
    from unconfused.engines.torch_cuda import TorchEngine

FOLLOW_ROWS = 512
SETTLE_ROWS, SETTLE_CLASSES = 64, 16
TALLY_ROWS = 128
BINS = 2**15
"""Lists, about, that rows which move are put on; a cell has one or several of them."""

ADD_ROWS = 32
"""Rows of one cell that are summed before they are added to it."""

PROGRAMS = 132 * 16
"""Programs that share a list whose length only the device knows."""


def aligned_starts(counts: Any) -> tuple[Any, Any]:
    """Return where each cell's list begins, at multiples of `ADD_ROWS`, and where the last ends."""
    rooms = (counts + (ADD_ROWS - 1)) // ADD_ROWS * ADD_ROWS
    ends = rooms.cumsum(0)
    return ends - rooms, ends[-1:]


class TorchPartition(ArrayPartition):
    """Cells that look at all classes of a row only where its class may have changed."""

    _engine: TorchEngine

    def __init__(self, engine: TorchEngine, unmixing: Unmixing, alpha: float) -> None:
        n_rows, n_classes, n_cells = (
            engine.n_rows, unmixing.n_classes, unmixing.n_classes * engine.n_codes,
        )  # fmt: skip
        xp, zeros = engine.space.xp, engine.space.zeros

        def integers(size: int, dtype: Any) -> Any:
            return xp.zeros(size, dtype=dtype, device=engine.space.device)

        self._top, self._bound, self._projection = zeros(n_rows), zeros(n_rows), zeros(n_rows)
        self._region = integers(n_rows, xp.int32)
        self._waiting = integers(n_rows, xp.int32)
        self._moved, self._left = integers(n_rows, xp.int64), integers(n_rows, xp.int64)
        # How many wait to be looked at, how many moved.
        self._counters = integers(2, xp.int32)
        self._shares = min(64, max(1, BINS // n_cells))
        self._places = integers(n_cells * self._shares, xp.int64)
        room = 2 * n_rows + ADD_ROWS * len(self._places)
        self._lists = integers(room, xp.int64), integers(room, xp.int64), zeros(room)
        self._sums = zeros(n_cells, engine.n_columns + 2)
        self._settings = zeros(3 + 2 * n_classes + engine.n_columns + 1)
        pinned = engine.space.device.type == "cuda"
        # Where the host writes and reads, in memory the device can reach by itself.
        self._outgoing = torch.zeros(len(self._settings), dtype=xp.float64, pin_memory=pinned)
        size = n_classes * n_classes + 2 * n_cells + engine.n_features + 3
        self._incoming = torch.zeros(size, dtype=xp.float64, pin_memory=pinned)
        self._answers = zeros(size)
        self._collected = True
        self._graph: Any = None
        self._chains = 0
        super().__init__(engine, unmixing, alpha)

    def restart(self, weights: FloatArray) -> None:
        """Cut afresh by these weights; with all of them 0, every row is in every class."""
        self._everywhere = not weights.any()
        self._largest_norm = float(np.sqrt(np.einsum("rj,rj->r", weights, weights).max()))
        self._bound.fill_(float("inf"))  # makes the next look a full one
        if self._everywhere:
            self._scores.zero_()
            self._region.zero_()
        else:
            self._score(self._space.put(weights.T))
            self._region.fill_(-1)
            self._send(np.zeros(self._n_classes), np.zeros(weights.shape[1]))
            self._projection.zero_()
            self._look()
        self._rebuild()

    def move(self, steps: FloatArray, direction: FloatArray) -> None:
        """Add ``steps[r] * direction`` to the weights of every class r, and cut again."""
        self._largest_norm += float(np.abs(steps).max() * np.linalg.norm(direction))
        self._send(steps, direction)
        if self._everywhere:
            self._everywhere = False
            self._engine.project(self._settings[3 + 2 * self._n_classes :], self._projection)
            self._look()
            self._rebuild()
        else:
            self._run_chain()
        self._collected = False

    def update_vector(self, predicted: int, true: int) -> FloatArray:
        """Return z: the mean over all rows of those predicted so and truly (unmixed) so."""
        self._collect()
        if not self._everywhere and self._longest == predicted * self._n_classes + true:
            return self._longest_vector / self._total
        return super().update_vector(predicted, true)

    def _send(self, steps: FloatArray, direction: FloatArray) -> None:
        """Bring all that an update needs to the device, in one transfer."""
        n_classes, changed = self._n_classes, np.flatnonzero(steps)
        if not self._collected:
            self._received()  # what was sent last must have arrived before it is written over
        numbers = self._outgoing.numpy()
        numbers[:] = 0.0
        numbers[:3] = TIE * self._largest_norm, self._alpha, len(changed)
        numbers[3 : 3 + n_classes] = steps
        numbers[3 + n_classes : 3 + n_classes + len(changed)] = changed
        vector = numbers[3 + 2 * n_classes :]
        vector[: len(direction)] = direction
        self._settings.copy_(self._outgoing, non_blocking=True)

    def _run_chain(self) -> None:
        """Make the update: launched one by one at first, then recorded, then replayed."""
        self._chains += 1
        if self._space.device.type != "cuda" or self._chains == 1:
            self._chain()
            return
        if self._graph is None:
            torch.cuda.synchronize()
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._chain()
        self._graph.replay()

    def _chain(self) -> None:
        self._engine.project(self._settings[3 + 2 * self._n_classes :], self._projection)
        self._look()
        self._add_moved()
        self._answer()

    def _look(self) -> None:
        """Move the scores and find the rows that moved."""
        engine, n_rows = self._engine, self._engine.n_rows
        self._counters.zero_()
        kernels.follow[(-(-n_rows // FOLLOW_ROWS),)](
            self._scores, self._projection, self._settings, engine.row_norms,
            self._region, self._top, self._bound, self._waiting, self._counters,
            self._moved, self._left, n_rows, self._n_classes, FOLLOW_ROWS,
        )  # fmt: skip
        kernels.settle[(PROGRAMS,)](
            self._scores, self._settings, engine.row_norms, self._region, self._top, self._bound,
            self._waiting, self._counters, self._moved, self._left,
            n_rows, self._n_classes, SETTLE_ROWS, SETTLE_CLASSES,
        )  # fmt: skip

    def _add_moved(self) -> None:
        """Take rows from the cells they were in, and add them to those they are in now."""
        engine = self._engine
        rest = (
            self._moved, self._left, self._region, engine.row_codes, engine.row_weights,
            self._counters, self._places, *self._lists, self._n_codes, self._shares, TALLY_ROWS,
        )  # fmt: skip
        self._places.zero_()
        kernels.tally[(PROGRAMS,)](*rest, False)
        starts, total = aligned_starts(self._places)
        self._places.copy_(starts)
        kernels.tally[(PROGRAMS,)](*rest, True)
        engine.add_listed(self._lists, self._places, total, self._sums, self._shares)

    def _rebuild(self) -> None:
        """Sum all cells afresh: as if every row came from nowhere."""
        self._moved_since_rebuilt = -self._engine.n_rows  # the answer will count all as moved
        self._sums.zero_()
        self._moved.copy_(self._space.indices(self._engine.n_rows))
        self._left.fill_(-1)
        self._counters.fill_(self._engine.n_rows)
        self._add_moved()
        self._answer()
        self._collected = False

    def _answer(self) -> None:
        """Work out norms and tables, and the vector that most selections ask for, the longest."""
        n_classes, features = self._n_classes, self._engine.n_features
        by_region = self._sums.reshape(n_classes, self._n_codes, -1)
        unmixed = self._unmix @ by_region
        norms = self._space.xp.linalg.vector_norm(unmixed[..., :features], axis=2)
        apart = norms.clone()
        apart.fill_diagonal_(-1.0)
        longest = apart.argmax().reshape(1)
        vector = unmixed.reshape(n_classes * n_classes, -1).index_select(0, longest)
        parts = (
            norms / self._total, by_region[..., -2], by_region[..., -1], vector[0, :features],
            longest, self._counters,
        )  # fmt: skip
        torch.cat([part.double().reshape(-1) for part in parts], out=self._answers)
        self._incoming.copy_(self._answers, non_blocking=True)

    def _received(self) -> FloatArray:
        if self._space.device.type == "cuda":
            torch.cuda.current_stream(self._space.device).synchronize()
        found: FloatArray = self._incoming.numpy().copy()
        return found

    def _collect(self) -> None:
        if self._collected:
            return
        self._collected = True
        found = self._received()
        self._moved_since_rebuilt += int(found[-1])
        if self._moved_since_rebuilt > REBUILD_AFTER * self._engine.n_rows:
            self._rebuild()
            found = self._received()
            self._collected = True
        square, cells = self._n_classes**2, self._n_classes * self._n_codes
        ends = np.cumsum([square, cells, cells, self._engine.n_features])
        norms, counts, squares, self._longest_vector, _ = np.split(found, ends)
        self._longest = int(found[-3])
        tables = (norms, self._n_classes), (counts, self._n_codes), (squares, self._n_codes)
        parts = [part.reshape(-1, width) for part, width in tables]
        if self._everywhere:
            parts = [np.tile(part[:1], (self._n_classes, 1)) for part in parts]
        self._norms, self._counts, self._squares = parts
