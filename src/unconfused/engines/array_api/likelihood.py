"""Likelihood pass over rows in an array of any array API library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._typing import FloatArray
from unconfused.engines.array_api.namespace import blocks
from unconfused.engines.base import LikelihoodPass

if TYPE_CHECKING:
    from unconfused.engines.array_api.engine import ArrayEngine


def measure(
    engine: ArrayEngine, weights: FloatArray, mixing: FloatArray, code_weights: FloatArray
) -> LikelihoodPass:
    """Make one pass over the rows; see `Engine.likelihood`."""
    space, columns = engine.space, engine.n_columns
    xp, dtype = space.xp, engine.X.dtype
    # Products in the precision of the rows: mixed precision would copy them.
    by_feature = xp.astype(space.put(weights[:, :columns].T), dtype)
    offsets = space.put(weights[:, columns] if engine.intercept else np.zeros(len(weights)))
    log_chances, counted = space.put(logarithms(mixing)), space.put(code_weights)
    loss, table = space.zeros(1), space.zeros(*mixing.shape)
    slope, offset_slope = space.zeros(columns, len(weights)), space.zeros(len(weights))
    for start, stop in blocks(engine.n_rows, max(columns, 4 * len(weights))):
        rows, codes = engine.X[start:stop, :], engine.row_codes[start:stop]
        own = engine.row_weights[start:stop] * xp.take(counted, codes, axis=0)
        scores = space.exact(rows @ by_feature) + offsets
        losses, shares, given = posterior(xp, scores, xp.take(log_chances, codes, axis=0))
        loss = loss + xp.sum(own * losses)
        table = table + space.sum_by_cell(own[:, None] * given, codes, mixing.shape[0])
        residual = own[:, None] * (shares - given)
        slope = slope + space.exact(rows.T @ xp.astype(residual, dtype))
        offset_slope = offset_slope + xp.sum(residual, axis=0)
    gradient = engine.host(slope).T
    if engine.intercept:
        gradient = np.column_stack([gradient, engine.host(offset_slope)])
    return LikelihoodPass(float(engine.host(loss)[0]), gradient, engine.host(table))


def posterior(xp: Any, scores: Any, log_chances: Any) -> tuple[Any, Any, Any]:
    """Return -log P(label), P(class) and P(class | label) of every row, by log-sum-exp.

    `log_chances` are log P(label | class), -inf for 0; at least one per row must be finite.
    """
    scores = scores - xp.max(scores, axis=1, keepdims=True)  # less cancellation in the loss
    log_total, shares = softmax(xp, scores)
    log_seen, responsible = softmax(xp, scores + log_chances)
    return log_total - log_seen, shares, responsible


def softmax(xp: Any, levels: Any) -> tuple[Any, Any]:
    """Return the log-sum-exp and the softmax of every row."""
    highest = xp.max(levels, axis=1, keepdims=True)
    shares = xp.exp(levels - highest)
    total = xp.sum(shares, axis=1, keepdims=True)
    return (highest + xp.log(total))[:, 0], shares / total


def logarithms(chances: FloatArray) -> FloatArray:
    """Return logarithms, with log 0 = -inf."""
    with np.errstate(divide="ignore"):
        return np.log(chances)
