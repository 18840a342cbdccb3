"""Engine for torch tensors on a CUDA device, with fused Triton kernels that read rows once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._typing import FloatArray
from unconfused.engines.array_api.engine import ArrayEngine
from unconfused.engines.base import LikelihoodPass
from unconfused.engines.cuda import likelihood
from unconfused.engines.cuda import triton_kernels as kernels
from unconfused.engines.cuda.cells import TorchPartition

if TYPE_CHECKING:
    from unconfused._matrix import Unmixing

PROJECT_ROWS, PROJECT_COLUMNS, PROJECT_WARPS = 16, 128, 2
ADD_PROGRAMS, ADD_GROUP, ADD_COLUMNS, ADD_WARPS = 132 * 16, 16, 256, 2


class TorchEngine(ArrayEngine):
    """Rows in a torch tensor on a CUDA device."""

    def __init__(self, X: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(X.contiguous(), *args, **kwargs)

    @cached_property
    def tiles_by_code(self) -> tuple[Any, Any]:
        """Rows grouped into tiles of one label code each, and the codes of the tiles."""
        return likelihood.tiles_by_code(self.row_codes, self.n_codes)

    def project(self, direction: FloatArray, out: Any) -> None:
        """Write X times a vector, (features,), to out."""
        # The kernel expects an intercept, even if it is 0.
        vector = self.space.put(np.append(direction, [] if self.intercept else 0.0))
        tile = min(PROJECT_COLUMNS, kernels.power_of_two(self.n_columns))
        kernels.project[(-(-self.n_rows // PROJECT_ROWS),)](
            self.X, vector, out, self.n_rows, self.n_columns, PROJECT_ROWS, tile,
            num_warps=PROJECT_WARPS,
        )  # fmt: skip

    @cached_property
    def _code_sums(self) -> FloatArray:
        sums, region = self.space.zeros(self.n_codes, self.n_columns + 2), 0 * self.row_codes
        self.shift(self.space.indices(self.n_rows), region - 1, region, sums)
        return self.host(sums[:, : self.n_features])

    def shift(self, rows: Any, left: Any, entered: Any, sums: Any) -> None:
        """Move rows from the sums of the regions they left to those they entered; -1 is none.

        The columns of a sum are those of X, then the weight, then the squared norm.
        """
        if not len(rows):
            return
        n_regions, columns = len(sums) // self.n_codes, self.n_columns
        regions = (left.long() + 1) * (n_regions + 1) + entered.long() + 1
        kinds, order = (regions * self.n_codes + self.row_codes[rows]).sort()
        tile = min(ADD_COLUMNS, kernels.power_of_two(columns))
        n_tiles = -(-columns // tile)
        programs = max(1, min(ADD_PROGRAMS, -(-len(rows) // ADD_GROUP)) // n_tiles)
        kernels.add_moves[(programs, n_tiles)](
            self.X, rows[order], kinds, self.row_weights, self.squared_norms, sums,
            len(rows), columns, n_regions, self.n_codes, ADD_GROUP, tile, num_warps=ADD_WARPS,
        )  # fmt: skip

    def partition(self, unmixing: Unmixing, alpha: float) -> TorchPartition:
        return TorchPartition(self, unmixing, alpha)

    def likelihood(
        self, weights: FloatArray, mixing: FloatArray, code_weights: FloatArray
    ) -> LikelihoodPass:
        fits = self.n_rows * len(weights) <= likelihood.MOST_SCORES
        if fits and self.X.dtype == self.space.xp.float32:
            return likelihood.measure(self, weights, mixing, code_weights)
        return super().likelihood(weights, mixing, code_weights)
