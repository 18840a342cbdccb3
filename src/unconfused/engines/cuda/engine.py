"""Engine for torch tensors on a CUDA device, with fused Triton kernels that read rows once.

Of a partition only the rows whose class may have changed are reassigned. The likelihood of float32
rows is measured by kernels, too.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from unconfused._typing import FloatArray
from unconfused.engines.array_api.cells import ArrayPartition
from unconfused.engines.array_api.engine import ArrayEngine
from unconfused.engines.base import TIE, LikelihoodPass, logarithms
from unconfused.engines.cuda import triton_kernels as kernels

if TYPE_CHECKING:
    from unconfused._matrix import Unmixing

MOVE_ROWS, MOVE_WARPS = 128, 4

ASSIGN_PROGRAMS = 132 * 16
"""Programs that share the list of unsure rows, whose length only the device knows; half of the
capacity of an H200."""

FEW_CLASSES = 32
ASSIGN_SCORES = 64, 512
"""Scores that a warp handles at a time, with few classes and with many; at least one row."""

PROJECT_ROWS, PROJECT_COLUMNS, PROJECT_WARPS = 16, 128, 2
ADD_PROGRAMS, ADD_GROUP, ADD_COLUMNS, ADD_WARPS = 132 * 16, 16, 256, 2

TILE = 128
"""Rows per tile, all of one label code."""

MOST_SCORES = 4 * 2**30
"""Largest number of scores held at once; beyond, `array_api` works by blocks."""

CHUNK = 4096
"""Rows over which the gradient is accumulated in single precision."""

SLOTS = 256
"""Accumulators of the loss: fewer atomic additions to each."""

RESIDUAL_SCORES = 512
"""Scores that a warp handles at a time, at least two rows."""


class TorchEngine(ArrayEngine):
    """Rows in a torch tensor on a CUDA device."""

    def __init__(self, X: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(X.contiguous(), *args, **kwargs)

    @cached_property
    def tiles_by_code(self) -> tuple[Any, Any]:
        """Rows grouped into tiles of one label code each, and the codes of the tiles."""
        return _tiles(self.row_codes, self.n_codes)

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
        fits = self.n_rows * len(weights) <= MOST_SCORES
        if fits and self.X.dtype == self.space.xp.float32:
            return _measure(self, weights, mixing, code_weights)
        return super().likelihood(weights, mixing, code_weights)


class TorchPartition(ArrayPartition):
    """Partition that compares all classes of a row only where its class may have changed."""

    _engine: TorchEngine

    def __init__(self, engine: TorchEngine, unmixing: Unmixing, alpha: float) -> None:
        n_rows, zeros = engine.n_rows, engine.space.zeros
        # Score of a row's class, and an upper bound on those of all others.
        self._top, self._bound, self._projection = zeros(n_rows), zeros(n_rows), zeros(n_rows)
        self._region, self._unsure = zeros(n_rows).int(), zeros(n_rows).int()
        self._longest_row = float(engine.row_norms.max()) if n_rows else 0.0
        super().__init__(engine, unmixing, alpha)

    def restart(self, weights: FloatArray) -> None:
        self._at_zero = not weights.any()
        self._largest_norm = float(np.sqrt(np.einsum("rj,rj->r", weights, weights).max()))
        self._bound.fill_(float("inf"))  # no row is sure: all are compared next time
        if self._at_zero:
            self._scores.zero_()
            self._region.zero_()
        else:
            self._score(self._space.put(weights.T))
            self._region.fill_(-1)
            self._projection.zero_()
            self._rescore(np.zeros(self._n_classes))
        self._outdated = True

    def _advance(self, steps: FloatArray, direction: FloatArray) -> tuple[Any, Any]:
        """Update scores and regions; return the rows that moved and their previous regions."""
        self._engine.project(direction, self._projection)
        previous = self._region.clone()
        self._rescore(steps)
        moved = (self._region != previous).nonzero()[:, 0]
        return moved, previous[moved]

    def _rescore(self, steps: FloatArray) -> None:
        """Add steps times the projection to the scores, and reassign the rows."""
        n_rows, n_classes, changed = self._engine.n_rows, self._n_classes, np.flatnonzero(steps)
        head = [TIE * self._largest_norm, self._alpha, len(changed), self._longest_row]
        settings = self._space.put(np.concatenate([head, steps, changed]))
        n_unsure = self._region.new_zeros(1)
        kept = (settings, self._region, self._top, self._bound, self._unsure, n_unsure)
        kernels.move_scores[(-(-n_rows // MOVE_ROWS),)](
            self._scores, self._projection, *kept, n_rows, n_classes, MOVE_ROWS,
            num_warps=MOVE_WARPS,
        )  # fmt: skip
        classes = kernels.power_of_two(n_classes)
        together = ASSIGN_SCORES[classes > FEW_CLASSES]
        kernels.assign_exactly[(ASSIGN_PROGRAMS,)](
            self._scores, self._engine.row_norms, *kept, n_rows, n_classes,
            max(1, together // classes), classes, num_warps=min(8, max(1, classes // together)),
        )  # fmt: skip

    def _rebuild(self) -> None:
        """Recompute all cell sums, by moving every row in from no region."""
        engine, nowhere = self._engine, torch.full_like(self._region, -1)
        self._moved_since_rebuilt = 0
        self._sums = self._space.zeros(self._n_classes * self._n_codes, engine.n_columns + 2)
        engine.shift(self._space.indices(engine.n_rows), nowhere, self._region, self._sums)
        self._collected = False

    def _shift(self, moved: Any, left: Any) -> None:
        """Move rows from their previous cells to their current ones."""
        self._engine.shift(moved, left, self._region[moved], self._sums)
        self._collected = False


def _tiles(codes: Any, n_codes: int) -> tuple[Any, Any]:
    """Return the rows sorted by label code in tiles padded with -1, and the tiles' codes."""
    in_order, rows = codes.sort()
    counts = in_order.bincount(minlength=n_codes)
    tiles = (counts + (TILE - 1)) // TILE
    starts = (tiles.cumsum(0) - tiles) * TILE - (counts.cumsum(0) - counts)
    places = torch.arange(len(rows), device=codes.device) + starts[in_order]
    listed = rows.new_full((int(tiles.sum()) * TILE,), -1)
    listed[places] = rows
    return listed, torch.repeat_interleave(tiles)


