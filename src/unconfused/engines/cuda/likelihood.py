"""Likelihood pass over float32 rows on a CUDA device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from unconfused._typing import FloatArray
from unconfused.engines.base import LikelihoodPass, logarithms
from unconfused.engines.cuda import triton_kernels as kernels

if TYPE_CHECKING:
    from unconfused.engines.cuda.engine import TorchEngine

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


def tiles_by_code(codes: Any, n_codes: int) -> tuple[Any, Any]:
    """Return the rows sorted by label code in tiles padded with -1, and the tiles' codes."""
    in_order, rows = codes.sort()
    counts = in_order.bincount(minlength=n_codes)
    tiles = (counts + (TILE - 1)) // TILE
    starts = (tiles.cumsum(0) - tiles) * TILE - (counts.cumsum(0) - counts)
    places = torch.arange(len(rows), device=codes.device) + starts[in_order]
    listed = rows.new_full((int(tiles.sum()) * TILE,), -1)
    listed[places] = rows
    return listed, torch.repeat_interleave(tiles)


def measure(
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
