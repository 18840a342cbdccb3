"""One pass of the likelihood over a torch tensor in single precision on a CUDA device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._typing import FloatArray
from unconfused.engines import _triton_likelihood as kernels
from unconfused.engines.base import LikelihoodPass

if TYPE_CHECKING:
    from unconfused.engines.torch_cuda import TorchEngine

PULL_ROWS, PULL_GROUPS, PULL_WARPS = 4, 32, 1
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
    space, columns, (n_codes, n_classes) = engine.space, engine.n_columns, mixing.shape
    offsets = weights[:, columns] if engine.intercept else np.zeros(n_classes)
    by_feature = np.zeros((columns, padded(n_classes)))
    by_feature[:, :n_classes] = weights[:, :columns].T
    pulls = engine.X @ _single(engine, by_feature)
    programs = -(-engine.n_rows // (PULL_ROWS * PULL_GROUPS))
    losses, table, offset_slope = (
        space.zeros(programs), space.zeros(n_codes, n_classes), space.zeros(n_classes),
    )  # fmt: skip
    codes, order = engine.rows_by_code
    kernels.scores_to_pulls[(programs,)](
        pulls, _single(engine, offsets), order, codes, engine.row_weights,
        _single(engine, mixing), _single(engine, code_weights), losses, offset_slope, table,
        engine.n_rows, n_classes, pulls.shape[1], PULL_GROUPS, PULL_ROWS,
        power_of_two(pulls.shape[1]), num_warps=PULL_WARPS,
    )  # fmt: skip
    slope = engine.host(_outer_sum(pulls, engine.X))[:n_classes]
    flat = engine.host(
        space.xp.concat([losses.sum().reshape(1), offset_slope, table.reshape(-1)])
    )
    if engine.intercept:
        slope = np.column_stack([slope, flat[1 : 1 + n_classes]])
    return LikelihoodPass(float(flat[0]), slope, flat[1 + n_classes :].reshape(mixing.shape))


def padded(n_classes: int) -> int:
    """Return how wide a row of scores is made: products of odd widths are much slower."""
    step = 128 if n_classes > 64 else 16
    return -(-n_classes // step) * step


def _single(engine: TorchEngine, array: FloatArray) -> Any:
    return engine.space.xp.astype(engine.space.put(array), engine.space.xp.float32)


def _outer_sum(pulls: Any, X: Any) -> Any:
    """Return the sum over rows of pull times row: in single precision over `CHUNK` rows only."""
    whole = len(X) // CHUNK * CHUNK
    total = (pulls[whole:].T @ X[whole:]).double()
    if whole:
        shape = (whole // CHUNK, CHUNK, -1)
        chunks = pulls[:whole].reshape(shape).transpose(1, 2) @ X[:whole].reshape(shape)
        total += chunks.sum(dim=0, dtype=total.dtype)
    return total
