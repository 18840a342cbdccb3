"""Compiled sweeps of Algorithm 1 over the rows, for the built-in step rules.

The loops use transposed weights, (features, Q): memory access is contiguous for dense and sparse
rows, and classes with equal weights keep exactly equal scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused import steps as _steps
from unconfused._compilation import compiled
from unconfused._typing import FloatArray

RULES = ("perceptron", "uniform", "proportional", "mira", "passive_aggressive", "copa")
"""Rules with a compiled sweep; the loops identify a rule by its index here."""

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
    rival = 0 if target != 0 else 1
    for r in range(len(scores)):
        if r != target and scores[r] > scores[rival]:
            rival = r
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
def squared_class_norms(weights: FloatArray) -> FloatArray:
    """Return the squared norm of every class's weights."""
    norms = np.zeros(weights.shape[1])
    for j in range(weights.shape[0]):
        for r in range(weights.shape[1]):
            norms[r] += weights[j, r] * weights[j, r]
    return norms


@compiled
def dense_sweep(
    X: Any,
    labels: Any,
    order: Any,
    intercept: bool,
    rule: int,
    weights: FloatArray,
    lag: FloatArray,
    seen: float,
) -> int:
    """Process the rows in order, updating on each mistake; return the number of mistakes.

    `lag` sums each update times the number of rows seen before it, from which the averaged weights
    follow; an empty `lag` is not updated.
    """
    n_columns, n_classes = X.shape[1], weights.shape[1]
    scores, steps = np.empty(n_classes), np.empty(n_classes)
    class_norms = squared_class_norms(weights)
    largest, mistakes = float(class_norms.max()), 0
    for k in range(len(order)):
        i, target = order[k], labels[order[k]]
        for r in range(n_classes):
            scores[r] = weights[n_columns, r] if intercept else 0.0
        squared_norm = 1.0 if intercept else 0.0
        for j in range(n_columns):
            value = np.float64(X[i, j])
            squared_norm += value * value
            for r in range(n_classes):
                scores[r] += value * weights[j, r]
        if snap_ties(scores, target, np.sqrt(squared_norm * largest)):
            mistakes += 1
            take_steps(rule, scores, target, squared_norm, steps)
            for j in range(n_columns + (1 if intercept else 0)):
                value = np.float64(X[i, j] if j < n_columns else 1.0)
                for r in range(n_classes):
                    weights[j, r] += steps[r] * value
                    if len(lag):
                        lag[j, r] += seen * steps[r] * value
            for r in range(n_classes):
                class_norms[r] += steps[r] * (2.0 * scores[r] + steps[r] * squared_norm)
            largest = max(float(class_norms.max()), 0.0)
        seen += 1.0
    return mistakes


@compiled
def sparse_sweep(
    data: Any,
    indices: Any,
    indptr: Any,
    labels: Any,
    order: Any,
    intercept: bool,
    rule: int,
    weights: FloatArray,
    lag: FloatArray,
    seen: float,
) -> int:
    """Process the rows of a CSR matrix in order, like `dense_sweep`."""
    constant, n_classes = len(weights) - 1, weights.shape[1]
    scores, steps = np.empty(n_classes), np.empty(n_classes)
    class_norms = squared_class_norms(weights)
    largest, mistakes = float(class_norms.max()), 0
    for m in range(len(order)):
        i, target = order[m], labels[order[m]]
        for r in range(n_classes):
            scores[r] = weights[constant, r] if intercept else 0.0
        squared_norm = 1.0 if intercept else 0.0
        for k in range(indptr[i], indptr[i + 1]):
            value = np.float64(data[k])
            squared_norm += value * value
            for r in range(n_classes):
                scores[r] += value * weights[indices[k], r]
        if snap_ties(scores, target, np.sqrt(squared_norm * largest)):
            mistakes += 1
            take_steps(rule, scores, target, squared_norm, steps)
            for k in range(indptr[i], indptr[i + 1] + (1 if intercept else 0)):
                inside = k < indptr[i + 1]
                j = indices[k] if inside else constant
                value = np.float64(data[k] if inside else 1.0)
                for r in range(n_classes):
                    weights[j, r] += steps[r] * value
                    if len(lag):
                        lag[j, r] += seen * steps[r] * value
            for r in range(n_classes):
                class_norms[r] += steps[r] * (2.0 * scores[r] + steps[r] * squared_norm)
            largest = max(float(class_norms.max()), 0.0)
        seen += 1.0
    return mistakes
