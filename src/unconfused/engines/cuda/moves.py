"""Moves of rows between cells, on a CUDA device: written down, listed by kind, added up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from unconfused.engines.cuda import triton_moves as kernels

if TYPE_CHECKING:
    from unconfused.engines.cuda.engine import TorchEngine

BINS = 2**17
"""Lists that moves are put on, by kind; a power of 2."""

MOST_SHARES = 4
"""Lists, at most, of one kind of move."""

GROUP = 16
"""Moves of one kind, at most, that are read at once; a power of 2."""

NOTE_ROWS, LIST_ROWS = 512, 128
ADD_COLUMNS, ADD_WARPS = 256, 2

PROGRAMS = 132 * 16
"""Programs that share a list whose length only the device knows; half of what an H200 can hold."""


def power_of_two(n: int, least: int = 1) -> int:
    """Return the smallest power of 2 that is at least n."""
    return max(least, 1 << max(0, n - 1).bit_length())


class Moves:
    """Rows that go from one cell to another, since the last `clear`.

    Parameters
    ----------
    engine : the rows
    n_regions : number of regions; a cell is a region and a label code
    """

    def __init__(self, engine: TorchEngine, n_regions: int) -> None:
        self._engine, self._n_regions = engine, n_regions
        xp, device = engine.space.xp, engine.space.device

        def integers(size: int, dtype: Any) -> Any:
            return xp.zeros(size, dtype=dtype, device=device)

        self.counters = integers(1, xp.int64)
        """How many rows wait to be looked at, and in the upper 32 bits how many moved."""

        kinds = (n_regions + 1) ** 2 * engine.n_codes
        self._shares = min(MOST_SHARES, power_of_two(max(1, BINS // kinds)))
        n_rows, groups = engine.n_rows, engine.n_rows // GROUP + BINS
        self._moves = integers(n_rows, xp.int64)
        self._bins, self._ranks = integers(n_rows, xp.int32), integers(n_rows, xp.int32)
        self._bin_counts, self._bin_ends = integers(BINS, xp.int32), integers(BINS, xp.int64)
        self._listed, self._sizes = integers(groups * GROUP, xp.int64), integers(groups, xp.int32)

    @property
    def notebook(self) -> tuple[Any, ...]:
        """What a kernel needs to write moves down."""
        lists = self._moves, self._bins, self._ranks, self._bin_counts
        return (self.counters, self._engine.row_codes, *lists)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers that go with it: regions, codes, shares and bins."""
        return (self._n_regions, self._engine.n_codes, self._shares, BINS)

    def clear(self) -> None:
        """Forget all moves."""
        self.counters.zero_()
        self._bin_counts.zero_()

    def count(self) -> int:
        """Return how many rows moved; waits for the device."""
        return int(self.counters) >> 32

    def note_all(self, region: Any) -> None:
        """Let every row enter its region from nowhere."""
        self.clear()
        counters, codes, *lists = self.notebook
        n_rows = self._engine.n_rows
        kernels.note_all[(-(-n_rows // NOTE_ROWS),)](
            region, codes, counters, *lists, n_rows, *self.sizes, NOTE_ROWS
        )

    def add_to(self, sums: Any) -> None:
        """Take the rows from the sums of the cells they left, and add them where they came."""
        engine = self._engine
        groups = (self._bin_counts + (GROUP - 1)) >> (GROUP.bit_length() - 1)
        torch.cumsum(groups, 0, dtype=self._bin_ends.dtype, out=self._bin_ends)
        kernels.list_by_bin[(PROGRAMS,)](
            self._moves, self._bins, self._ranks, self.counters, self._bin_counts, self._bin_ends,
            self._listed, self._sizes, GROUP, LIST_ROWS,
        )  # fmt: skip
        tile = min(ADD_COLUMNS, power_of_two(engine.n_columns))
        n_tiles = -(-engine.n_columns // tile)
        kernels.add_moves[(max(1, PROGRAMS // n_tiles), n_tiles)](
            engine.X, self._listed, self._sizes, self._bin_ends, engine.row_codes,
            engine.row_weights, engine.squared_norms, sums, engine.n_columns, engine.n_codes,
            BINS, GROUP, tile, num_warps=ADD_WARPS,
        )  # fmt: skip
