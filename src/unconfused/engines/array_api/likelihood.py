"""The likelihood of labels, over rows in an array of any library that follows the standard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._typing import FloatArray
from unconfused.engines.array_api.namespace import ArraySpace, blocks
from unconfused.engines.base import LikelihoodPass

if TYPE_CHECKING:
    from unconfused.engines.array_api.engine import ArrayEngine

ALL_BUT_IMPOSSIBLE = 1e-280
"""Below this chance of its label, only the likeliest class that allows the label counts."""


def measure(
    engine: ArrayEngine, weights: FloatArray, mixing: FloatArray, code_weights: FloatArray
) -> LikelihoodPass:
    """Make one pass over the rows; see `Engine.likelihood`."""
    space, columns = engine.space, engine.n_columns
    xp, dtype = space.xp, engine.X.dtype
    # Products in the rows' own precision: another one would copy the rows.
    by_feature = xp.astype(space.put(weights[:, :columns].T), dtype)
    offsets = space.put(weights[:, columns] if engine.intercept else np.zeros(len(weights)))
    chances, counted = space.put(mixing), space.put(code_weights)
    loss, table = space.zeros(1), space.zeros(*mixing.shape)
    slope, offset_slope = space.zeros(columns, len(weights)), space.zeros(len(weights))
    for start, stop in blocks(engine.n_rows, max(columns, 4 * len(weights))):
        rows, codes = engine.X[start:stop, :], engine.row_codes[start:stop]
        own = engine.row_weights[start:stop] * xp.take(counted, codes, axis=0)
        scores = space.exact(rows @ by_feature) + offsets
        losses, shares, posterior = _posterior(space, scores, xp.take(chances, codes, axis=0))
        loss = loss + xp.sum(own * losses)
        table = table + space.sum_by_cell(own[:, None] * posterior, codes, mixing.shape[0])
        pull = own[:, None] * (shares - posterior)
        slope = slope + space.exact(rows.T @ xp.astype(pull, dtype))
        offset_slope = offset_slope + xp.sum(pull, axis=0)
    gradient = engine.host(slope).T
    if engine.intercept:
        gradient = np.column_stack([gradient, engine.host(offset_slope)])
    return LikelihoodPass(float(engine.host(loss)[0]), gradient, engine.host(table))


def _posterior(space: ArraySpace, scores: Any, chances: Any) -> tuple[Any, Any, Any]:
    """Return -log P(label), P(class) and P(class | label) of every row."""
    xp = space.xp
    scores = scores - xp.max(scores, axis=1, keepdims=True)
    shares = xp.exp(scores)
    total = xp.sum(shares, axis=1)
    joint = chances * shares
    seen = xp.sum(joint, axis=1)
    likely = seen > ALL_BUT_IMPOSSIBLE
    divisor = xp.where(likely, seen, 1.0)
    possible = chances > 0
    levels = xp.where(possible, scores + xp.log(xp.where(possible, chances, 1.0)), -xp.inf)
    best = xp.argmax(levels, axis=1)
    classes = xp.arange(scores.shape[1], dtype=best.dtype, device=space.device)
    alone = space.exact(classes[None, :] == best[:, None])
    posterior = xp.where(likely[:, None], joint / divisor[:, None], alone)
    level = xp.where(likely, xp.log(divisor), xp.max(levels, axis=1))
    return xp.log(total) - level, shares / total[:, None], posterior
