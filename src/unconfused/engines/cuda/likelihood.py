"""Likelihood pass over float32 rows on a CUDA device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from unconfused._typing import FloatArray
from unconfused.engines.array_api.likelihood import logarithms
from unconfused.engines.base import LikelihoodPass
from unconfused.engines.cuda import triton_likelihood as kernels
from unconfused.engines.cuda.triton_kernels import power_of_two

if TYPE_CHECKING:
    from unconfused.engines.cuda.engine import TorchEngine

TILE = 128
"""Rows per tile, all of one label code."""

MOST_IN_TILES = 128
"""Classes up to which the scores of a tile fit into the registers of a multiprocessor."""

MOST_SCORES = 4 * 2**30
"""Largest number of scores held at once; beyond, `array_api.likelihood` works by blocks."""

CHUNK = 4096
"""Rows over which the gradient is accumulated in single precision."""

SLOTS = 256
"""Accumulators of the loss: fewer atomic additions to each."""

RESIDUAL_ROWS, RESIDUAL_WARPS = 2, 1
SLOPE_ROWS, SLOPE_COLUMNS, SLOPE_CLASSES, SLOPE_STAGES, SLOPE_WARPS = 32, 128, 32, 3, 4


def can_measure(engine: TorchEngine, n_classes: int) -> bool:
    """Return whether the kernels support these rows."""
    single = engine.X.dtype == engine.space.xp.float32
    return bool(single and engine.n_rows * n_classes <= MOST_SCORES)


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
    if n_classes <= MOST_IN_TILES:
        _add_slopes(engine, _residuals_by_tile(engine, sent, sums), slope, n_classes)
    else:
        residuals = _residuals_of_many(engine, sent, sums)
        slope += _outer_sum(residuals, engine.X)[:n_classes].reshape(-1)
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


def _padded(n_classes: int) -> int:
    """Return the padded width of a row of scores: matrix products of odd widths are slow."""
    return -(-n_classes // 16) * 16


def _residuals_by_tile(engine: TorchEngine, sent: list[Any], sums: list[Any]) -> Any:
    """Return the residuals, (n, padded classes); accumulate losses and tables in `sums`."""
    by_class, offsets, logs, counted = sent
    n_classes, width = len(by_class), _padded(len(by_class))
    residuals = engine.X.new_empty((engine.n_rows, width))
    order, tile_codes = engine.tiles_by_code
    # Rows and columns per product, pipeline stages and warps: the fastest measured.
    rows, step, stages, warps = (128, 32, 3, 8) if n_classes > 64 else (64, 32, 4, 4)
    kernels.residuals_by_tile[(len(order) // rows,)](
        engine.X, by_class, offsets, order, tile_codes, engine.row_weights, logs, counted,
        residuals, *sums, engine.n_columns, n_classes, width,
        SLOTS, TILE, rows, step, power_of_two(width), stages, num_warps=warps,
    )  # fmt: skip
    return residuals


def _add_slopes(engine: TorchEngine, residuals: Any, slope: Any, n_classes: int) -> None:
    """Add ``residuals.T @ X``, the gradient, to `slope`."""
    (n_rows, width), columns = residuals.shape, engine.n_columns
    tile, block = min(SLOPE_COLUMNS, power_of_two(columns, 16)), min(SLOPE_CLASSES, width)
    grid = -(-columns // tile) * -(-width // block), -(-n_rows // CHUNK)
    kernels.add_slopes[grid](
        engine.X, residuals, slope, n_rows, columns, n_classes, width,
        CHUNK, SLOPE_ROWS, tile, block, SLOPE_STAGES, num_warps=SLOPE_WARPS,
    )  # fmt: skip


def _residuals_of_many(engine: TorchEngine, sent: list[Any], sums: list[Any]) -> Any:
    """Return the residuals from whole matrix products, for classes that do not fit a tile."""
    by_class, offsets, logs, counted = sent
    n_classes, width = len(by_class), _padded(len(by_class))
    by_feature = by_class.new_zeros((engine.n_columns, width))
    by_feature[:, :n_classes] = by_class.T
    residuals = engine.X @ by_feature
    order, tile_codes = engine.tiles_by_code
    kernels.scores_to_residuals[(len(tile_codes),)](
        residuals, offsets, order, tile_codes, engine.row_weights, logs, counted,
        *sums, n_classes, width, SLOTS, TILE, RESIDUAL_ROWS, power_of_two(width),
        num_warps=RESIDUAL_WARPS,
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
