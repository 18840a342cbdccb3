"""Sums of sets of rows that were regions once.

While weights are young, rows go back and forth between regions, under one name or another. The sums
of a region are then made from those of the set that it differs from in the fewest rows, which may
have been another region, some updates ago.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._typing import BoolArray, FloatArray, IntArray
from unconfused.engines.sums import ADDED_PER_ROW, PARTS

if TYPE_CHECKING:
    from unconfused.engines.local import LocalEngine

WORD = 64
"""Rows of a set that are in one number, a bit each."""

LISTED_TOGETHER = 2**13
"""Rows that are listed at once."""

MUCH_ALIKE = 8
"""Of two sets that differ in less than one row in so many, the newer one is held."""

UNUSED, NEEDED = -1, 2**62


class Snapshots:
    """Sums by code of some sets of rows; those that were asked for last are held.

    Parameters
    ----------
    engine : the rows
    sums : where the sums are written, (sets + 1, codes, features); the last stay 0
    """

    def __init__(self, engine: LocalEngine, sums: FloatArray) -> None:
        self._engine = engine
        self._sums = sums
        self.none = len(sums) - 1
        """The set of no rows."""

        n_words = -(-engine.rows.n_rows // WORD)
        self._sets: Any = np.zeros((len(sums), n_words), dtype=np.uint64)
        self._held = np.zeros(len(sums), dtype=bool)
        self._n_added = np.zeros(len(sums), dtype=np.int64)
        self._asked = np.zeros(len(sums), dtype=np.int64)
        self._now = 0

    def rows_in(self, region: IntArray, wanted: int) -> Any:
        """Return the set of the rows in one region."""
        from unconfused.engines._snapshot_kernels import mark_rows

        rows = np.empty(self._sets.shape[1], dtype=np.uint64)
        mark_rows(region, wanted, rows)
        return rows

    def nearest(self, rows: Any, likely: int) -> tuple[int, int, int]:
        """Return the set that differs from `rows` in the fewest, in how many, and of how many.

        If that is the `likely` one, it is found soon.
        """
        from unconfused.engines._snapshot_kernels import nearest_set

        most = ADDED_PER_ROW * self._engine.rows.n_rows
        found = nearest_set(rows, self._sets, self._held, self._n_added, most, likely)
        return int(found[0]), int(found[1]), int(found[2])

    def compare(
        self, region: IntArray, regions: IntArray, is_measured: BoolArray, masses: FloatArray,
        likely: IntArray,
    ) -> IntArray:  # fmt: skip
        """Return which of some sets each region is closer to than `masses` says, -1 for none.

        Masses, (regions, codes), say how long the rows are together that make the difference;
        they are made those of the nearest set that is measured, `likely` one of its own.
        """
        from unconfused.engines._snapshot_kernels import compare_regions

        nearest = np.empty(len(regions), dtype=np.int64)
        known = (self._engine.codes, self._engine.weights, self._engine.row_norms)
        measured = self._held & is_measured
        compare_regions(region, regions, self._sets, measured, *known, masses, likely, nearest)
        return nearest

    def ask(self, wanted: IntArray) -> None:
        """Begin a question, for some sets among others: they are not replaced before the next."""
        self._now += 1
        self._asked[wanted] = self._now

    def hold(self, wanted: int) -> None:
        """Note that a set is asked for as well."""
        self._asked[wanted] = self._now

    def place_for(self, base: int, distance: int, n_rows: int) -> int:
        """Return the set to replace by one of `n_rows`, which differs from `base` by `distance`.

        That is one that is not in use, or `base` itself if both are much alike, or the one that was
        not asked for the longest. One that is asked for at the same time is not.
        """
        age = np.where(self._held, self._asked, UNUSED)[: self.none]
        age[age == self._now] = NEEDED
        if base != self.none and age[base] != NEEDED:
            age[base] = UNUSED if distance * MUCH_ALIKE < n_rows else self._now
        return int(age.argmin())

    def replace(self, old: int, rows: Any, base: int, distance: int, empty: BoolArray) -> None:
        """Hold a new set in the place of an old one, made from one that it differs little from.

        `distance` says in how many rows, and `empty` of which codes it has none.
        """
        self._held[old] = False  # if it is interrupted
        n_added = self._n_added[base] + distance
        if old != base:
            self._sums[old] = self._sums[base]
        self._add_difference(old, rows, self._sets[base], distance)
        self._sums[old, empty] = 0.0  # rounding must not leave a trace of rows that have left
        self._sets[old], self._n_added[old] = rows, 0 if empty.all() else n_added
        self._held[old] = True
        self._asked[old] = self._now

    def _add_difference(self, into: int, rows: Any, others: Any, distance: int) -> None:
        """Let the rows that are in one of two sets only, so many, join or leave some sums."""
        from unconfused.engines._snapshot_kernels import list_difference

        engine = self._engine
        together = max(LISTED_TOGETHER, WORD * (len(rows) // 16))
        room = min(together, distance)
        n_words = len(rows) if room == distance else together // WORD
        lists: tuple[Any, ...] = (
            np.empty(room, dtype=np.int32 if engine.rows.n_rows < 2**31 else np.int64),
            np.empty(room, dtype=np.int32),
            np.empty(room),
        )
        known = (engine.codes, engine.weights, engine.n_codes)
        for first in range(0, len(rows), n_words):
            last = min(first + n_words, len(rows))
            count = list_difference(rows, others, first, last, *known, *lists)
            self._add(self._sums[into], *(one[:count] for one in lists))

    def _add(self, sums: FloatArray, rows: IntArray, codes: IntArray, weights: FloatArray) -> None:
        """Add rows, sorted by code, to the sums of their codes.

        They are cut into parts of one size, as many whatever the number of threads. Where a code is
        cut through, the later part adds to a line of its own, so that none waits for another, and
        sums round alike.
        """
        if len(rows) == 0:
            return
        cuts = [part * len(rows) // PARTS for part in range(PARTS + 1)]
        through = [0 < cut < len(rows) and codes[cut - 1] == codes[cut] for cut in cuts[:-1]]
        lines = np.zeros((PARTS, sums.shape[1]))

        def run(part: int) -> None:
            start, stop = cuts[part], cuts[part + 1]
            if through[part]:
                cut = start + int(np.searchsorted(codes[start:stop], codes[start], side="right"))
                own = slice(start, cut)
                nowhere = np.zeros(cut - start, dtype=codes.dtype)
                self._engine.rows.add(rows[own], nowhere, weights[own], lines[part : part + 1])
                start = cut
            own = slice(start, stop)
            self._engine.rows.add(rows[own], codes[own], weights[own], sums)

        n_entries = len(rows) * self._engine.rows.entries_per_row
        self._engine.in_threads.each(run, range(PARTS), n_entries)
        for part in range(PARTS):
            if through[part]:
                sums[codes[cuts[part]]] += lines[part]
        self._engine.add_constant(codes, weights, sums)
