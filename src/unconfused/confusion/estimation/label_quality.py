"""Which labels look wrong, from probabilities of models that have not seen the rows.

Bayes' rule through a guessed confusion matrix finds far more wrong labels than plain confidence
where the guess is right, and fewer where mistakes depend on the features or classes overlap. The
labels themselves tell the two cases apart: through a matrix that describes them, models predict
held-out labels better than without it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.confusion.estimation.calibration import calibrate
from unconfused.confusion.estimation.class_probabilities import (
    ClassProbabilities,
    estimate_counts,
    evidence_of,
)
from unconfused.confusion.estimation.sharpness import best_power, sharpen

Criterion = Literal["posterior", "self_confidence"]

CLEARLY = 2.0
"""Paired standard errors by which a less simple model must predict held-out labels better."""

SMALLEST = 1e-6
"""Smallest chance of a label where models are compared: one label must not decide."""


class LabelScores(NamedTuple):
    """A table to rank labels by: 1 minus the entry of a row's label is its score."""

    table: FloatArray
    """(n, Q): P(true class | x, label), or P(label | x)."""

    criterion: Criterion
    """Which of the two."""


def judge_labels(
    probability: FloatArray, observed: IntArray, counted: IntArray, criterion: Criterion | None
) -> LabelScores:
    """Judge labels by P(label | x), (n, Q), of models that had not seen the row.

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
    return _clearly_likelier(_log_chances(fair, evidence), _log_chances(plain, believed))


def sharpened(probability: FloatArray, evidence: FloatArray, counted: IntArray) -> FloatArray:
    """Sharpen probabilities to the temperature that fits the labels best."""
    return sharpen(probability, best_power(probability[counted], evidence[counted]))


def matrix_helps(
    fair: FloatArray, evidence: FloatArray, plain: FloatArray, observed: IntArray, counted: IntArray
) -> bool:
    """Return whether labels are clearly likelier through a matrix than without it.

    `fair` is P(true class | x), sharpened, `evidence` the chance of the label given each true
    class, and `plain` P(label | x) of a model without the matrix. Rows `counted` are compared.
    """
    believed = np.eye(plain.shape[1])[observed]
    chances = _log_chances(sharpened(plain, believed, counted), believed)
    return _clearly_likelier(_log_chances(fair, evidence)[counted], chances[counted])


def _log_chances(probability: FloatArray, evidence: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.maximum((probability * evidence).sum(axis=1), SMALLEST)))


def _clearly_likelier(one: FloatArray, other: FloatArray) -> bool:
    """Return whether the first log-chances are higher by `CLEARLY` paired standard errors."""
    gain = one - other
    return bool(gain.mean() > CLEARLY * gain.std() / np.sqrt(max(1, len(gain))))
