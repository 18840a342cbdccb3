"""Rounds of relabelling for UMA: the likeliest class of every row, weighted by its probability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_softmax

from unconfused._matrix import Unmixing
from unconfused._matrix_labels import differs_from
from unconfused._typing import BoolArray, FloatArray, IntArray, Rows
from unconfused.confusion.estimation.calibration import calibrate, only_power
from unconfused.engines.base import Engine
from unconfused.estimators._arrays import class_scores, like, to_numpy
from unconfused.estimators._noisy import NoisyData
from unconfused.estimators.relabel.evidence import Evidence, evidence_of_labels
from unconfused.estimators.relabel.rounds import COUNTS
from unconfused.solvers.uma.solver import INTERRUPTED, UMA, UMAState

USUAL_ROUNDS, MANY_ROWS = 2, 50_000
"""Rounds after which more change next to nothing (Digits, Music), and the number of rows beyond
which one is made: it costs about as much as the first fit."""

FEW_PER_ROW = 0.1
"""Degrees of freedom per row up to which a model scores the rows it was fitted to about as it
scores others: on Digits (0.01) and Music (0.07) rounds help, on Reuters (0.2) they do not."""

MakeEngine = Callable[[Rows, IntArray, int, FloatArray | None], Engine]


def likeliest_classes(
    data: NoisyData, weights: FloatArray, unmixing: Unmixing
) -> tuple[IntArray, FloatArray, float, bool]:
    """Return the likeliest class of every row given its scores and its label, and its weight.

    The weight is the row's sample weight times the probability of the class. Also return the weight
    of the rows that these classes are expected to be wrong for, and whether classes and labels go
    together as C says, within chance. The scores are calibrated on the labels
    through C, and combined with each row's label by Bayes' rule. If C was estimated, it is counted
    again from these posteriors, added to the counts it came from; such a C suits these scores, but
    is no better as an estimate, as they were fitted to the same labels.
    """
    d = data.X.shape[1]
    intercept = weights.shape[1] > d
    shift = weights[:, d] if intercept else np.zeros(len(weights))
    # Scored on the rows' own device, in their precision: only scores are copied to the host.
    coef, shift = (like(one, data.X, data.X.dtype) for one in (weights[:, :d], shift))
    scores = to_numpy(class_scores(data.X, coef, shift)).astype(np.float64)
    logs = np.asarray(log_softmax(scores, axis=1))
    evidence, behind = evidence_of_labels(data, unmixing.matrix, 1.0), unmixing.counts
    own = np.where(evidence.trust > 0, evidence.sample_weight, 0.0)  # not of rows without a label
    # Rescaled to mean 1: the calibration has a prior, worth a fixed number of rows.
    evidence = replace(evidence, sample_weight=own * (np.count_nonzero(own) / own.sum()))
    find = calibrate if intercept else only_power

    def posterior_through(evidence: Evidence) -> FloatArray:
        return evidence.posterior(find(logs, evidence.chances, evidence.sample_weight).apply(logs))

    posterior = posterior_through(evidence)
    if behind is not None:
        for _ in range(COUNTS):
            evidence = evidence.through(evidence.count(posterior, behind))
            posterior = posterior_through(evidence)
    joint = evidence.by_code(evidence.labelled[:, np.newaxis] * posterior)[: unmixing.n_labels]
    rows_behind = None if behind is None else behind.sum(axis=1)
    as_expected = not differs_from(joint.T, unmixing.matrix, rows_behind)
    sure = posterior.max(axis=1)
    weight = own * sure
    return posterior.argmax(axis=1), weight, float(weight @ (1 - sure)), as_expected


@dataclass(frozen=True)
class UMAWithRounds:
    """UMA, and rounds of relabelling: it is run again on pseudo-labels in place of noisy labels.

    Parameters
    ----------
    first, later : UMA on the labels, and in rounds
    alpha : minimum margin of the rows that the first run uses
    n_rounds : the maximum number of rounds; None for the usual one
    make_engine : wraps rows, label codes and weights
    """

    first: UMA
    later: UMA
    alpha: float
    n_rounds: int | None
    make_engine: MakeEngine

    def run(self, data: NoisyData, engine: Engine, unmixing: Unmixing, state: UMAState) -> int:
        """Update `state` in place; return the number of rounds made.

        Pseudo-labels are taken as right, so every round is a run of the noise-free algorithm. More
        updates would fit the mistakes that remain: there is at most one per pair of classes, and
        none once the weights contradict no more labels than are expected to be wrong (the
        discrepancy principle). Most of these are rows between the classes, which affect averaged
        weights less. Rounds end if classes and labels no longer go together as C says: mistakes
        then depend on the rows, and have been learnt. Ctrl-C keeps the last complete round.
        """
        self.first.run(engine, unmixing, self.alpha, state)
        n_rounds = _usual_rounds(data, state) if self.n_rounds is None else self.n_rounds
        n_classes = unmixing.n_classes
        clean = Unmixing(np.eye(n_classes), unmixing.classes)
        most = min(self.later.max_iter, n_classes * (n_classes - 1))
        averaged = replace(self.later, average=True, max_iter=most)
        if unmixing.is_identity:
            return 0  # labels are taken as right
        for n_made in range(n_rounds):
            if state.stopped == INTERRUPTED:
                return n_made
            weights = state.averaged()
            classes, weight, wrong, as_expected = likeliest_classes(data, weights, unmixing)
            if len(np.unique(classes[weight > 0])) < n_classes or not as_expected:
                return n_made  # a class without rows could not come back; mistakes would stay
            again = state.copy()
            again.start_again(np.zeros_like(weights))
            relabelled = self.make_engine(data.X, classes, n_classes, weight)
            again = replace(averaged, mistakes=wrong).run(relabelled, clean, 0.0, again)
            if again.stopped == INTERRUPTED:
                state.stopped = INTERRUPTED
                return n_made
            again.start_again(again.averaged())
            vars(state).update(vars(again))
        return n_rounds

    def weights(self, state: UMAState) -> FloatArray:
        """Return the weights of the classifier."""
        return state.averaged() if self.first.average else state.weights

    def without(self, held: BoolArray, data: NoisyData, unmixing: Unmixing) -> FloatArray:
        """Return the weights of a fit without some rows."""
        rows = data.rows_without(held)
        engine, quiet = self.make_engine(*rows), replace(self, first=replace(self.first, verbose=0))
        state = UMAState(np.zeros((unmixing.n_classes, engine.n_features)))
        quiet.run(replace(data, sample_weight=rows[3]), engine, unmixing, state)
        if state.stopped == INTERRUPTED:
            raise KeyboardInterrupt
        return self.weights(state)


def _usual_rounds(data: NoisyData, state: UMAState) -> int:
    """Return the number of rounds after an automatic fit."""
    n_rows = len(data.labels.observed)
    possible = data.in_memory and len(data.labels.labels) == len(data.labels.classes)
    if not possible or state.freedom is None or state.freedom > FEW_PER_ROW * n_rows:
        return 0
    return USUAL_ROUNDS if n_rows <= MANY_ROWS else 1
