"""The engine for torch tensors on a CUDA device: the same sums, in kernels that read rows once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray
from unconfused.engines import _triton_kernels as kernels
from unconfused.engines._torch_cells import ADD_ROWS, TorchPartition, aligned_starts
from unconfused.engines._torch_likelihood import can_measure, measure_fused, power_of_two
from unconfused.engines.array_api import ArrayEngine
from unconfused.engines.base import LikelihoodPass

PROJECT_ROWS, PROJECT_COLUMNS, PROJECT_WARPS = 16, 128, 2
ADD_COLUMNS, ADD_PROGRAMS, ADD_WARPS = 256, 132 * 16, 4


class TorchEngine(ArrayEngine):
    """Rows in a torch tensor on a CUDA device."""

    def __init__(self, X: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(X.contiguous(), *args, **kwargs)

    @cached_property
    def rows_by_code(self) -> tuple[Any, Any]:
        """Label codes in order, and the rows that have them."""
        codes, order = self.row_codes.sort()
        return codes, order

    def project(self, direction: Any, out: Any) -> None:
        """Write the product of every row with a vector whose last entry is the intercept's."""
        tile = min(PROJECT_COLUMNS, power_of_two(self.n_columns))
        kernels.project[(-(-self.n_rows // PROJECT_ROWS),)](
            self.X, direction, out, self.n_rows, self.n_columns, PROJECT_ROWS, tile,
            num_warps=PROJECT_WARPS,
        )  # fmt: skip

    def add(self, rows: Any, cells: Any, weights: Any, sums: Any) -> Any:
        """Return sums by cell with chosen rows, times their weights, added (in place)."""
        cells, order = cells.sort()
        counts = cells.bincount(minlength=len(sums))
        starts, total = aligned_starts(counts)
        before = counts.cumsum(0) - counts
        places = self.space.indices(len(cells)) - before[cells] + starts[cells]
        room = len(cells) + ADD_ROWS * len(sums)
        listed_rows, listed_cells = cells.new_zeros(room), cells.new_zeros(room)
        listed_weights = self.space.zeros(room)
        listed_rows[places], listed_cells[places] = rows[order], cells
        listed_weights[places] = weights[order]
        lists = (listed_rows, listed_cells, listed_weights)
        self.add_listed(lists, starts + counts, total, sums)
        return sums

    def add_listed(
        self, lists: tuple[Any, Any, Any], ends: Any, count: Any, sums: Any, shares: int = 1
    ) -> None:
        """Add listed rows, bin by bin, each from an aligned start to its end."""
        tile = min(ADD_COLUMNS, power_of_two(self.n_columns))
        kernels.add_rows[(ADD_PROGRAMS, -(-self.n_columns // tile))](
            self.X, *lists, self.squared_norms, sums, ends, count, self.n_columns,
            shares, ADD_ROWS, tile, num_warps=ADD_WARPS,
        )  # fmt: skip

    def partition(self, unmixing: Unmixing, alpha: float) -> TorchPartition:
        """Return a cut of the rows, for rows predicted with a margin of at least `alpha`."""
        return TorchPartition(self, unmixing, alpha)

    def likelihood(
        self, weights: FloatArray, mixing: FloatArray, code_weights: FloatArray
    ) -> LikelihoodPass:
        """Measure weights against the labels."""
        if can_measure(self, len(weights)):
            return measure_fused(self, weights, mixing, code_weights)
        return super().likelihood(weights, mixing, code_weights)
