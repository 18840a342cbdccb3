"""The average of several models of the classes, weighted by held-out rows.

A classifier fitted to the labels, one fitted to pseudo-labels, and one fitted to the trusted rows
alone are wrong on different rows. Their average is better than each of them, and a bad one gets a
small weight. Weights are those that make held-out labels, seen through C, and truths likeliest;
then they are moved towards those that make the truths likeliest, as far as the number of these
allows: labels are many, and truths right even where mistakes depend on more than the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_softmax, softmax

from unconfused._typing import FloatArray
from unconfused.confusion.estimation.calibration import (
    Calibration,
    calibrate,
    shares_of,
    stacked,
)
from unconfused.estimators.automatic.search import FEWEST_LABELS
from unconfused.estimators.relabel.evidence import Evidence
from unconfused.estimators.wrapping.base import TrainingSet, hard_labels
from unconfused.estimators.wrapping.soft_rounds import CrossFitted, LabelUnmixing, SoftRounds

PRECISION_OF_LABELS = 5.0
"""Precision of the weights that labels suggest, beside truths: lower than around even weights, as
labels mislead where mistakes depend on the row. (Linear SVM and k-NN on nine tables, with and
without such mistakes; 3 and 10 do nearly as well.)"""


@dataclass(frozen=True)
class Candidate:
    """A model that may be part of the average.

    Parameters
    ----------
    name : its training set: "rounds" (pseudo-labels), "labels", "mixed" (labels, or majorities of
        votes, and the truth where known) or "trusted"
    training : the training set
    logs : (n, Q), out-of-fold log-probabilities of classes, not influenced by the row's own label
    latest : (n, Q), the same after the last round
    calibration : of these, times the weight in the average
    unmixing : how predicted labels become classes; None if classes are predicted
    """

    name: str
    training: TrainingSet
    logs: FloatArray
    latest: FloatArray
    calibration: Calibration
    unmixing: LabelUnmixing | None = None


@dataclass(frozen=True)
class Component:
    """A term of the average: what a `Candidate` makes of the predictions of its classifier."""

    calibration: Calibration
    unmixing: LabelUnmixing | None

    def scores(self, logs: FloatArray) -> FloatArray:
        """Return the weighted scores of the classes, given the classifier's log-probabilities."""
        return self.calibration.scores(self.unmixing.logs(logs) if self.unmixing else logs)


@dataclass(frozen=True)
class Average:
    """Training sets of the classifiers to fit, and how their predictions are averaged.

    Parameters
    ----------
    training_sets : of the classifiers, the largest share first
    shares : of each kind of training set, by name
    components : terms of the average, one for each of them; None to use the one as it is
    matrix : C, refined or not; None if there is none, or a guess is not used
    found : out-of-fold predictions of the rows
    """

    training_sets: list[TrainingSet]
    shares: dict[str, float]
    components: list[Component] | None
    matrix: FloatArray | None
    found: CrossFitted


def average_candidates(rounds: SoftRounds, *, complete: bool = True) -> Average:
    """Average the models before and after the rounds, and simple ones.

    `complete` says whether simple models that are not fitted yet may be.
    """
    assert rounds.current is not None
    evidence = rounds.current.evidence
    if rounds.guessed_counts is not None and not rounds.guess_helps:
        return _as_labelled(rounds)
    candidates = _candidates(rounds, complete)
    counted = evidence.trust * evidence.sample_weight
    logs = np.array([log_softmax(m.calibration.scores(m.logs), axis=1) for m in candidates])
    weights = stacked(logs, evidence.chances, counted)
    truths = np.where(evidence.known, counted, 0.0)
    weights = stacked(logs, evidence.chances, truths, weights, PRECISION_OF_LABELS)
    parts = shares_of(weights, logs[:, counted > 0])
    shares = dict(zip((m.name for m in candidates), parts.tolist(), strict=True))
    kept = [
        replace(m, calibration=m.calibration.times(float(w)))
        for m, w, part in zip(candidates, weights, parts, strict=True)
        if part
    ]
    kept.sort(key=lambda candidate: -shares[candidate.name])
    training = [m.training for m in kept]
    components = [Component(m.calibration, m.unmixing) for m in kept]
    return Average(training, shares, components, evidence.matrix, _cross_fitted(kept, evidence))


