"""Which region every row is in, kept up to date by looking at few rows.

The scores a row had when it was last looked at are kept in single precision, 4 bytes per row and
class, of as many rows as there is room for (`room.py`); for rows of single precision they are also
summed in it. That is enough to tell, for nearly all rows, which class is best. Those too close to
call, by a bound on all rounding, are scored again in double precision, so that regions are those of
exact scores in every case.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines.movement import Movement
from unconfused.engines.outline import EXTREME, Look, Outline
from unconfused.engines.rivals import RivalMovement
from unconfused.engines.room import room_for_outline, rows_with_scores
from unconfused.engines.twins import Twins

if TYPE_CHECKING:
    from unconfused.engines.local import LocalEngine

TIE = 1e-12
"""Scores of a row closer than this share of their scale are tied."""

SINGLE = 2.0**-24
"""Relative error of a number kept in single precision."""

OUTLINE_AFTER = 4
"""An outline is drawn once so many times as many rows were read as there are."""

MANY_ROWS = 2048
"""Rows that a thread finds, scores and decides on before it takes the next ones, at most."""

FEW_ROWS, FEW_ENTRIES = 256, 2**15
"""And so many at least, unless these have that many entries."""

SHARES = 16
"""A thread takes rows so many times, unless there are more, or fewer, than that."""

TOO_MANY_DOUBTS = 0.5
"""Share of rows in doubt from which on an outline is dropped."""


class RowCut:
    """Regions of the rows of an engine, for weights that move.

    Parameters
    ----------
    engine : the rows
    n_classes : number of classes
    alpha : lead over all other classes that a row must have to be in a region
    skip : whether rows that cannot have changed are passed over; the regions are the same
    """

    def __init__(
        self, engine: LocalEngine, n_classes: int, alpha: float, *, skip: bool = True
    ) -> None:
        self._engine = engine
        self._alpha = alpha
        self._skip = skip
        n_rows, n_columns = engine.rows.n_rows, engine.rows.n_columns
        self.row_type: Any = np.int32 if n_rows < 2**31 else np.int64
        """What rows are numbered in."""

        class_type: Any = np.int16 if n_classes < 2**15 else np.int32
        self.region: Any = np.zeros(n_rows, dtype=class_type)
        """Best class of every row, -1 where its lead is less than alpha."""

        n_scored = rows_with_scores(engine, n_classes)
        # What an outline leaves out says nothing of how close a lead is to alpha.
        may_outline = alpha == 0.0 and n_scored == n_rows
        self._room = room_for_outline(engine, n_classes) if may_outline else 0
        # Without a margin best class and region are the same, but while outlines are looked at.
        shared = alpha == 0.0 and self._room == 0
        self._best: Any = self.region if shared else np.zeros(n_rows, dtype=class_type)
        self._slot = np.zeros(n_rows, dtype=np.uint8)
        self._budget = np.empty(n_rows, dtype=np.float32)
        rivals = RivalMovement.is_affordable(n_classes, engine.rows.n_entries)
        # The closest rival, and the budget for all others.
        self._rival: Any = np.zeros(n_rows if rivals else 0, dtype=class_type)
        self._spare = np.empty(len(self._rival), dtype=np.float32)
        self._scores = np.empty((n_scored, n_classes), dtype=np.float32)
        self._moved: Any = np.empty(n_rows, dtype=self.row_type)
        self._before: Any = np.empty(n_rows, dtype=class_type)
        self._weights = np.zeros((n_classes, n_columns))
        self._constants = np.zeros(n_classes)
        own = engine.rows.dtype
        # In the rows' own precision; in double precision these are the same arrays.
        self._quick = self._weights.astype(own, copy=False)
        self._quick_constants = self._constants.astype(own, copy=False)
        sums = (engine.rows.longest + 2) * np.finfo(own).eps
        self._closeness = float(sums + 6 * SINGLE)
        """Scores closer than this share of their scale are not compared: the rounding of two sums
        and of keeping them, and of the budget."""

        self._squared_norms = np.zeros(n_classes)
        self.longest = 0.0
        """Norm of the longest weights."""

        self._movement = (RivalMovement if rivals else Movement)(n_classes, engine.n_features)
        self._twins = Twins(n_classes)
        self._moved_at = np.zeros(n_classes, dtype=np.int64)
        self._stale = np.zeros((self._movement.n_slots, n_classes + 1), dtype=np.int32)
        self._outline: Outline | None = None
        self._looked_at_so_far = self._read_so_far = 0
        self.looked_at = 0
        """How many rows were looked at last time."""

        self.read = 0
        """How many of these were read; of the others their outline told enough."""

    def restart(self, weights: FloatArray) -> None:
        """Find all regions for these weights, (Q, features)."""
        columns = self._engine.rows.n_columns
        self._weights[:] = weights[:, :columns]
        self._constants[:] = weights[:, columns] if self._engine.intercept else 0.0
        self._quick[:] = self._weights
        self._quick_constants[:] = self._constants
        self._squared_norms[:] = np.einsum("rj,rj->r", weights, weights)
        self.longest = float(np.sqrt(self._squared_norms.max()))
        self._twins.restart(weights)
        self._movement.restart()
        self._best.fill(0)
        self.region.fill(0)  # a row that is not decided on yet is in the region of its best class
        self._moved_at.fill(1)  # later than the time 0 that all rows are stamped with
        self._slot.fill(0)
        self._budget.fill(-np.inf)
        self._spare.fill(-np.inf)
        if self._outline is not None and self._is_extreme():
            self._stop_outlining()
        if self._outline is not None:
            self._outline.start(self._weights, self._constants)
        self._look(self._movement.bounds())  # where rows were before does not matter
        self._moved_at.fill(0)

    def move(self, steps: FloatArray, direction: FloatArray) -> tuple[IntArray, IntArray]:
        """Move the weights of every class c by ``steps[c] * direction``.

        Returns the rows that changed their region, in order, and where they were before: two lists
        that are written over when the weights move again.
        """
        columns = self._engine.rows.n_columns
        movers = np.flatnonzero(steps)
        for c in movers:
            self._weights[c] += steps[c] * direction[:columns]
            if self._engine.intercept:
                self._constants[c] += steps[c] * direction[columns]
            self._quick[c], self._quick_constants[c] = self._weights[c], self._constants[c]
            own = self._weights[c]
            self._squared_norms[c] = np.einsum("j,j->", own, own) + self._constants[c] ** 2
        self.longest = float(np.sqrt(self._squared_norms.max()))
        if self._outline is not None:
            self._outline.follow(movers, self._weights, self._constants)
        self._movement.add(steps, direction)
        parted, promoted = self._twins.move(steps)
        self._movement.forget(parted)
        self._moved_at[movers] = self._moved_at[promoted] = self._movement.now
        bounds = self._movement.bounds(4.0 * TIE * self.longest)
        if self._alpha > 0.0:  # whether a lead of 0 is close to alpha depends on all weights
            bounds[:, self._twins.has_twin] = np.inf
        if not self._skip:
            bounds.fill(np.inf)
        if self._outline is not None and self._is_extreme():
            self._stop_outlining()
        n_moved = self._look(bounds)
        self._movement.take_slot()
        self._outline_if_worth_it()
        return self._moved[:n_moved], self._before[:n_moved]

    def _outline_if_worth_it(self) -> None:
        """Draw an outline once rows are read again and again; drop one that leaves much open."""
        n_rows = self._engine.rows.n_rows if self._outline is None else self._outline.n_rows
        if self._room == 0 or self._looked_at_so_far < OUTLINE_AFTER * n_rows:
            return
        if self._is_extreme():
            return
        if self._outline is None:
            self._outline = Outline.of(self._engine, self._room)
            if self._outline is None:
                self._room = 0
                return
            self._outline.start(self._weights, self._constants)
            self._score_all_again()
        elif self._read_so_far > TOO_MANY_DOUBTS * self._looked_at_so_far:
            self._stop_outlining()
        self._looked_at_so_far = self._read_so_far = 0

    def _is_extreme(self) -> bool:
        """Say whether weights could make scores of outlines overflow, or vanish."""
        return not 1.0 / EXTREME <= self.longest <= EXTREME

    def _stop_outlining(self) -> None:
        self._outline, self._room = None, 0
        self._score_all_again()

    def _score_all_again(self) -> None:
        """Let rows be scored for all classes when they are next looked at.

        Scores of outlines cannot be compared with scores of rows.
        """
        self._moved_at.fill(self._movement.now + 1)

    def _look(self, bounds: FloatArray) -> int:
        """Look at the rows whose budgets do not exceed their bounds.

        Returns how many moved: they are listed at the beginning of `_moved` and `_before`.
        """
        from unconfused.engines._look_kernels import LOOKED_AT, READ, bring_together, list_stale

        list_stale(self._twins.lowest, self._moved_at, self._movement.times, self._stale)
        threads, rows = self._engine.in_threads, self._engine.rows
        n_rows, per_row = rows.n_rows, max(1, rows.entries_per_row)
        fewest = min(FEW_ROWS, max(1, FEW_ENTRIES // per_row))
        share = n_rows // (SHARES * threads.n_threads)
        together = min(MANY_ROWS, max(fewest, share))
        looks = [look for look in self._make_looks(bounds) if look[1] < look[2]]
        taken = np.zeros((len(looks), 1), dtype=np.int64)
        counts = [np.zeros((-(-(b - a) // together), 3), dtype=np.int64) for _, a, b in looks]

        def run() -> None:
            for k, (look, start, stop) in enumerate(looks):
                look(start, stop, together, taken[k], counts[k])

        # About as much as last time, or everything where that is not known.
        afresh = (n_rows - len(self._scores)) / n_rows  # for all classes, not for two or so
        classes = 1.0 + afresh * len(self._constants) / 2
        n_entries = int((self.looked_at or n_rows) * per_row * classes)
        threads.together(run, n_entries)
        self.looked_at = self.read = n_moved = 0
        n_outlined = n_rows if self._outline is None else self._outline.n_rows
        for (_, start, _), own in zip(looks, counts, strict=True):
            in_all = own.sum(axis=0)
            self.looked_at += int(in_all[LOOKED_AT])
            self.read += int(in_all[READ])
            # Once there is an outline, rows without one do not say whether it is of use.
            if start < n_outlined:
                self._looked_at_so_far += int(in_all[LOOKED_AT])
                self._read_so_far += int(in_all[READ])
            n_moved = bring_together(self._moved, self._before, start, together, own, n_moved)
        return n_moved

    def _make_looks(self, bounds: FloatArray) -> list[tuple[Look, int, int]]:
        """Return what looks at the rows that must be looked at, in the order of the rows.

        Each with its first row, and with the one behind its last.
        """
        movement, scale = self._movement, self.longest
        rival_bounds = np.zeros((1, 1, 1))
        if isinstance(movement, RivalMovement):
            rival_bounds = movement.rival_bounds()
        kept = (self._stale, self._scores)
        known = (bounds, rival_bounds, self._twins.lowest)
        into = (self._best, self._budget, self._slot, self._rival, self._spare)
        places = (self.region, self._moved, self._before)
        deciding = (
            self._twins.has_twin, self._engine.row_norms, self._alpha,
            self._closeness * scale, TIE * scale, movement.slot, *into, *places,
        )  # fmt: skip
        rows, exact = self._engine.rows, (self._weights, self._constants)
        own = (self._quick, self._quick_constants, *exact)
        n_outlined = 0 if self._outline is None else self._outline.n_rows
        n_scored = len(self._scores)
        looks: list[tuple[Look, int, int]] = [
            (partial(rows.look, *own, *kept, *known, *deciding), n_outlined, n_scored),
            (partial(rows.look_afresh, *own, *known, *deciding), n_scored, rows.n_rows),
        ]
        if self._outline is not None:
            closeness = (rows.n_columns + 2) * np.finfo(np.float64).eps + 4.0 * TIE
            by_outline = self._outline.look(
                scale, *exact, *kept, *known, self._engine.row_norms, closeness * scale,
                TIE * scale, movement.slot, *into, *places,
            )  # fmt: skip
            looks.insert(0, (by_outline, 0, n_outlined))
        return looks
