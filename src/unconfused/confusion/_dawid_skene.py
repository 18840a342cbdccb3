"""Expectation maximisation of Dawid and Skene's model, over a sparse list of votes.

The truth of an item is drawn from the class shares, and each annotator answers from a row of a
confusion matrix of their own. Two models are fitted, one after the other: all annotators share one
matrix; then each has their own, shrunk towards the shared one, which is fixed. Each of the two fits
is an EM algorithm, so its objective never decreases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp

from unconfused._typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from unconfused.confusion.votes import Votes

TINY = 1e-300
"""Replaces 0 in logarithms that are multiplied by 0."""


@dataclass(frozen=True)
class Expectation:
    """Sufficient statistics of the answers under a posterior."""

    counts: FloatArray
    """Expected answers by annotator, true class and label, (A, Q, Q)."""

    prior: FloatArray
    """Share of every class, (Q,), among the items with an answer or a known truth."""

    evidence: float = 0.0
    """Log-likelihood of the answers and the known truths."""


@dataclass(frozen=True)
class Crowd:
    """Votes as indicators, and the truth of some items (negative: unknown)."""

    indicators: Any
    truth: IntArray
    n_annotators: int
    n_classes: int

    @staticmethod
    def of(votes: Votes, truth: IntArray, silent: BoolArray | None = None) -> Crowd:
        """Return votes as indicators; silence of annotators marked in `silent` is an answer."""
        return Crowd(votes.indicators(silent), truth, votes.n_annotators, len(votes.classes))

    @property
    def n_labels(self) -> int:
        """Number of possible answers: the classes, and silence where it is informative."""
        return int(self.indicators.shape[1]) // self.n_annotators

    @property
    def informed(self) -> BoolArray:
        """Items with an answer or a known truth, from which the class shares are estimated."""
        return np.asarray((np.diff(self.indicators.indptr) > 0) | (self.truth >= 0))

    def fix_truth(self, posterior: FloatArray) -> FloatArray:
        """Set the posterior of items with a known truth to certainty (in place)."""
        gold = self.truth >= 0
        posterior[gold] = np.eye(self.n_classes)[self.truth[gold]]
        return posterior

    def counts(self, posterior: FloatArray) -> FloatArray:
        """Count expected answers by annotator, true class and label: (A, Q, labels)."""
        flat = self.indicators.T @ posterior
        by_label = flat.reshape(self.n_annotators, self.n_labels, self.n_classes)
        return np.ascontiguousarray(by_label.transpose(0, 2, 1))

    def log_joint(self, matrices: FloatArray, prior: FloatArray) -> FloatArray:
        """Log-probability of each item's answers together with each true class: (n_items, Q)."""
        logs = np.log(np.maximum(matrices, TINY)).transpose(0, 2, 1)
        answers = self.indicators @ logs.reshape(-1, self.n_classes)
        # A class without any share must keep none, not even a tiny one.
        share = np.log(prior, out=np.full_like(prior, -np.inf), where=prior > 0)
        return np.asarray(answers + share)

    def majority(self) -> FloatArray:
        """Share of each class among an item's votes, or the known truth; zeros without either."""
        names = np.eye(self.n_labels, self.n_classes)
        tally = self.indicators @ np.tile(names, (self.n_annotators, 1))
        total = tally.sum(axis=1, keepdims=True)  # may be small, if votes have weights
        return self.fix_truth(np.divide(tally, total, out=np.zeros_like(tally), where=total > 0))

    def posterior(self, matrices: FloatArray, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return P(true class | answers), (n_items, Q), and the log-probability of each item."""
        joint = self.log_joint(matrices, prior)
        evidence = logsumexp(joint, axis=1)
        posterior = self.fix_truth(np.exp(joint - evidence[:, np.newaxis]))
        gold = self.truth >= 0
        evidence[gold] = joint[gold, self.truth[gold]]
        return posterior, np.asarray(evidence)

    def expect(self, matrices: FloatArray, prior: FloatArray) -> Expectation:
        """Return the statistics given matrices, (A, Q, Q), and class shares, (Q,): the E-step."""
        posterior, evidence = self.posterior(matrices, prior)
        return self.summed(posterior, float(evidence[self.informed].sum()))

    def summed(self, posterior: FloatArray, evidence: float = 0.0) -> Expectation:
        """Return the statistics of a posterior."""
        informed = self.informed
        masses = posterior[informed].sum(axis=0)
        prior = masses / max(1, int(np.count_nonzero(informed)))
        return Expectation(self.counts(posterior), prior, evidence)


@dataclass(frozen=True)
class CrowdFit:
    """The fitted model, and its objective after every iteration."""

    expected: Expectation
    """Result of the last E-step, given `used_matrices` and `prior`."""

    matrices: FloatArray
    """Result of the M-step after it, (A, Q, Q)."""

    used_matrices: FloatArray
    prior: FloatArray
    objective: list[float]
    converged: bool


def fit_crowd(answers: Crowd, strength: float, max_iter: int, tol: float) -> CrowdFit:
    """Fit the shared matrix, starting from majority votes, then one matrix per annotator."""
    start = answers.summed(answers.majority())
    shared = maximise(answers, start, _shared_matrix, max_iter, tol)
    pooled = shared.expected.counts.sum(axis=0)
    # A uniform pseudocount per class, so that no entry is 0.
    centre = shrink(pooled, np.full(pooled.shape, 1.0 / pooled.shape[1]), 1.0)

    def own_matrices(counts: FloatArray) -> tuple[FloatArray, float]:
        matrices = shrink(counts, centre, strength)
        penalty = strength * np.sum(centre * np.log(np.maximum(matrices, TINY)))
        return matrices, float(penalty)

    return maximise(answers, shared.expected, own_matrices, max_iter, tol)


def shrink(counts: FloatArray, centre: FloatArray, strength: float) -> FloatArray:
    """Add `strength` pseudocounts distributed as `centre` to every row, and divide by the sums."""
    raised = counts + strength * centre
    rows = raised.sum(axis=-1, keepdims=True)
    without = np.broadcast_to(centre, raised.shape).copy()
    return np.asarray(np.divide(raised, rows, out=without, where=rows > 0))


def _shared_matrix(counts: FloatArray) -> tuple[FloatArray, float]:
    matrix = shrink(counts.sum(axis=0), np.eye(*counts.shape[1:]), 0.0)
    return np.broadcast_to(matrix, counts.shape), 0.0


def maximise(
    answers: Crowd, expected: Expectation, matrices_of: Any, max_iter: int, tol: float
) -> CrowdFit:
    """Alternate between the posterior and the matrices until the objective converges.

    `matrices_of` also returns what the matrices add to the log-likelihood.
    """
    objective: list[float] = []
    converged = False
    while True:
        matrices, penalty = matrices_of(expected.counts)
        prior = expected.prior
        expected = answers.expect(matrices, prior)
        objective.append(expected.evidence + penalty)
        if len(objective) > 1:
            converged = objective[-1] - objective[-2] <= tol * len(answers.truth)
        if converged or len(objective) >= max_iter:
            last = matrices_of(expected.counts)[0]
            return CrowdFit(expected, last, matrices, prior, objective, converged)
