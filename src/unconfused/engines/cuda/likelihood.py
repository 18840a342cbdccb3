"""One pass of the likelihood over a torch tensor in single precision on a CUDA device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._typing import FloatArray
from unconfused.engines.base import LikelihoodPass
from unconfused.engines.cuda import triton_likelihood as kernels
from unconfused.engines.cuda.moves import power_of_two

if TYPE_CHECKING:
    from unconfused.engines.cuda.engine import TorchEngine

PULL_ROWS, PULL_GROUPS, PULL_WARPS = 2, 64, 1
CHUNK = 4096
"""Rows whose part of the gradient is summed in single precision."""

MOST_SCORES = 4 * 2**30
"""Scores held at once; beyond, the pass goes block by block (`measure`)."""


def can_measure(engine: TorchEngine, n_classes: int) -> bool:
    """Whether the kernels are for such rows."""
    single = engine.X.dtype == engine.space.xp.float32
    return bool(single and engine.n_rows * n_classes <= MOST_SCORES)


def measure_fused(
    engine: TorchEngine, weights: FloatArray, mixing: FloatArray, code_weights: FloatArray
) -> LikelihoodPass:
    """Make one pass over the rows; see `Engine.likelihood`."""
    space, columns, (n_codes, n_classes) = engine.space, engine.n_columns, mixing.shape
    width = padded(n_classes)
    by_feature = np.zeros((columns, width))
    by_feature[:, :n_classes] = weights[:, :columns].T
    offsets = weights[:, columns] if engine.intercept else np.zeros(n_classes)
    by_feature, offsets, chances, counted = send(engine, by_feature, offsets, mixing, code_weights)
    pulls = engine.X @ by_feature
    programs = -(-engine.n_rows // (PULL_ROWS * PULL_GROUPS))
    losses, found = space.zeros(programs), space.zeros(n_classes * (1 + n_codes))
    codes, order = engine.rows_by_code
    kernels.scores_to_pulls[(programs,)](
        pulls, offsets, order, codes, engine.row_weights, chances, counted,
        losses, found, found[n_classes:], engine.n_rows, n_classes, width,
        PULL_GROUPS, PULL_ROWS, power_of_two(width), num_warps=PULL_WARPS,
    )  # fmt: skip
    slope = _outer_sum(pulls, engine.X)[:n_classes]
    parts = [losses.sum().reshape(1), slope.reshape(-1), found]
    answer = engine.host(space.xp.concat(parts))
    loss, slope, offset_slope, table = np.split(answer, np.cumsum([1, slope.numel(), n_classes]))
    gradient = slope.reshape(n_classes, columns)
    if engine.intercept:
        gradient = np.column_stack([gradient, offset_slope])
    return LikelihoodPass(float(loss[0]), gradient, table.reshape(mixing.shape))


def padded(n_classes: int) -> int:
    """Return how wide a row of scores is made: products of odd widths are much slower."""
    return -(-n_classes // 16) * 16


def send(engine: TorchEngine, *arrays: FloatArray) -> list[Any]:
    """Bring arrays to the device in single precision, in one transfer."""
    flat = np.concatenate([array.ravel() for array in arrays]).astype(np.float32)
    there = engine.space.xp.asarray(flat, device=engine.space.device)
    pieces = there.split([array.size for array in arrays])
    return [piece.reshape(array.shape) for piece, array in zip(pieces, arrays, strict=True)]


def _outer_sum(pulls: Any, X: Any) -> Any:
    """Return the sum over rows of pull times row: in single precision over `CHUNK` rows only."""
    whole = len(X) // CHUNK * CHUNK
    total = (pulls[whole:].T @ X[whole:]).double()
    if whole:
        shape = (whole // CHUNK, CHUNK, -1)
        chunks = pulls[:whole].reshape(shape).transpose(1, 2) @ X[:whole].reshape(shape)
        total += chunks.sum(dim=0, dtype=total.dtype)
    return total
