"""Incremental assignment of rows to regions.

A row is rescored only once the weights have drifted so far that its best class may have changed. If
its best class b led every other class c by at least `lead` when the row x was scored, then by
Cauchy-Schwarz b is still best while ``|x| (|dw_b| + |dw_c|) < lead`` for all c, where dw is the
change of the weights since. ``lead / |x|`` is the slack of the row.

dw is a distance, not the length of a path: updates go back and forth. The most recent update
directions are kept to compute it; rows scored before them are scored again. The loops over rows are
in `rescore.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines.base import TIE
from unconfused.engines.local.rescore import BATCH, Limits, RowState, Scorer, list_stale, rescore

if TYPE_CHECKING:
    from unconfused.engines.local.engine import LocalEngine

SKIP_ROWS = True
"""Whether to skip rows that cannot have changed; does not affect the regions."""

SINGLE = 2.0**-24
"""Relative rounding error of single precision."""

PIECES_PER_THREAD = 4
"""Chunks of rows per thread, for load balancing: the work per row is uneven."""

READS = 3
"""Number of times that rows are read before they are quantized, which takes about as long."""

WINDOW = 64
"""Largest number of past updates tracked; a row scored before them is rescored."""

DIRECTION_BYTES = 8 * 2**20
"""Memory for past directions; with many features, fewer are tracked."""


class WeightDrift:
    """Distance of every class's weights from their values at each of the last updates.

    Time is counted in updates and stored in slots, each reused after `n_slots` updates.

    Examples
    --------
    >>> import numpy as np
    >>> drift = WeightDrift(n_classes=3, n_features=2)
    >>> drift.restart()
    >>> drift.add(np.array([1.0, -1.0, 0.0]), np.array([3.0, 4.0]))
    >>> drift.distances()[0].round(3)
    array([5., 5., 0.], dtype=float32)
    """

    def __init__(self, n_classes: int, n_features: int) -> None:
        affordable = DIRECTION_BYTES // (8 * n_features)
        self.n_slots = int(np.clip(affordable, 4, WINDOW))
        self.times: IntArray = np.full(self.n_slots, -1)
        """Time stored in each slot; -1 if unused."""

        self._directions = np.zeros((self.n_slots, n_features))
        self._steps = np.zeros((self.n_slots, n_classes))
        self._squared = np.zeros((self.n_slots, n_classes))
        self._path = np.zeros((self.n_slots, n_classes))
        self._rounding = (n_features + 4 * self.n_slots) * np.finfo(np.float64).eps
        """Share of a path's squared length that rounding may hide in a squared distance."""

        self.unsafe = np.zeros((self.n_slots, n_classes), dtype=bool)
        """Slots and best classes of rows that are not safe, whatever their slack."""

        self.now = 0

    @property
    def slot(self) -> int:
        """Slot of the current time."""
        return self.now % self.n_slots

    def restart(self) -> None:
        """Reset to time 0."""
        self.times.fill(-1)
        self._directions.fill(0.0)
        self._steps.fill(0.0)
        self.now = 0
        self.take_slot()

    def take_slot(self) -> None:
        """Open the slot of the current time, so that rows can be stamped with it."""
        slot = self.slot
        self.times[slot] = self.now
        self._squared[slot] = self._path[slot] = 0.0
        self.unsafe[slot] = False

    def add(self, steps: FloatArray, direction: FloatArray) -> None:
        """Record an update of every class c by ``steps[c] * direction``; advance the time."""
        back = (self.slot - np.arange(self.n_slots)) % self.n_slots  # most recent slot first
        moves = self._steps[back] * (self._directions @ direction)[back, np.newaxis]
        products = np.empty_like(moves)
        # Inner products with the displacement since each slot's time, which excludes its own move.
        products[back] = moves.cumsum(axis=0) - moves
        length = float(direction @ direction)
        self._squared += steps * (2.0 * products + steps * length)
        self._path += np.abs(steps) * length**0.5
        self.now += 1
        self._directions[self.slot] = direction
        self._steps[self.slot] = steps
        self._squared[self.slot] = np.inf  # some direction since its old time was overwritten

    def forget(self, best: int) -> None:
        """Make every row with this best class, scored up to now, be rescored."""
        self.unsafe[:, best] = True

    def distances(self, share: float = 0.0, allowance: float = 0.0) -> FloatArray:
        """Return an upper bound on the distance of every class since every slot, (slots, Q).

        A share of it, and `allowance`, are added for rounding. Unknown distances are infinite.
        """
        with np.errstate(over="ignore"):  # infinite in single precision: nothing is safe
            moved = np.sqrt(np.maximum(self._squared, 0.0) + self._rounding * self._path**2)
            moved = moved * (1.0 + 1e-6 + share) + allowance
            return np.asarray(moved, dtype=np.float32)


