"""One pass of the likelihood over a torch tensor in single precision on a CUDA device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._typing import FloatArray
from unconfused.engines import _triton_likelihood as kernels
from unconfused.engines.base import LikelihoodPass

if TYPE_CHECKING:
    from unconfused.engines.torch_cuda import TorchEngine

FEW_CLASSES, FEW_CODES, FEW_COLUMNS = 32, 64, 512
"""Up to so many, a program holds the whole gradient."""

FEW_ROWS, FEW_GROUPS, FEW_WARPS = 64, 64, 8
PULL_ROWS, PULL_GROUPS = 16, 16
CHUNK = 4096
"""Rows whose part of the gradient is summed in single precision."""

MOST_SCORES = 4 * 2**30
"""Scores held at once; beyond, the pass goes block by block (`measure`)."""


def power_of_two(n: int, least: int = 1) -> int:
    """Return the smallest power of 2 that is at least n."""
    return max(least, 1 << max(0, n - 1).bit_length())


def can_measure(engine: TorchEngine, n_classes: int) -> bool:
    """Whether the kernels are for such rows."""
    single = engine.X.dtype == engine.space.xp.float32
    return bool(single and engine.n_rows * n_classes <= MOST_SCORES)


def measure_fused(
    engine: TorchEngine, weights: FloatArray, mixing: FloatArray, code_weights: FloatArray
) -> LikelihoodPass:
    """Make one pass over the rows; see `Engine.likelihood`."""
    few = (
        len(weights) <= FEW_CLASSES
        and len(mixing) <= FEW_CODES
        and engine.n_columns <= FEW_COLUMNS
    )
    columns = engine.n_columns
    offsets = weights[:, columns] if engine.intercept else np.zeros(len(weights))
    numbers = [weights[:, :columns].T, offsets, mixing, code_weights]
    loss, slope, table = (_few if few else _many)(engine, *(_single(engine, n) for n in numbers))
    parts = [loss.reshape(1), slope.reshape(-1), table.reshape(-1)]
    flat = engine.host(engine.space.xp.concat(parts))
    gradient = flat[1 : 1 + slope.numel()].reshape(tuple(slope.shape))
    posterior = flat[1 + slope.numel() :].reshape(mixing.shape)
    return LikelihoodPass(float(flat[0]), gradient[:, : engine.n_features].copy(), posterior)


def _single(engine: TorchEngine, array: FloatArray) -> Any:
    return engine.space.xp.astype(engine.space.put(array), engine.space.xp.float32)


def _few(engine: TorchEngine, by_feature: Any, offsets: Any, chances: Any, counted: Any) -> Any:
    """Read every row once."""
    space, (n_codes, n_classes) = engine.space, chances.shape
    programs = -(-engine.n_rows // (FEW_ROWS * FEW_GROUPS))
    losses, table = space.zeros(programs), space.zeros(n_codes, n_classes)
    slope = space.zeros(n_classes, engine.n_columns + 1)
    kernels.few_classes[(programs,)](
        engine.X, by_feature, offsets, chances, counted, engine.row_codes, engine.row_weights,
        losses, slope, table, engine.n_rows, engine.n_columns, n_classes, n_codes,
        FEW_GROUPS, FEW_ROWS, power_of_two(engine.n_columns, 16), power_of_two(n_classes, 16),
        power_of_two(n_codes, 16), num_warps=FEW_WARPS,
    )  # fmt: skip
    return losses.sum(), slope, table


def _many(engine: TorchEngine, by_feature: Any, offsets: Any, chances: Any, counted: Any) -> Any:
    """Multiply matrices, with one kernel in between."""
    space, (n_codes, n_classes) = engine.space, chances.shape
    pulls = engine.X @ by_feature
    pulls += offsets
    programs = -(-engine.n_rows // (PULL_ROWS * PULL_GROUPS))
    losses, table = space.zeros(programs), space.zeros(n_codes, n_classes)
    offset_slope = space.zeros(n_classes)
    codes, order = engine.rows_by_code
    kernels.scores_to_pulls[(programs,)](
        pulls, order, codes, engine.row_weights, chances, counted, losses, offset_slope, table,
        engine.n_rows, n_classes, PULL_GROUPS, PULL_ROWS, power_of_two(n_classes, 16),
    )  # fmt: skip
    whole = engine.n_rows // CHUNK * CHUNK
    slope = (pulls[whole:].T @ engine.X[whole:]).double()
    if whole:
        shape = (whole // CHUNK, CHUNK, -1)
        chunks = pulls[:whole].reshape(shape).transpose(1, 2) @ engine.X[:whole].reshape(shape)
        slope += chunks.sum(dim=0, dtype=slope.dtype)
    return losses.sum(), space.xp.concat([slope, offset_slope[:, None]], axis=1), table
