"""The average of several models of the classes, weighted by held-out rows.

A classifier fitted to the labels, one fitted to pseudo-labels, and one fitted to the trusted rows
alone are wrong on different rows. Their average is better than each of them, and a bad one gets a
small weight.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from scipy.special import softmax

from unconfused._typing import FloatArray
from unconfused.confusion.estimation.calibration import Calibration, calibrate
from unconfused.confusion.estimation.label_quality import hedged_posterior
from unconfused.estimators.automatic.average import blend
from unconfused.estimators.relabel.evidence import FEWEST_LABELS
from unconfused.estimators.wrapping.base import TrainingSet, hard_labels
from unconfused.estimators.wrapping.soft_rounds import CrossFitted, LabelUnmixing, SoftRounds


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
    unmixing : how predicted labels become classes; None if classes are predicted
    """

    name: str
    training: TrainingSet
    logs: FloatArray
    latest: FloatArray
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
    found : out-of-fold predictions of the rows; None if labels are taken as right
    """

    training_sets: list[TrainingSet]
    shares: dict[str, float] = field(default_factory=lambda: {"labels": 1.0})
    components: list[Component] | None = None
    matrix: FloatArray | None = None
    found: CrossFitted | None = None


def average_candidates(rounds: SoftRounds, *, complete: bool = True) -> Average:
    """Average the models before and after the rounds, and simple ones.

    `complete` says whether simple models that are not fitted yet may be.
    """
    assert rounds.current is not None
    evidence = rounds.current.evidence
    if rounds.guessed_counts is not None and not rounds.guess_helps:
        return _as_labelled(rounds)
    models = _candidates(rounds, complete)
    chances, counts = evidence.chances, evidence.row_counts
    fair = [calibrate(m.logs, chances, counts, zeros=True) for m in models]
    blended = blend([m.logs for m in models], fair, chances, evidence.weight, evidence.known)
    shares = dict(zip((m.name for m in models), blended.shares.tolist(), strict=True))
    kept = [(m, c) for m, c in zip(models, blended.parts, strict=True) if shares[m.name]]
    kept.sort(key=lambda term: -shares[term[0].name])
    probability = softmax(sum(c.scores(m.latest) for m, c in kept), axis=1)
    # A refined C also explains mistakes that the classifier makes itself, and through it wrong
    # labels of these classes would pass for right ones.
    counted = rounds.task.trusted.any() and rounds.task.crowd is None
    posterior = (rounds.evidence if counted else evidence).posterior(probability)
    return Average(
        [m.training for m, _ in kept],
        shares,
        [Component(c, m.unmixing) for m, c in kept],
        evidence.matrix,
        CrossFitted(evidence.codes, probability, posterior, blended.logs.argmax(axis=1)),
    )


def _candidates(rounds: SoftRounds, complete: bool) -> list[Candidate]:
    """List the models: before and after rounds, and simple ones."""
    first, current, task = rounds.initial, rounds.current, rounds.task
    assert first is not None and current is not None
    found = list[Candidate]()
    if rounds.last is not None:
        trial = rounds.trial or current
        found.append(Candidate("rounds", rounds.last, trial.logs, current.logs))
    own = "mixed" if task.evidence.known.any() and task.crowd is None else "labels"
    found.append(Candidate(own, task.first, first.logs, first.logs, rounds.unmixing))
    if complete:
        for name, training in _simple_training_sets(rounds).items():
            with suppress(ValueError):  # too few rows for the classifier
                logs = rounds.out_of_fold(training)
                found.append(Candidate(name, training, logs, logs))
    return found


def _simple_training_sets(rounds: SoftRounds) -> dict[str, TrainingSet]:
    """Return majorities of votes with the truth where known, and known truths alone.

    Majorities, as the first model of votes is already fitted to a consensus.
    """
    found = {}
    crowd, first = rounds.task.crowd, rounds.task.first
    if crowd is not None:
        share = crowd.majority()
        lots = np.random.RandomState(rounds.seed).random_sample(share.shape)
        likeliest = (share + 1e-6 * lots).argmax(axis=1)
        found["mixed"] = hard_labels(likeliest, rounds.evidence.sample_weight)
    alone = first.without(~rounds.evidence.known)
    if len(np.unique(alone.codes)) == rounds.evidence.chances.shape[1]:  # or it knows only some
        found["trusted"] = alone
    return found


def _as_labelled(rounds: SoftRounds) -> Average:
    """Return the average to use if held-out labels do not support a guessed C.

    Two models are averaged with equal weights: one of all labels, and one without rows whose label
    is doubted. Neither the guess nor held-out labels show whether too many or too few rows are left
    out, and the average halves the cost of either mistake. With few rows per class no label is
    doubted. For the same reason the posterior of a row is a mean of two.
    """
    assert rounds.current is not None and rounds.label_logs is not None
    logs, evidence, given = rounds.label_logs, rounds.current.evidence, rounds.task.first
    probability = calibrate(logs, evidence.chances, evidence.row_counts, zeros=True).apply(logs)
    posterior, believed = evidence.posterior(probability), rounds.calibration_of_labels(logs)
    doubted = (posterior.argmax(axis=1) != given.classes) & (logs.argmax(axis=1) != given.classes)
    posterior = hedged_posterior(
        softmax(logs, axis=1), given.classes, np.flatnonzero(evidence.weight)
    )
    found = CrossFitted(evidence.codes, probability, posterior, probability.argmax(axis=1))
    undoubted = given.without(doubted)
    complete = len(np.unique(undoubted.codes)) == logs.shape[1]
    few = evidence.weight.sum() < FEWEST_LABELS * logs.shape[1]
    if rounds.trial is None or few or not (complete and doubted.any()):
        return Average([given], found=found)
    half = [Component(believed.times(0.5), None)] * 2
    matrix = evidence.matrix if rounds.labels_look_noisy else None
    return Average([given, undoubted], components=half, matrix=matrix, found=found)