def _measure(
    engine: TorchEngine, weights: FloatArray, mixing: FloatArray, code_weights: FloatArray
) -> LikelihoodPass:
    """Make one pass over the rows; see `Engine.likelihood`."""
    columns, (n_codes, n_classes) = engine.n_columns, mixing.shape
    offsets = weights[:, columns] if engine.intercept else np.zeros(n_classes)
    sent = _send(engine, weights[:, :columns], offsets, logarithms(mixing), code_weights)
    sizes = [n_classes * columns, SLOTS, n_classes, n_codes * n_classes]
    found = engine.space.zeros(sum(sizes))
    slope, *sums = found.split(sizes)
    slope += _outer_sum(_residuals(engine, sent, sums), engine.X)[:n_classes].reshape(-1)
    slope, losses, offset_slope, table = np.split(engine.host(found), np.cumsum(sizes[:-1]))
    gradient = slope.reshape(n_classes, columns)
    if engine.intercept:
        gradient = np.column_stack([gradient, offset_slope])
    return LikelihoodPass(float(losses.sum()), gradient, table.reshape(mixing.shape))


def _send(engine: TorchEngine, *arrays: FloatArray) -> list[Any]:
    """Copy arrays to the device in single precision, in one transfer."""
    flat = np.concatenate([array.ravel() for array in arrays]).astype(np.float32)
    there = engine.space.xp.asarray(flat, device=engine.space.device)
    pieces = there.split([array.size for array in arrays])
    return [piece.reshape(array.shape) for piece, array in zip(pieces, arrays, strict=True)]


def _residuals(engine: TorchEngine, sent: list[Any], sums: list[Any]) -> Any:
    """Return the residuals, (n, padded classes); accumulate losses and tables in `sums`."""
    by_class, offsets, logs, counted = sent
    n_classes, width = len(by_class), -(-len(by_class) // 16) * 16  # odd widths are slow
    by_feature = by_class.new_zeros((engine.n_columns, width))
    by_feature[:, :n_classes] = by_class.T
    residuals = engine.X @ by_feature
    order, tile_codes = engine.tiles_by_code
    classes = kernels.power_of_two(width)
    rows = min(TILE, max(2, RESIDUAL_SCORES // classes))
    kernels.scores_to_residuals[(len(tile_codes),)](
        residuals, offsets, order, tile_codes, engine.row_weights, logs, counted,
        *sums, n_classes, width, SLOTS, TILE, rows, classes, num_warps=1,
    )  # fmt: skip
    return residuals


def _outer_sum(residuals: Any, X: Any) -> Any:
    """Return ``residuals.T @ X``, in single precision within `CHUNK` rows only."""
    whole = len(X) // CHUNK * CHUNK
    total = (residuals[whole:].T @ X[whole:]).double()
    if whole:
        shape = (whole // CHUNK, CHUNK, -1)
        chunks = residuals[:whole].reshape(shape).transpose(1, 2) @ X[:whole].reshape(shape)
        total += chunks.sum(dim=0, dtype=total.dtype)
    return total
