"""Rows that changed regions whose sums have not followed yet.

Only the longest update vectors are ever wanted. So rows that moved are noted down, with how much
longer or shorter they can have made each vector (its debt); what is kept of a region follows once
one of its vectors could be the one that is looked for. By then many rows have come back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines.cells import Transfer

if TYPE_CHECKING:
    from unconfused.engines.local import LocalEngine

HOPELESS = 2**62
"""More rows to follow than there are."""


class Arrears:
    """What moved, region by region, since a region's sums were last brought up to date.

    Parameters
    ----------
    engine : the rows
    n_classes : number of regions
    limits : says, region by region, how many rows may have moved until to start from the region's
        rows takes less than to follow; then they are no longer noted
    """

    def __init__(
        self, engine: LocalEngine, n_classes: int, limits: Callable[[], FloatArray]
    ) -> None:
        self._engine = engine
        self._limits = limits
        self.n_moved = np.zeros(n_classes, dtype=np.int64)
        """How many rows left or joined each region."""

        self.debts = np.zeros((n_classes, n_classes))
        """How far every unmixed sum may be from what it was when its norm was last asked for."""

        # Which rows; of those that left the complement, a negative number.
        self._moved: list[list[IntArray]] = [[] for _ in range(n_classes)]
        self._net = np.zeros(0, dtype=np.int8)

    def start(self) -> None:
        """Let no region have any rows."""
        self.debts.fill(0.0)
        self.settle(np.arange(len(self.debts)))

    def fill(self, regions: IntArray) -> None:
        """Let regions have rows of which nothing is known."""
        self.debts[regions] = np.inf
        self.give_up(regions)

    def note(self, transfer: Transfer, coefficients: FloatArray) -> None:
        """Note down rows that moved."""
        from unconfused.engines._transfer_kernels import sign_and_weigh

        n_classes, n_codes = len(self.debts), self._engine.n_codes
        masses, signed = np.zeros(n_classes * n_codes), np.empty_like(transfer.rows)
        moves = (transfer.rows, transfer.cells, transfer.weights)
        sign_and_weigh(*moves, self._engine.row_norms, masses, signed)
        self.debts += masses.reshape(n_classes, n_codes) @ np.abs(coefficients)
        ends = np.searchsorted(transfer.cells, np.arange(n_classes + 1) * n_codes)
        self.n_moved += np.diff(ends)
        # For good: a list that has been dropped is not whole again once the region has grown.
        self.n_moved[self.n_moved > self._limits()] = HOPELESS
        for region in np.flatnonzero(np.diff(ends)).tolist():
            if self.n_moved[region] == HOPELESS:
                self._moved[region].clear()
            else:
                # A copy: a view would keep the lists of all regions.
                self._moved[region].append(signed[ends[region] : ends[region + 1]].copy())

    def give_up(self, regions: IntArray) -> None:
        """Let regions be started from their rows, whatever moves."""
        self.n_moved[regions] = HOPELESS
        for region in regions:
            self._moved[region].clear()

    def behind(self, regions: IntArray) -> tuple[IntArray, IntArray]:
        """Return those of some regions to start again, and those to follow."""
        n_moved = self.n_moved[regions]
        hopeless = n_moved > self._limits()[regions]
        return regions[hopeless], regions[(n_moved > 0) & ~hopeless]

    def exchange(self, first: int, second: int) -> None:
        """Let two regions change places."""
        for table in (self.debts, self.n_moved):
            table[[first, second]] = table[[second, first]]
        moved = self._moved
        moved[first], moved[second] = moved[second], moved[first]

    def net(self, region: int) -> tuple[IntArray, FloatArray]:
        """Return the rows that joined or left, and what they count: negatively if they left.

        Rows that came back, or left again, are not among them.
        """
        from unconfused.engines._cell_kernels import net_moves

        if len(self._net) == 0:
            self._net = np.zeros(self._engine.rows.n_rows, dtype=np.int8)
        moved = np.concatenate(self._moved[region])
        signs = np.empty(len(moved), dtype=np.int8)
        rows = moved[: net_moves(moved, self._net, signs)]
        return rows, self._engine.weights[rows] * signs[: len(rows)]

    def settle(self, regions: IntArray) -> None:
        """Note that nothing is left to follow in regions. Debts stay until norms are measured."""
        self.n_moved[regions] = 0
        for region in regions:
            self._moved[region].clear()
