"""Whether held-out labels are noisy, and which look wrong, by out-of-fold models.

Bayes' rule through a guessed confusion matrix finds far more wrong labels than plain confidence
where the guess is right, and fewer where mistakes depend on the features or classes overlap. The
labels themselves tell the two cases apart: through a matrix that describes them, models predict
held-out labels better than without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from unconfused._typing import BoolArray, FloatArray, IntArray
from unconfused.confusion.estimation.calibration import (
    best_power,
    calibrate,
    log_chances,
    sharpen,
    sharpened,
)
from unconfused.confusion.estimation.class_probabilities import (
    ClassProbabilities,
    estimate_counts,
    evidence_of,
    guess_counts,
    unmix_probabilities,
)
from unconfused.confusion.estimation.pooled import even_errors, shrink_to_symmetric

Criterion = Literal["posterior", "self_confidence"]

CLEARLY = 2.0
"""Paired standard errors by which a more complex model must predict held-out labels better."""

SMALLEST = 1e-6
"""Smallest probability of a label in comparisons: no single label may dominate them."""

TINY = 1e-12


class LabelScores(NamedTuple):
    """P(true class | x, label) or P(label | x), (n, Q), to rank labels by, and which of the two."""

    table: FloatArray
    criterion: Criterion


def judge_labels(
    probability: FloatArray, observed: IntArray, counted: IntArray, criterion: Criterion | None
) -> LabelScores:
    """Judge labels by out-of-fold P(label | x), (n, Q).

    The matrix is guessed from the rows `counted`. Without a `criterion` it is chosen by the
    likelihood of their labels.

    Examples
    --------
    >>> x = np.linspace(-3, 3, 400)
    >>> observed = (x > 0).astype(int)
    >>> observed[::5] = 1 - observed[::5]  # a fifth of the labels are wrong
    >>> probability = np.column_stack([1 / (1 + np.exp(x)), 1 / (1 + np.exp(-x))])
    >>> judge_labels(probability, observed, np.arange(400), None).criterion
    'posterior'
    >>> judge_labels(np.full((400, 2), 0.5), observed, np.arange(400), None).criterion
    'self_confidence'
    """
    if criterion == "self_confidence":
        return LabelScores(probability, criterion)
    some, labels = probability[counted], observed[counted]
    model = through_matrix(some, labels)
    if criterion is None and not model_helps(model, some, labels):
        return LabelScores(probability, "self_confidence")
    return LabelScores(model.posterior(probability, observed), "posterior")


def hedged_posterior(probability: FloatArray, observed: IntArray, counted: IntArray) -> FloatArray:
    """Return P(true class | x, label), (n, Q), from out-of-fold P(label | x).

    It is the mean of two posteriors: through a C guessed from the rows `counted`, and through even
    errors, as frequent in every class and as often any other label. With two classes the latter
    ranks labels exactly as self-confidence does; the former is better where errors differ between
    classes, and worse where the guess is wrong.

    Examples
    --------
    >>> probability = np.array([[0.7, 0.3], [0.4, 0.6], [0.7, 0.3], [0.3, 0.7]])
    >>> observed = np.array([0, 0, 0, 1])
    >>> hedged_posterior(probability, observed, np.arange(4)).argmax(axis=1)
    array([0, 1, 0, 1])
    """
    some, labels = probability[counted], observed[counted]
    matrix, counts = estimate_counts(some, labels)
    guess = ClassProbabilities.of(some, matrix).calibrated(some, labels)
    even = ClassProbabilities.of(some, even_errors(counts))
    even = even.calibrated(some, labels, shifts=False)
    return np.asarray(
        (guess.posterior(probability, observed) + even.posterior(probability, observed)) / 2
    )


def through_matrix(probability: FloatArray, observed: IntArray) -> ClassProbabilities:
    """Return what turns P(label | x) into P(true class | x), through a matrix guessed from both."""
    matrix, _ = estimate_counts(probability, observed)
    return ClassProbabilities.of(probability, matrix).calibrated(probability, observed)


def model_helps(model: ClassProbabilities, probability: FloatArray, observed: IntArray) -> bool:
    """Return whether labels are clearly likelier through C than by the probabilities alone.

    Both sides are calibrated with class shifts; otherwise better class shares alone would favour C.
    """
    fair, evidence = model.apply(probability), evidence_of(model.matrix, observed)
    believed, logs = np.eye(probability.shape[1])[observed], np.log(np.maximum(probability, 1e-12))
    plain = calibrate(logs, believed, np.ones(len(observed))).apply(logs)
    return _clearly_likelier(fair, evidence, plain, believed)


def matrix_helps(
    fair: FloatArray, evidence: FloatArray, plain: FloatArray, observed: IntArray, counted: IntArray
) -> bool:
    """Return whether labels are clearly likelier through a matrix than without it.

    `fair` is P(true class | x), sharpened, `evidence` the chance of the label given each true
    class, and `plain` P(label | x) of a model without the matrix. Rows `counted` are compared.
    """
    believed = np.eye(plain.shape[1])[observed]
    plain = sharpened(plain, believed, counted)
    return _clearly_likelier(fair[counted], evidence[counted], plain[counted], believed[counted])


def _clearly_likelier(
    fair: FloatArray, evidence: FloatArray, plain: FloatArray, believed: FloatArray
) -> bool:
    """Return whether labels are likelier through a matrix by `CLEARLY` paired standard errors."""
    gain = log_chances(fair, evidence, SMALLEST) - log_chances(plain, believed, SMALLEST)
    return bool(gain.mean() > CLEARLY * gain.std() / np.sqrt(max(1, len(gain))))


@dataclass(frozen=True)
class NoiseEvidence:
    """How much better held-out labels are predicted through a guessed confusion matrix."""

    gain: float
    """Mean gain in log-likelihood per row."""

    error: float
    """Its standard error."""

    rate: float
    """Share of the labels that is wrong according to the guess."""

    def is_clear(self, n_errors: float) -> bool:
        """Return whether the gain exceeds this number of its standard errors."""
        return self.gain > n_errors * self.error


def noise_evidence(
    probability: FloatArray, observed: IntArray, half: BoolArray, weight: FloatArray
) -> NoiseEvidence:
    """Test whether a confusion matrix explains labels that a model has not seen.

    Under label noise the probability of a label is a mixture of the rows of C: it never reaches 1,
    however typical the row. Overlapping classes do not look like that, as their probabilities do
    reach 1 away from the boundary. So the matrix is guessed on one half of the rows, and the
    probabilities of the other half are projected onto the mixtures it allows: with noise the labels
    become likelier, without it they become less likely.
    `half` is a mask of rows that splits no fold, `weight` the frequency weights.

    Examples
    --------
    >>> rng = np.random.RandomState(0)
    >>> truth = rng.randint(2, size=600)
    >>> flipped = np.where(rng.uniform(size=600) < 0.3, 1 - truth, truth)
    >>> says = np.where(truth[:, np.newaxis] == [0, 1], 0.7, 0.3)
    >>> says += rng.uniform(-0.25, 0.25, 600)[:, np.newaxis] * [1, -1]
    >>> found = noise_evidence(says, flipped, np.arange(600) < 300, np.ones(600))
    >>> found.is_clear(3.0), 0.2 < found.rate < 0.4
    (True, True)
    """
    gains, wrong, total = np.zeros(len(observed)), 0.0, 0.0
    for tested in (half, ~half):
        fitted = ~tested
        counts = guess_counts(probability[fitted], observed[fitted])
        # A class without a confident row in this half gets the errors of the others.
        matrix = shrink_to_symmetric(counts, 0.0 if (counts.sum(axis=1) > 0).all() else 1.0)
        evidence = np.maximum(matrix.T[observed], TINY)
        classes = unmix_probabilities(probability, matrix)
        power = best_power(classes[fitted], evidence[fitted], weight[fitted])
        through = (sharpen(classes[tested], power) * evidence[tested]).sum(axis=1)
        plain = probability[np.flatnonzero(tested), observed[tested]]
        gains[tested] = np.log(np.maximum(through, TINY) / np.maximum(plain, TINY))
        wrong += float(counts.sum() - np.trace(counts))
        total += float(counts.sum())
    share = weight / max(float(weight.sum()), TINY)
    gain = float(share @ gains)
    error = float(np.sqrt(share**2 @ (gains - gain) ** 2))
    return NoiseEvidence(gain, error, wrong / max(total, TINY))
