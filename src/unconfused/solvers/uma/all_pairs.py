"""Updates of all pairs at once, each shrunk by the noise in its update vector."""

from __future__ import annotations

import numpy as np

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray
from unconfused.engines.base import Engine, Partition
from unconfused.solvers.uma.regions import restart_adapted

ROUNDS = 10
"""Rounds of updates of all pairs; their weights are averaged."""


def update_all_pairs(
    engine: Engine, unmixing: Unmixing, weights: FloatArray, costs: FloatArray | None
) -> FloatArray:
    """Return the weights after `ROUNDS` updates of all pairs, averaged.

    Single pairs stand out of the label noise only if they confuse many rows; together they still
    tell where the classifier errs. The regions are unmixed anew in every round. `weights` are
    log-odds, about Q times as large as after one update of all pairs from zero; so are the steps.
    """
    n_classes = unmixing.n_classes
    mean = np.zeros_like(weights)
    partition = engine.partition(unmixing, 0.0)
    for _ in range(ROUNDS):
        adapted = restart_adapted(partition, unmixing, weights)
        weights = weights + n_classes * _shrunken_step(partition, adapted, costs)
        mean += weights / ROUNDS
    return mean


def _shrunken_step(
    partition: Partition, unmixing: Unmixing, costs: FloatArray | None
) -> FloatArray:
    """Return the sum of the updates of all pairs, (Q, features)."""
    tables = partition.tables()
    total = tables.counts.sum()
    step: FloatArray | None = None
    for p in np.flatnonzero(tables.counts.any(axis=1)).tolist():
        z = partition.update_vectors(p)
        norms = np.einsum("qj,qj->q", z, z)
        noise = tables.squares[p] @ unmixing.of_region(p).coefficients ** 2 / total**2
        kept = np.maximum(1 - noise / np.maximum(norms, np.finfo(np.float64).tiny), 0.0)
        kept = kept if costs is None else kept * costs[p]
        kept[p] = 0.0
        step = np.zeros_like(z) if step is None else step
        step += kept[:, np.newaxis] * z
        step[p] -= kept @ z
    assert step is not None
    return step
