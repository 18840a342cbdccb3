"""Cells of rows on a CUDA device.

An update is one chain of kernels without a word from the host in between: what moved, and how many,
is known on the device alone. The chain is recorded once as a CUDA graph and replayed.

While the host decides on the next update, the device does not wait: it multiplies the rows by the
longest update vector that has something to teach, unless that was not the choice for some time.
Another choice is projected when it comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray
from unconfused.engines.array_api.cells import REBUILD_AFTER, ArrayPartition
from unconfused.engines.cuda import moves
from unconfused.engines.cuda import triton_answers as answers
from unconfused.engines.cuda import triton_kernels as kernels
from unconfused.engines.cuda.moves import Moves, power_of_two
from unconfused.engines.base import TIE

if TYPE_CHECKING:
    from unconfused.engines.cuda.engine import TorchEngine

FOLLOW_ROWS, FOLLOW_WARPS = 128, 4
MEASURE_PAIRS, ANSWER_COLUMNS = 8, 128

SETTLE_SCORES = 64, 512
"""Scores that a warp looks at together, with few classes and with many; at least one row's."""

FEW_CLASSES = 32
"""With more, a guess does not ask whether a vector has something to teach: most have."""

HEAD = 4
"""Numbers in the settings before the steps."""

MOST_MISSES = 2
"""So many wrong guesses in a row, and the device waits until one would have been right."""


