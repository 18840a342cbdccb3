"""Compiled sweeps of Algorithm 1 over the rows, for the built-in step rules.

The loops use transposed weights, (features, Q): memory access is contiguous for dense and sparse
rows, and classes with equal weights keep exactly equal scores. Rows are passed as a tuple, ``(X,)``
for an array and ``(data, indices, indptr)`` for CSR.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused import steps as _steps
from unconfused._compilation import compiled
from unconfused._typing import FloatArray

RULES = tuple(_steps.STEPS)
"""The loops identify a rule by its index here."""

PERCEPTRON, UNIFORM, PROPORTIONAL, MIRA, PASSIVE_AGGRESSIVE, COPA = range(len(RULES))

snap_ties = compiled(_steps.snap_ties)
perceptron_loop = compiled(_steps.perceptron_loop)
uniform_loop = compiled(_steps.uniform_loop)
proportional_loop = compiled(_steps.proportional_loop)
mira_loop = compiled(_steps.mira_loop)
passive_aggressive_loop = compiled(_steps.passive_aggressive_loop)
copa_loop = compiled(_steps.copa_loop)


@compiled
def take_steps(
    rule: int, scores: FloatArray, target: int, squared_norm: float, steps: FloatArray
) -> None:
    """Fill in the steps; the highest-scoring class other than the target counts as predicted."""
    others = scores.copy()
    others[target] = -np.inf
    rival = np.argmax(others)
    if rule == PERCEPTRON:
        perceptron_loop(scores, target, rival, squared_norm, steps)
    elif rule == UNIFORM:
        uniform_loop(scores, target, rival, squared_norm, steps)
    elif rule == PROPORTIONAL:
        proportional_loop(scores, target, rival, squared_norm, steps)
    elif rule == MIRA:
        mira_loop(scores, target, rival, squared_norm, steps)
    elif rule == PASSIVE_AGGRESSIVE:
        passive_aggressive_loop(scores, target, rival, squared_norm, steps)
    else:
        copa_loop(scores, target, rival, squared_norm, steps)


@compiled
def score_row(rows: Any, i: int, intercept: bool, weights: FloatArray, scores: FloatArray) -> float:
    """Write the scores of a row; return its squared norm."""
    for r in range(len(scores)):
        scores[r] = weights[len(weights) - 1, r] if intercept else 0.0
    squared_norm = 1.0 if intercept else 0.0
    if len(rows) == 1:
        for j in range(rows[0].shape[1]):
            value = np.float64(rows[0][i, j])
            squared_norm += value * value
            for r in range(len(scores)):
                scores[r] += value * weights[j, r]
    else:
        data, indices, indptr = rows
        for k in range(indptr[i], indptr[i + 1]):
            value, own = np.float64(data[k]), weights[indices[k]]
            squared_norm += value * value
            for r in range(len(scores)):
                scores[r] += value * own[r]
    return squared_norm


@compiled
def add_row(
    rows: Any, i: int, intercept: bool, steps: FloatArray, seen: float,
    weights: FloatArray, lag: FloatArray,
) -> None:  # fmt: skip
    """Add a row times the step of each class to the weights, and `seen` times that to the lag."""
    n_columns = len(weights) - intercept if len(rows) == 1 else rows[2][i + 1] - rows[2][i]
    for k in range(n_columns + intercept):
        inside = k < n_columns
        if len(rows) == 1:
            j, value = k, np.float64(rows[0][i, k]) if inside else 1.0
        else:
            at = rows[2][i] + k
            j = rows[1][at] if inside else len(weights) - 1
            value = np.float64(rows[0][at]) if inside else 1.0
        for r in range(len(steps)):
            weights[j, r] += steps[r] * value
            if len(lag):
                lag[j, r] += seen * steps[r] * value


@compiled
def sweep(
    rows: Any, labels: Any, order: Any, intercept: bool, rule: int,
    weights: FloatArray, lag: FloatArray, seen: float,
) -> int:  # fmt: skip
    """Process the rows in order, updating on each mistake; return the number of mistakes.

    `lag` sums each update times the number of rows seen before it, from which the averaged weights
    follow; an empty `lag` is not updated.
    """
    scores, steps = np.empty(weights.shape[1]), np.empty(weights.shape[1])
    class_norms = (weights**2).sum(axis=0)
    largest, mistakes = float(class_norms.max()), 0
    for i in order:
        squared_norm = score_row(rows, i, intercept, weights, scores)
        if snap_ties(scores, labels[i], np.sqrt(squared_norm * largest)):
            mistakes += 1
            take_steps(rule, scores, labels[i], squared_norm, steps)
            add_row(rows, i, intercept, steps, seen, weights, lag)
            class_norms += steps * (2.0 * scores + steps * squared_norm)
            largest = max(float(class_norms.max()), 0.0)
        seen += 1.0
    return mistakes