def used_slack(distances: FloatArray) -> FloatArray:
    """Return the slack used up since each slot, by best class, (slots, Q).

    It is the distance of the best class plus the largest distance of any other class.

    Examples
    --------
    >>> import numpy as np
    >>> used_slack(np.array([[5.0, 3.0, 0.0]]))
    array([[8., 8., 5.]])
    """
    second, first = np.partition(distances, -2, axis=1)[:, -2:, np.newaxis].swapaxes(0, 1)
    return np.asarray(distances + np.where(distances == first, second, first))


class RowAssignment:
    """Region of every row under changing weights: its best class, if that leads by `alpha`."""

    def __init__(self, engine: LocalEngine, n_classes: int, alpha: float) -> None:
        self._engine, self._alpha, self._skip = engine, alpha, SKIP_ROWS
        n_rows, n_columns, own = engine.rows.n_rows, engine.rows.n_columns, engine.rows.dtype
        class_type: Any = np.int16 if n_classes < 2**15 else np.int32
        self.region: Any = np.zeros(n_rows, dtype=class_type)
        """Best class of every row; -1 where its lead is below alpha."""

        self._state = RowState(
            region=self.region,
            # Without a margin, best class and region coincide.
            best=self.region if alpha == 0.0 else np.zeros(n_rows, dtype=class_type),
            slack=np.empty(n_rows, dtype=np.float32),
            slot=np.zeros(n_rows, dtype=np.uint8),
            scores=np.empty((n_rows, n_classes), dtype=np.float32),
            norms=engine.row_norms,
        )
        self._moved: Any = np.empty(n_rows, dtype=np.int32 if n_rows < 2**31 else np.int64)
        self._before: Any = np.empty(n_rows, dtype=class_type)
        self._weights = np.zeros((n_classes, n_columns))
        self._constants = np.zeros(n_classes)
        self._score_with(engine.rows.stored, own)
        """Relative difference below which scores are too close to call: it bounds the rounding of
        two scores, of storing them in single precision, and of the slack."""

        self._squared_norms = np.zeros(n_classes)
        self._at_zero = np.ones(n_classes, dtype=bool)
        """Classes whose weights are still 0: all tied, so the lowest represents them."""

        self._drift = WeightDrift(n_classes, engine.n_features)
        self._moved_at = np.zeros(n_classes, dtype=np.int64)
        self._stale = np.zeros((self._drift.n_slots, n_classes + 1), dtype=np.int32)
        self.n_rescored = 0
        """Number of rows rescored by the last call."""

        self._n_to_read: float = READS * n_rows
        """Number of rows to rescore before they are quantized."""

        self.room = np.inf
        """Memory for quantized rows, in bytes."""

    def _score_with(self, rows: Any, own: Any, scales: Any = 1.0, error: float = 0.0) -> None:
        """Decide classes by these rows, whose columns have to be multiplied by the scales."""
        self._rows, self._scales, self._error = rows, scales, error
        self._own_weights = (self._weights * scales).astype(own)
        self._own_constants = self._constants.astype(own)
        sums = (self._engine.rows.longest + 3) * np.finfo(own).eps
        self._closeness = float(sums + 6 * SINGLE)

    def restart(self, weights: FloatArray) -> None:
        """Assign all rows by these weights, (Q, features)."""
        columns = self._engine.rows.n_columns
        self._weights[:] = weights[:, :columns]
        self._constants[:] = weights[:, columns] if self._engine.intercept else 0.0
        self._own_weights[:] = self._weights * self._scales
        self._own_constants[:] = self._constants
        self._squared_norms[:] = np.einsum("rj,rj->r", weights, weights)
        self._at_zero = np.asarray(~weights.any(axis=1))
        self._drift.restart()
        self._state.best.fill(0)
        self.region.fill(0)  # any valid class: all rows are about to be assigned
        self._moved_at.fill(1)  # later than time 0, the stamp of all rows: every class is stale
        self._state.slot.fill(0)
        self._state.slack.fill(-np.inf)
        self._state.scores.fill(0.0)  # classes with zero weights are not scored
        self._rescore(np.full((self._drift.n_slots, len(weights)), np.inf, dtype=np.float32))
        self._moved_at.fill(0)

    def move(self, steps: FloatArray, direction: FloatArray) -> tuple[IntArray, IntArray]:
        """Add ``steps[c] * direction`` to the weights of every class c.

        Returns the rows that changed region, and their previous regions.
        """
        columns, movers = self._engine.rows.n_columns, np.flatnonzero(steps)
        for c in movers:
            own = self._weights[c]
            own += steps[c] * direction[:columns]
            if self._engine.intercept:
                self._constants[c] += steps[c] * direction[columns]
            self._own_weights[c] = own * self._scales
            self._own_constants[c] = self._constants[c]
            self._squared_norms[c] = np.einsum("j,j->", own, own) + self._constants[c] ** 2
        self._drift.add(steps, direction)
        self._moved_at[movers] = self._drift.now
        self._leave_zero(movers)
        # Kept scores are as far off as weights were long, which may have become shorter since.
        drift = self._drift.distances(self._closeness, 4.0 * TIE * self._longest)
        if not self._skip:
            drift.fill(np.inf)
        moves = self._rescore(drift)
        self._drift.take_slot()
        self._n_to_read -= self.n_rescored
        if self._n_to_read <= 0:
            self._n_to_read = np.inf
            self._quantize()
        return moves

    def _quantize(self) -> None:
        """Decide classes by quantized rows from now on, if these fit into memory."""
        found = self._engine.rows.quantized(self._engine.in_threads, self.room)
        if found is not None:
            self._score_with(found.stored, np.float32, found.scales, found.error)

    def _leave_zero(self, movers: IntArray) -> None:
        """Stop representing these classes by the lowest class with zero weights."""
        if self._at_zero[movers].any():
            # The slack of rows assigned to the representative ignored the classes tied with it.
            self._drift.forget(int(np.argmax(self._at_zero)))
            self._at_zero[movers] = False

    def _contenders(self) -> IntArray:
        """Return the classes that could be best for some row."""
        # With a margin, the lead over tied classes counts too.
        contends = ~self._at_zero if self._alpha == 0.0 else np.ones_like(self._at_zero)
        contends[np.argmax(self._at_zero)] = True
        # Unsigned: compiled loops check indices that may be negative.
        return np.flatnonzero(contends).astype(np.uint32)

    @property
    def _longest(self) -> float:
        """Largest norm of any class's weights."""
        return float(np.sqrt(self._squared_norms.max()))

    def _rescore(self, drift: FloatArray) -> tuple[IntArray, IntArray]:
        """Assign the rows whose slack is used up; return those that changed region."""
        weights = self._own_weights, self._own_constants, self._weights, self._constants
        scorer, scale = Scorer(self._rows, *weights, self._contenders()), self._longest
        list_stale(scorer.classes, self._moved_at, self._drift.times, self._stale)
        used = used_slack(drift)
        used[self._drift.unsafe] = np.inf
        limits = Limits(
            used_slack=used,
            stale=self._stale,
            alpha=self._alpha,
            closeness=self._closeness * scale,
            error=(2.0 + self._closeness) * self._error * scale,
            tie=TIE * scale,
            now=self._drift.slot,
        )
        rows, state, threads = self._engine.rows.stored, self._state, self._engine.in_threads
        # Whole batches: the batches must not depend on the number of threads.
        pieces = threads.pieces(PIECES_PER_THREAD * threads.n_threads, multiple_of=BATCH)

        def run(start: int, stop: int) -> tuple[slice, int]:
            args = rows, scorer, state, limits, start, stop, self._moved, self._before
            n_moved, n_rescored = rescore(*args)
            return slice(start, start + n_moved), n_rescored

        listed, counts = zip(*threads.each(run, pieces), strict=True)
        self.n_rescored = sum(counts)
        moved, before = ([of[part] for part in listed] for of in (self._moved, self._before))
        return np.concatenate(moved), np.concatenate(before)
