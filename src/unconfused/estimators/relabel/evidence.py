"""Evidence on every row: labels through a confusion matrix, votes, and known truths.

Out-of-fold predictions are combined with the evidence by Bayes' rule, and judged by its likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from unconfused._matrix import label_chances
from unconfused._typing import BoolArray, FloatArray, IntArray
from unconfused.confusion._dawid_skene import Crowd
from unconfused.confusion.estimation.calibration import Calibration, posterior_given

if TYPE_CHECKING:
    from unconfused.estimators._noisy import NoisyData

SMALLEST = 1e-12

FEWEST_LABELS = 30
"""Fewest rows per class, on average, for automatic choices and rounds of relabelling."""

NO_BETTER = 1.0
"""A gain in the log-likelihood of all held-out rows that is not worth another penalty: what one
more parameter must gain by Akaike's criterion."""


@dataclass(frozen=True)
class Evidence:
    """Evidence on every row.

    Parameters
    ----------
    chances : (n, Q), P(observation | true class)
    known : (n,), whether the observation is the truth
    trust : (n,), weight of the evidence of each row, in [0, 1]
    codes : (n,), label codes, by which folds are stratified
    sample_weight : (n,), frequency weights of the rows
    matrix : the confusion matrix that labels are seen through; None for votes
    log_scale : (n,) or 0, logarithm of what each row of evidence was divided by
    """

    chances: FloatArray
    known: BoolArray
    trust: FloatArray
    codes: IntArray
    sample_weight: FloatArray
    matrix: FloatArray | None = None
    log_scale: FloatArray | float = 0.0

    @property
    def weight(self) -> FloatArray:
        """What the evidence on each row counts, (n,)."""
        return self.trust * self.sample_weight

    @property
    def row_counts(self) -> FloatArray:
        """The same, scaled so that sample weights of any size add up to as many rows."""
        rows, total = np.count_nonzero(self.sample_weight), float(self.sample_weight.sum())
        return np.asarray(rows / max(total, SMALLEST) * self.weight)

    @property
    def labelled(self) -> BoolArray:
        """Rows with a label or votes of positive weight and without a known truth."""
        return np.asarray(~self.known & (self.trust > 0))

    @property
    def mostly_truths(self) -> bool:
        """Whether rows with a known truth have more weight than all others together."""
        return bool(self.weight[self.known].sum() > self.weight[~self.known].sum())

    def posterior(self, probability: FloatArray) -> FloatArray:
        """Return P(true class | row, evidence) from P(true class | row)."""
        # What C calls impossible is only unlikely where the evidence counts for little.
        tempered = np.maximum(self.chances, SMALLEST) ** self.trust[:, np.newaxis]
        return posterior_given(probability, tempered)

    def without(self, held: BoolArray) -> Evidence:
        """Return the evidence with weight 0 for some rows."""
        return replace(self, sample_weight=np.where(held, 0.0, self.sample_weight))

    def through(self, matrix: FloatArray) -> Evidence:
        """Return the evidence with another confusion matrix."""
        chances = self.chances.copy()
        chances[~self.known] = label_chances(matrix)[self.codes[~self.known]]
        return replace(self, chances=chances, matrix=matrix)

    def count(self, posterior: FloatArray, prior_counts: FloatArray) -> FloatArray:
        """Return the confusion matrix of a posterior, added to prior counts."""
        noisy = self.by_code(posterior * np.where(self.known, 0.0, self.trust)[:, np.newaxis])
        counts = prior_counts + noisy[: len(prior_counts)].T
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def noisy_rows_by_class(self, posterior: FloatArray) -> FloatArray:
        """Return the expected number of rows without a known truth of each class, (Q,)."""
        return np.asarray(np.where(self.known, 0.0, self.weight) @ posterior)

    def by_code(self, posterior: FloatArray) -> FloatArray:
        """Return the weighted sum of the posterior by label code, with a row for every class."""
        n_codes = max(self.codes.max() + 1, posterior.shape[1])
        rows = np.arange(len(self.codes))
        # A product takes a tenth of the time of `np.add.at`.
        sums = sparse.csr_array((self.sample_weight, (self.codes, rows)), (n_codes, len(rows)))
        return np.asarray(sums @ posterior)


def evidence_of_labels(data: NoisyData, matrix: FloatArray, noisy_weight: float) -> Evidence:
    """Return the evidence of labels, through a confusion matrix, and of known truths."""
    chances = label_chances(matrix)[data.labels.observed]
    chances[data.known] = np.eye(len(matrix))[data.labels.truth[data.known]]
    trust = np.where(data.known, 1.0, noisy_weight)
    weight = np.ones(len(trust)) if data.sample_weight is None else data.sample_weight
    if data.unlabelled is not None:  # they have no evidence, but a model may be sure of them
        bare = data.unlabelled > 0
        chances[bare], trust[bare] = 1.0, 0.0
        weight = weight + data.unlabelled
    return Evidence(chances, data.known, trust, data.codes, weight, matrix)


def evidence_of_votes(
    crowd: Crowd, chances: FloatArray, noisy_weight: float, weight: FloatArray | None
) -> Evidence:
    """Return the evidence of votes, given their `chances`, P(votes | true class) of each row."""
    known = crowd.truth >= 0
    trust = np.where(known, 1.0, np.where(crowd.informed, noisy_weight, 0.0))
    weight = np.ones(len(trust)) if weight is None else weight
    return Evidence(chances, known, trust, chances.argmax(axis=1), weight)


@dataclass(frozen=True)
class OutOfFold:
    """Out-of-fold predictions, calibrated and combined with the evidence of each row."""

    evidence: Evidence
    """Evidence on the rows, through the matrix at that time."""

    calibration: Calibration
    """Calibration of the predictions on the evidence."""

    log_likelihood: FloatArray
    """Log-likelihood of the evidence under the calibrated predictions, (n,); 0 if mistakes depend
    on the rows, as labels cannot tell then which model is better."""

    posterior: FloatArray
    """P(true class | row, evidence), (n, Q)."""

    logs: FloatArray
    """Log-probabilities before calibration, (n, Q)."""

    @property
    def mean_log_likelihood(self) -> float:
        """Mean log-likelihood of the evidence."""
        return mean_and_error(self.log_likelihood, self.evidence.weight)[0]

    def is_less_likely_than(self, other: OutOfFold) -> bool:
        """Whether the evidence is less likely than under `other`."""
        return self.mean_log_likelihood < other.mean_log_likelihood


def power_matching(logs: FloatArray, target: FloatArray, weight: FloatArray) -> float:
    """Return the exponent that makes probabilities as certain as those of a target.

    Used where the evidence cannot calibrate the probabilities: a held-out truth has influenced the
    classes of similar rows in earlier rounds, so it looks easier to predict than it is. The
    posterior of the first round is free of this leak.
    """

    def loss(log_power: float) -> float:
        own = log_softmax(np.exp(log_power) * logs, axis=1)
        return -float(weight @ np.einsum("iq,iq->i", target, own))

    return float(np.exp(minimize_scalar(loss, bounds=(-3.0, 3.0), method="bounded").x))


def mean_and_error(values: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Return the weighted mean of values, one per row, and its standard error.

    Examples
    --------
    >>> mean_and_error(np.array([1.0, 2.0, 3.0, 2.0]), np.ones(4))
    (2.0, 0.3535533905932738)
    """
    share = weight / max(float(weight.sum()), SMALLEST)
    mean = float(share @ values)
    # Of a weighted mean; with equal weights it is the usual one.
    return mean, float(np.sqrt(share**2 @ (values - mean) ** 2))