def _cross_fitted(candidates: Sequence[Candidate], evidence: Evidence) -> CrossFitted:
    """Return the out-of-fold predictions of an average."""
    probability = softmax(sum(m.calibration.scores(m.latest) for m in candidates), axis=1)
    unaware = sum(m.calibration.scores(m.logs) for m in candidates)
    posterior = evidence.posterior(probability)
    return CrossFitted(evidence.codes, probability, posterior, np.argmax(unaware, axis=1))


def _candidates(rounds: SoftRounds, complete: bool) -> list[Candidate]:
    """List the models: before and after rounds, and simple ones."""
    first, current, known = rounds.initial, rounds.current, rounds.evidence.known
    assert first is not None and current is not None
    evidence, found = current.evidence, list[Candidate]()

    def add(
        name: str,
        training: TrainingSet,
        logs: FloatArray,
        latest: FloatArray | None = None,
        unmixing: LabelUnmixing | None = None,
    ) -> None:
        fair = calibrate(logs, evidence.chances, evidence.row_counts, zeros=True)
        latest = logs if latest is None else latest
        found.append(Candidate(name, training, logs, latest, fair, unmixing))

    if rounds.last is not None:
        add("rounds", rounds.last, (rounds.trial or current).logs, current.logs)
    own = "mixed" if known.any() and rounds.crowd is None else "labels"
    add(own, rounds.first, first.logs, unmixing=rounds.unmixing)
    if complete:
        for name, training in _simple_training_sets(rounds).items():
            with suppress(ValueError):  # too few rows for the classifier
                add(name, training, rounds.out_of_fold(training))
    return found


def _simple_training_sets(rounds: SoftRounds) -> dict[str, TrainingSet]:
    """Return majorities of votes with the truth where known, and known truths alone.

    Majorities, as the first model of votes is already fitted to a consensus.
    """
    found = {}
    if rounds.crowd is not None:
        share = rounds.crowd.majority()
        lots = np.random.RandomState(rounds.seed).random_sample(share.shape)
        likeliest = (share + 1e-6 * lots).argmax(axis=1)
        found["mixed"] = hard_labels(likeliest, rounds.evidence.sample_weight)
    alone = rounds.first.without(~rounds.evidence.known)
    if len(np.unique(alone.codes)) == rounds.evidence.chances.shape[1]:  # or it knows only some
        found["trusted"] = alone
    return found


def _as_labelled(rounds: SoftRounds) -> Average:
    """Return the average to use if held-out labels do not support a guessed C.

    It is even, of a model of all labels and one without rows whose label is doubted: to leave out
    too many rows, or too few, costs half as much then, and neither the guess nor held-out labels
    tell which of the two it is. With few rows per class no label is doubted. Likewise the posterior
    of a row is the mean of that through the guess and of the chance of its labels.
    """
    assert rounds.current is not None and rounds.label_logs is not None
    logs, evidence, codes = rounds.label_logs, rounds.current.evidence, rounds.first.classes
    probability = calibrate(logs, evidence.chances, evidence.row_counts, zeros=True).apply(logs)
    posterior, believed = evidence.posterior(probability), rounds.calibration_of_labels(logs)
    doubted = (posterior.argmax(axis=1) != codes) & (logs.argmax(axis=1) != codes)
    posterior = (posterior + believed.apply(logs)) / 2
    found = CrossFitted(evidence.codes, probability, posterior, probability.argmax(axis=1))
    undoubted = rounds.first.without(doubted)
    complete = len(np.unique(undoubted.codes)) == logs.shape[1]
    few = evidence.total < FEWEST_LABELS * logs.shape[1]
    if rounds.trial is None or few or not (complete and doubted.any()):
        return Average([rounds.first], {"labels": 1.0}, None, None, found)
    half = [Component(believed.times(0.5), None)] * 2
    matrix = evidence.matrix if rounds.labels_look_noisy else None
    return Average([rounds.first, undoubted], {"labels": 1.0}, half, matrix, found)
