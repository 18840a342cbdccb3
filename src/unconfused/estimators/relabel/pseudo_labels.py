"""Rounds of relabelling around the likelihood: sure rows by their class, others by their label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import log_softmax

from unconfused._typing import BoolArray, FloatArray, IntArray, Rows
from unconfused.estimators._arrays import rows_at, scores_on_host
from unconfused.estimators.relabel.evidence import (
    FEWEST_LABELS,
    NO_BETTER,
    SMALLEST,
    Evidence,
    OutOfFold,
    power_matching,
)
from unconfused.estimators.relabel.rounds import Rounds, sure_classes
from unconfused.solvers.likelihood import Likelihood, LikelihoodState

USUAL_ROUNDS = 4
"""Maximum number of rounds of relabelling; later ones change little (Digits, Reuters)."""

AMBIGUOUS = 0.3
"""Weight of the noisy label of a row whose class is ambiguous, relative to a pseudo-label. It shows
where classes meet: without it errors rise on Music and Reuters (weight 0), and more than this does
no better on Digits, Music and Reuters."""

RELAXED_BY, LEAST_PENALTY = 10.0**-0.5, 0.02
"""Steps in which the penalty is weakened for rounds, and the factor below which it is weakened no
more."""

NOT_MADE = (
    "No round of relabelling was made: the first one did not help, or there was nothing to correct."
)
"""Message for users who asked for rounds."""

FitWithout = Callable[[BoolArray, FloatArray | None], LikelihoodState]
"""Fit to the labels without the rows held out, from weights on if there are any."""


@dataclass(frozen=True)
class PseudoLabels:
    """Targets of a round: classes, and perhaps the noisy labels of rows whose class is ambiguous.

    Parameters
    ----------
    classes : (n,), pseudo-labels; -1 where the class is ambiguous
    codes : (n,), classes; or, with a matrix, labels, and Q + class where that is sure
    weight : (n,), what each row counts
    factor : on the penalty. It is a belief about the weights: more rows to learn from do not
        change it
    matrix : the confusion matrix of the labels, if any are used
    """

    classes: IntArray
    codes: IntArray
    weight: FloatArray
    factor: float
    matrix: FloatArray | None = None


@dataclass(kw_only=True)
class Relabelling(Rounds[FloatArray, PseudoLabels]):
    """Rounds of relabelling for a linear model; a model is its weights.

    Parameters
    ----------
    X : rows
    model : the logistic regression
    fit_without : fits to the labels
    settings : of the fits to pseudo-labels, but for the penalty in rounds
    fold_fits : weights to start at, fitted to the labels without the rows of each fold
    """

    X: Rows
    model: Any
    fit_without: FitWithout
    settings: Likelihood
    fold_fits: Sequence[FloatArray] = ()
    relaxed: float = field(default=1.0, init=False)
    """What the penalty is multiplied by in rounds."""

    _state: LikelihoodState = field(init=False)

    def __post_init__(self) -> None:
        """Take the settings of the model.

        Without an intercept it could not be given other shares of the classes.
        """
        self.fits_shares = self.intercept = bool(self.model.fit_intercept)
        self.verbose = int(self.model.verbose)

    def run(self, state: LikelihoodState) -> None:
        """Improve the weights (in place); Ctrl-C ends it with the last round's.

        Finally the weights are scaled to the temperature, and the intercepts moved to the class
        shares, that fit the held-out labels.
        """
        n_rounds = self._most_rounds()
        if not n_rounds or state.interrupted:
            return
        state.relabelled, state.row_posterior = self.changed, None
        self._state = state
        try:
            self.rounds(n_rounds)
            self._calibrate()
        except KeyboardInterrupt:
            state.interrupted = True
        self._note_matrix()
        state.noise_depends_on_rows = self.depends_on_rows

    def _most_rounds(self) -> int:
        if self.model.relabel != "auto":
            return int(self.model.relabel)
        fewest = FEWEST_LABELS * self.evidence.chances.shape[1]
        return USUAL_ROUNDS if np.count_nonzero(self.evidence.sample_weight) >= fewest else 0

    @property
    def after_first_round(self) -> FloatArray:
        """Out-of-fold log-probabilities; in later rounds the row's own label influences them."""
        found = self.trial or self.current
        assert found is not None
        return found.logs

    def _calibrate(self) -> None:
        if self.initial is None or self.current is None:
            return
        state, current, truths = self._state, self.current, self.evidence.mostly_truths
        power = current.calibration.power
        if truths:
            power = power_matching(
                current.logs, self.initial.posterior, self.evidence.sample_weight
            )
        shift = current.calibration.shift
        state.calibrate(power, np.zeros_like(shift) if truths else shift, self.intercept)
        state.posterior = self.evidence.by_code(current.posterior)
        state.row_posterior = current.posterior

    def _begin(self, folds: list[BoolArray], models: list[FloatArray]) -> None:
        self.splits, self.fold_fits = folds, models

    def _note_matrix(self) -> None:
        if self.current is not None and self.current.evidence.matrix is not None:
            self._state.matrix = self.current.evidence.matrix

    def _target(self, current: OutOfFold) -> PseudoLabels:
        counted = current.evidence.sample_weight > 0
        classes = np.full(len(counted), -1)
        classes[counted] = sure_classes(current.posterior[counted])
        return self._pseudo_labels(
            current.evidence, classes, 0.0 if self.depends_on_rows else AMBIGUOUS
        )

    @staticmethod
    def _pseudo_labels(evidence: Evidence, classes: IntArray, ambiguous: float) -> PseudoLabels:
        sure, codes, matrix = classes >= 0, np.maximum(classes, 0), None
        counts = np.where(sure, 1.0, 0.0)
        if evidence.matrix is not None and ambiguous > 0:
            codes = np.where(sure, len(evidence.matrix) + classes, evidence.codes)
            counts, matrix = np.where(sure, 1.0, ambiguous * evidence.trust), evidence.matrix
        weight = counts * evidence.sample_weight
        factor = float(evidence.weight.sum()) / max(float(weight.sum()), SMALLEST)
        return PseudoLabels(classes, codes, weight, factor, matrix)

    def _fit_labels(self, held: Sequence[BoolArray]) -> list[FloatArray]:
        self._note_matrix()
        return [_finished(self.fit_without(out, self._start(out))).weights for out in held]

    def _start(self, held: BoolArray) -> FloatArray | None:
        """Return weights near those of a fit without some folds, from the fits without one each.

        Each fold changes the weights by about the same amount, whichever other folds are left out
        (the jackknife). To first order the sum of these changes does not depend on the rows left
        out.
        """
        if not self.fold_fits:
            return None
        mean = np.mean(self.fold_fits, axis=0)
        folds = zip(self.fold_fits, self.splits or (), strict=True)
        left_out = [weights for weights, fold in folds if held[fold][0]]
        return np.asarray(mean + sum(weights - mean for weights in left_out))

    def _fit_targets(
        self,
        targets: Sequence[PseudoLabels],
        held: Sequence[BoolArray],
        starts: Sequence[FloatArray],
    ) -> list[FloatArray]:
        return [
            # From its own weights on: those of all rows have seen the rows held out.
            self._fit_target(own, np.where(out, 0.0, own.weight), start).weights
            for own, out, start in zip(targets, held, starts, strict=True)
        ]

    def _fit_target(
        self, target: PseudoLabels, weight: FloatArray, start: FloatArray
    ) -> LikelihoodState:
        n_classes, n_codes = len(start), len(start)
        matrix = np.eye(n_classes)
        if target.matrix is not None:
            matrix, n_codes = target.matrix, 2 * n_classes
        l2 = self.relaxed * target.factor * self.settings.l2
        settings = replace(self.settings, l2=l2)
        engine = self.model._engine(self.X, target.codes, n_codes, weight)
        return _finished(settings.run(engine, LikelihoodState(start.copy(), matrix)))

    def _tune(
        self,
        targets: Sequence[PseudoLabels],
        folds: list[BoolArray],
        models: list[FloatArray],
        current: OutOfFold,
        evidence: Evidence,
    ) -> tuple[list[FloatArray], OutOfFold]:
        """Weaken the penalty while held-out labels become likelier.

        It was chosen for labels many of which are wrong; pseudo-labels are cleaner, and allow a
        more flexible model.
        """
        if self.model.l2 != "auto" or self.depends_on_rows or self._first_rows is None:
            return models, current
        total = float(current.evidence.row_counts.sum())
        while self.relaxed > LEAST_PENALTY:
            self.relaxed *= RELAXED_BY
            weaker = self._fit_targets(targets, folds, models)
            found = self._given_evidence(self._logs(folds, weaker), evidence)
            found = self._count_matrix(found, self._first_rows)
            if total * (found.mean_log_likelihood - current.mean_log_likelihood) <= NO_BETTER:
                self.relaxed /= RELAXED_BY
                break
            models, current = weaker, found
        return models, current

    def _accept(self, target: PseudoLabels) -> None:
        state = self._state
        better = self._fit_target(target, target.weight, state.weights)
        state.weights, state.n_iter = better.weights, state.n_iter + better.n_iter

    def _logs(
        self, folds: Sequence[BoolArray], models: Sequence[FloatArray], *, first: bool = False
    ) -> FloatArray:
        scores = np.zeros(self.evidence.chances.shape)
        for held, weights in zip(folds, models, strict=True):
            scores[held] = scores_on_host(rows_at(self.X, held), weights)
        return np.asarray(log_softmax(scores, axis=1))


def _finished(fitted: LikelihoodState) -> LikelihoodState:
    if fitted.interrupted:
        raise KeyboardInterrupt
    return fitted
