"""Expectation maximisation of Dawid and Skene's model, over a sparse list of votes.

The truth of an item is drawn from the class shares, and each annotator answers from a row of a
confusion matrix of their own. Two models are fitted, one after the other: all annotators share one
matrix; then each has their own, pulled towards the shared one, which stays fixed. So each of the
two maximises one function, which no iteration can lower.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from unconfused._typing import BoolArray, FloatArray, IntArray

TINY = 1e-300
"""Stands for 0 in a logarithm; what it multiplies is 0."""


@dataclass(frozen=True)
class Crowd:
    """What is known: the votes as indicators, and the truth of some items (negative: unknown)."""

    indicators: Any
    truth: IntArray
    n_annotators: int
    n_classes: int

    @property
    def informed(self) -> BoolArray:
        """Items about which anything is known: only they tell the class shares."""
        return np.asarray((np.diff(self.indicators.indptr) > 0) | (self.truth >= 0))

    def fix_truth(self, posterior: FloatArray) -> FloatArray:
        """Put certainty where the truth is given."""
        gold = self.truth >= 0
        posterior[gold] = np.eye(self.n_classes)[self.truth[gold]]
        return posterior

    def counts(self, posterior: FloatArray) -> FloatArray:
        """Count expected answers by annotator, true class and label: (A, Q, Q)."""
        flat = self.indicators.T @ posterior
        by_label = flat.reshape(self.n_annotators, self.n_classes, self.n_classes)
        return np.ascontiguousarray(by_label.transpose(0, 2, 1))

    def log_joint(self, matrices: FloatArray, prior: FloatArray) -> FloatArray:
        """Log-probability of each item's answers together with each true class: (n_items, Q)."""
        logs = np.log(np.maximum(matrices, TINY)).transpose(0, 2, 1)
        answers = self.indicators @ logs.reshape(-1, self.n_classes)
        # A class without any share must keep none, not even a tiny one.
        share = np.log(prior, out=np.full_like(prior, -np.inf), where=prior > 0)
        return np.asarray(answers + share)


@dataclass(frozen=True)
class CrowdFit:
    """The model at the end, and the function it maximised, after every iteration."""

    posterior: FloatArray
    counts: FloatArray
    matrices: FloatArray
    prior: FloatArray
    objective: list[float]
    converged: bool


def fit_crowd(
    crowd: Crowd, start: FloatArray, strength: float, max_iter: int, tol: float
) -> CrowdFit:
    """Fit the shared matrix, then one matrix per annotator from where that ended."""
    shared = _maximise(crowd, start, _shared_matrix, max_iter, tol)
    centre = _centre(shared.counts.sum(axis=0))

    def own_matrices(counts: FloatArray) -> tuple[FloatArray, float]:
        matrices = shrink(counts, centre, strength)
        penalty = strength * np.sum(centre * np.log(np.maximum(matrices, TINY)))
        return matrices, float(penalty)

    return _maximise(crowd, shared.posterior, own_matrices, max_iter, tol)


def shrink(counts: FloatArray, centre: FloatArray, strength: float) -> FloatArray:
    """Add `strength` answers that follow `centre` to every row; without any answer, be `centre`."""
    raised = counts + strength * centre
    rows = raised.sum(axis=-1, keepdims=True)
    without = np.broadcast_to(centre, raised.shape).copy()
    return np.asarray(np.divide(raised, rows, out=without, where=rows > 0))


def _centre(counts: FloatArray) -> FloatArray:
    """Return the shared matrix with one even answer added per class, so that no entry is 0."""
    raised = counts + 1.0 / len(counts)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _shared_matrix(counts: FloatArray) -> tuple[FloatArray, float]:
    pooled = counts.sum(axis=0)
    rows = pooled.sum(axis=1, keepdims=True)
    matrix = np.divide(pooled, rows, out=np.eye(len(pooled)), where=rows > 0)
    return np.broadcast_to(matrix, counts.shape), 0.0


def _maximise(
    crowd: Crowd, posterior: FloatArray, matrices_of: Any, max_iter: int, tol: float
) -> CrowdFit:
    informed, gold = crowd.informed, crowd.truth >= 0
    objective: list[float] = []
    converged = False
    while True:
        counts = crowd.counts(posterior)
        matrices, penalty = matrices_of(counts)
        prior = posterior[informed].sum(axis=0) / max(1, int(np.count_nonzero(informed)))
        joint = crowd.log_joint(matrices, prior)
        evidence = logsumexp(joint, axis=1)
        posterior = crowd.fix_truth(np.exp(joint - evidence[:, np.newaxis]))
        evidence[gold] = joint[gold, crowd.truth[gold]]
        objective.append(float(evidence[informed].sum()) + penalty)
        if len(objective) > 1:
            converged = objective[-1] - objective[-2] <= tol * len(informed)
        if converged or len(objective) >= max_iter:
            counts = crowd.counts(posterior)
            return CrowdFit(posterior, counts, matrices_of(counts)[0], prior, objective, converged)
