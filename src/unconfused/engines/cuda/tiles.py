"""One pass of the likelihood over float32 rows on a CUDA device, for few classes, in tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from unconfused._typing import FloatArray
from unconfused.engines.base import LikelihoodPass
from unconfused.engines.cuda import triton_tiles as kernels
from unconfused.engines.cuda.likelihood import padded, send
from unconfused.engines.cuda.moves import power_of_two

if TYPE_CHECKING:
    from unconfused.engines.cuda.engine import TorchEngine

TILE = 128
"""Rows of a tile, all of one label code."""

MOST_CLASSES = 128
"""With more, the scores of a tile do not fit into a multiprocessor's registers."""

CHUNK = 4096
"""Rows whose part of the gradient is summed in single precision."""

SLOTS = 256
"""Numbers that the loss is summed in."""

SLOPE_ROWS, SLOPE_COLUMNS, SLOPE_CLASSES, SLOPE_STAGES, SLOPE_WARPS = 32, 128, 32, 3, 4


def pull_shape(n_classes: int) -> tuple[int, int, int, int]:
    """Return rows and columns of a product, its stages and its warps: what measured best."""
    return (128, 32, 3, 8) if n_classes > 64 else (64, 32, 4, 4)


def tiles_by_code(codes: Any, n_codes: int) -> tuple[Any, Any]:
    """List the rows by label code, in tiles filled up with -1; return also the tiles' codes."""
    in_order, rows = codes.sort()
    counts = in_order.bincount(minlength=n_codes)
    tiles = (counts + (TILE - 1)) // TILE
    starts = (tiles.cumsum(0) - tiles) * TILE - (counts.cumsum(0) - counts)
    places = torch.arange(len(rows), device=codes.device) + starts[in_order]
    listed = rows.new_full((int(tiles.sum()) * TILE,), -1)
    listed[places] = rows
    return listed, torch.repeat_interleave(tiles)


def measure_in_tiles(
    engine: TorchEngine, weights: FloatArray, mixing: FloatArray, code_weights: FloatArray
) -> LikelihoodPass:
    """Make one pass over the rows; see `Engine.likelihood`."""
    space, n_rows, columns = engine.space, engine.n_rows, engine.n_columns
    (n_codes, n_classes), width = mixing.shape, padded(mixing.shape[1])
    offsets = weights[:, columns] if engine.intercept else np.zeros(n_classes)
    by_class, offsets, chances, counted = send(
        engine, weights[:, :columns], offsets, mixing, code_weights
    )
    pulls = space.xp.empty((n_rows, width), dtype=engine.X.dtype, device=space.device)
    sizes = [SLOTS, n_classes, n_codes * n_classes, n_classes * columns]
    found = space.zeros(sum(sizes))
    losses, offset_slope, table, slope = found.split(sizes)
    order, tile_codes = engine.tiles_by_code
    rows, step, stages, warps = pull_shape(n_classes)
    kernels.pulls_by_tile[(len(order) // rows,)](
        engine.X, by_class, offsets, order, tile_codes, engine.row_weights, chances, counted,
        pulls, losses, offset_slope, table, columns, n_classes, width,
        SLOTS, TILE, rows, step, power_of_two(width), stages, num_warps=warps,
    )  # fmt: skip
    tile, block = min(SLOPE_COLUMNS, power_of_two(columns, 16)), min(SLOPE_CLASSES, width)
    grid = -(-columns // tile) * -(-width // block), -(-n_rows // CHUNK)
    kernels.add_slopes[grid](
        engine.X, pulls, slope, n_rows, columns, n_classes, width,
        CHUNK, SLOPE_ROWS, tile, block, SLOPE_STAGES, num_warps=SLOPE_WARPS,
    )  # fmt: skip
    losses, offset_slope, table, slope = np.split(engine.host(found), np.cumsum(sizes[:-1]))
    gradient = slope.reshape(n_classes, columns)
    if engine.intercept:
        gradient = np.column_stack([gradient, offset_slope])
    return LikelihoodPass(float(losses.sum()), gradient, table.reshape(mixing.shape))