class TorchPartition(ArrayPartition):
    """Cells that look at all classes of a row only where its class may have changed."""

    _engine: TorchEngine
    _longest: int
    _longest_vector: FloatArray

    def __init__(self, engine: TorchEngine, unmixing: Unmixing, alpha: float) -> None:
        n_rows, n_classes, n_cells = (
            engine.n_rows, unmixing.n_classes, unmixing.n_classes * engine.n_codes,
        )  # fmt: skip
        xp, zeros = engine.space.xp, engine.space.zeros

        def integers(size: int) -> Any:
            return xp.zeros(size, dtype=xp.int32, device=engine.space.device)

        # The scores of a row's class and of its two rivals, and a bound on those of all others.
        self._leaders = zeros(n_rows), zeros(n_rows), zeros(n_rows), zeros(n_rows)
        self._region, self._rivals = integers(n_rows), (integers(n_rows), integers(n_rows))
        self._projection, self._waiting = zeros(n_rows), integers(n_rows)
        self._moves = Moves(engine, n_classes)
        self._sums = zeros(n_cells, engine.n_columns + 2)
        self._settings = zeros(HEAD + 2 * n_classes + engine.n_columns + 1)
        self._weights = zeros(n_classes, engine.n_features)
        self._same_class = xp.eye(n_classes, dtype=xp.bool, device=engine.space.device)
        self._lengths = zeros(n_classes, n_classes)
        self._divisor = zeros(1) + engine.total
        self._ahead = zeros(engine.n_columns + 1)
        self._longest_row = float(engine.row_norms.max()) if n_rows else 0.0
        self._on_cuda = engine.space.device.type == "cuda"
        # Where the host writes and reads, in memory the device can reach by itself.
        self._outgoing = torch.zeros(
            len(self._settings), dtype=xp.float64, pin_memory=self._on_cuda
        )
        size = n_classes * n_classes + 2 * n_cells + engine.n_features + 2
        self._incoming = torch.zeros(size, dtype=xp.float64, pin_memory=self._on_cuda)
        self._answers = zeros(size)
        self._answered = torch.cuda.Event() if self._on_cuda else None
        # Goes before what the device does ahead, which the solver's questions must not wait for.
        self._questions = torch.cuda.Stream(priority=-1) if self._on_cuda else None
        self._misses = 0
        self._collected = True
        self._graph: Any = None
        self._chains = 0
        super().__init__(engine, unmixing, alpha)

    def restart(self, weights: FloatArray) -> None:
        """Cut afresh by these weights; with all of them 0, every row is in every class."""
        self._everywhere = not weights.any()
        self._largest_norm = float(np.sqrt(np.einsum("rj,rj->r", weights, weights).max()))
        self._leaders[-1].fill_(float("inf"))  # makes the next look a full one
        self._weights.copy_(self._space.put(weights))
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
        self._collect()
        self._largest_norm += float(np.abs(steps).max() * np.linalg.norm(direction))
        self._send(steps, direction)
        guessed = np.array_equal(self._longest_vector, direction)
        self._misses = 0 if guessed else self._misses + 1
        if not (self._is_ahead and guessed):
            vector = self._settings[HEAD + 2 * self._n_classes :]
            self._engine.project(vector, self._projection)
        if self._everywhere:
            self._everywhere = False
            self._look()
            self._rebuild()
        else:
            self._run_chain()
            self._fresh = False
        self._finish(ahead=self._misses < MOST_MISSES)

    def update_vector(self, predicted: int, true: int) -> FloatArray:
        """Return z: the mean over all rows of those predicted so and truly (unmixed) so."""
        self._collect()
        pair = predicted * self._n_classes + true
        if not self._everywhere and self._longest == pair:
            return self._longest_vector.copy()
        if self._questions is None or self._answered is None:
            return super().update_vector(predicted, true)
        self._questions.wait_event(self._answered)
        with torch.cuda.stream(self._questions):
            return super().update_vector(predicted, true)

    def _send(self, steps: FloatArray, direction: FloatArray) -> None:
        """Bring all that an update needs to the device, in one transfer."""
        n_classes, changed = self._n_classes, np.flatnonzero(steps)
        if not self._collected:
            self._received()  # what was sent last must have arrived before it is written over
        numbers = self._outgoing.numpy()
        numbers[:] = 0.0
        numbers[:HEAD] = TIE * self._largest_norm, self._alpha, len(changed), self._longest_row
        numbers[HEAD : HEAD + n_classes] = steps
        numbers[HEAD + n_classes : HEAD + n_classes + len(changed)] = changed
        vector = numbers[HEAD + 2 * n_classes :]
        vector[: len(direction)] = direction
        self._settings.copy_(self._outgoing, non_blocking=True)

    def _run_chain(self) -> None:
        """Make the update: launched one by one at first, then recorded, then replayed."""
        self._chains += 1
        if not self._on_cuda or self._chains == 1:
            self._chain()
            return
        if self._graph is None:
            torch.cuda.synchronize()
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._chain()
        self._graph.replay()

    def _chain(self) -> None:
        self._look()
        self._moves.add_to(self._sums)
        self._answer()

    def _look(self) -> None:
        """Move the scores and find the rows that moved."""
        engine, n_rows = self._engine, self._engine.n_rows
        steps, vector = self._settings[HEAD:].split([2 * self._n_classes, engine.n_columns + 1])
        if self._n_classes <= FEW_CLASSES:
            self._weights.add_(torch.outer(steps[: self._n_classes], vector[: engine.n_features]))
        self._moves.clear()
        kept = (self._region, *self._rivals, *self._leaders, self._waiting, *self._moves.notebook)
        kernels.follow[(-(-n_rows // FOLLOW_ROWS),)](
            self._scores, self._projection, self._settings, *kept,
            n_rows, *self._moves.sizes, FOLLOW_ROWS, num_warps=FOLLOW_WARPS,
        )  # fmt: skip
        classes = power_of_two(self._n_classes)
        together = SETTLE_SCORES[classes > FEW_CLASSES]
        kernels.settle[(moves.PROGRAMS,)](
            self._scores, self._settings, engine.row_norms, *kept,
            n_rows, *self._moves.sizes, max(1, together // classes), classes,
            num_warps=min(8, max(1, classes // together)),
        )  # fmt: skip

    def _rebuild(self) -> None:
        """Sum all cells afresh: as if every row came from nowhere."""
        self._moved_since_rebuilt, self._fresh = 0, True
        self._sums.zero_()
        self._moves.note_all(self._region)
        self._moves.add_to(self._sums)
        self._answer()
        self._finish(ahead=False)

    def _answer(self) -> None:
        """Work out norms and tables, and the vector that most selections ask for, the longest."""
        n_classes, engine = self._n_classes, self._engine
        pairs, cells, features = n_classes**2, n_classes * self._n_codes, engine.n_features
        vectors = self._unmix @ self._sums.reshape(n_classes, self._n_codes, -1)
        answers.measure[(-(-max(pairs, cells) // MEASURE_PAIRS),)](
            vectors, self._sums, self._divisor, self._answers, self._lengths,
            n_classes, cells, features, engine.n_columns, MEASURE_PAIRS, ANSWER_COLUMNS,
        )  # fmt: skip
        answers.show[(-(-features // ANSWER_COLUMNS),)](
            vectors, self._candidates(vectors[..., :features]).argmax(), self._moves.counters,
            self._divisor, self._answers, self._ahead,
            pairs + 2 * cells, features, engine.n_columns, ANSWER_COLUMNS,
        )  # fmt: skip
        self._incoming.copy_(self._answers, non_blocking=True)

    def _candidates(self, vectors: Any) -> Any:
        """Return the norms of vectors that an update may be made with, -1 for the others.

        A vector that scores highest for its own class already has nothing to teach.
        """
        if self._n_classes > FEW_CLASSES:
            return self._lengths
        scores = vectors @ self._weights.T
        rivals = scores.masked_fill(self._same_class, -np.inf).amax(2)
        return self._lengths.masked_fill(rivals < scores.diagonal(dim1=1, dim2=2), -1.0)

    def _finish(self, ahead: bool) -> None:
        """Let the host have the answer, and the device go on with its guess meanwhile."""
        if self._answered is not None:
            self._answered.record()
        if ahead:
            self._engine.project(self._ahead, self._projection)
        self._collected, self._is_ahead = False, ahead

    def _received(self) -> FloatArray:
        if self._answered is not None:
            self._answered.synchronize()
        found: FloatArray = self._incoming.numpy().copy()
        return found

    def _collect(self) -> None:
        if self._collected:
            return
        self._collected = True
        found = self._received()
        self._moved_since_rebuilt += 0 if self._fresh else int(found[-1])
        if self._moved_since_rebuilt > REBUILD_AFTER * self._engine.n_rows:
            self._rebuild()
            found = self._received()
            self._collected = True
        square, cells = self._n_classes**2, self._n_classes * self._n_codes
        ends = np.cumsum([square, cells, cells, self._engine.n_features])
        norms, counts, squares, self._longest_vector, _ = np.split(found, ends)
        self._longest = int(found[-2])
        tables = (norms, self._n_classes), (counts, self._n_codes), (squares, self._n_codes)
        parts = [part.reshape(-1, width) for part, width in tables]
        if self._everywhere:
            parts = [np.tile(part[:1], (self._n_classes, 1)) for part in parts]
        self._norms, self._counts, self._squares = parts
