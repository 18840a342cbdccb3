"""Rounds of relabelling around the likelihood: sure rows by their class, others by their label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import log_softmax

from unconfused._typing import BoolArray, FloatArray, IntArray, Rows
from unconfused.estimators._arrays import rows_at, to_numpy
from unconfused.estimators.relabel.evidence import (
    NO_BETTER,
    SMALLEST,
    Evidence,
    OutOfFold,
    power_matching,
)
from unconfused.estimators.relabel.rounds import Rounds, sure_classes
from unconfused.solvers.likelihood import LikelihoodState

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

FitPseudoLabels = Callable[["PseudoLabels", FloatArray, float, FloatArray], LikelihoodState]
"""Fit to a target, given row weights and a factor on the penalty, from weights on."""


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
    fit_without, fit_pseudo_labels : fits to the labels, and to what a round makes of them
    intercept : whether the last weight of a class is its intercept
    may_relax : whether rounds may use a weaker penalty than the fit to the labels
    fold_fits : weights to start at, fitted to the labels without the rows of each fold
    """

    X: Rows
    fit_without: FitWithout
    fit_pseudo_labels: FitPseudoLabels
    intercept: bool
    may_relax: bool = False
    fold_fits: Sequence[FloatArray] = ()
    relaxed: float = field(default=1.0, init=False)
    """What the penalty is multiplied by in rounds."""

    _state: LikelihoodState = field(init=False)
    _held: Sequence[BoolArray] = field(default=(), init=False)

    def __post_init__(self) -> None:
        """Without an intercept the model could not be given other shares of the classes."""
        self.fits_shares = self.intercept

    def run(self, state: LikelihoodState, n_rounds: int) -> None:
        """Improve the weights (in place); Ctrl-C ends it with the last round's.

        Finally the weights are scaled to the temperature, and the intercepts moved to the class
        shares, that fit the held-out labels.
        """
        state.relabelled, state.row_posterior = self.changed, None
        self._state = state
        try:
            self.rounds(n_rounds)
            self._calibrate()
        except KeyboardInterrupt:
            state.interrupted = True
        state.noise_depends_on_rows = self.depends_on_rows

    @property
    def out_of_fold(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Out-of-fold log-probabilities: before any round, after the first, and after the last.

        From the second round on they are influenced by the row's own label.
        """
        assert self.initial is not None and self.current is not None
        return self.initial.logs, (self.trial or self.current).logs, self.current.logs

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

    def _begin(self, folds: list[BoolArray], current: OutOfFold) -> None:
        self._note_matrix(current)

    def _note_matrix(self, current: OutOfFold) -> None:
        if current.evidence.matrix is not None:
            self._state.matrix = current.evidence.matrix

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
        factor = evidence.total / max(float(weight.sum()), SMALLEST)
        return PseudoLabels(classes, codes, weight, factor, matrix)

    def _classes(self, target: PseudoLabels) -> IntArray:
        return target.classes

    def _fit_labels(self, held: Sequence[BoolArray]) -> list[FloatArray]:
        fits = [_finished(self.fit_without(out, self._start(out))).weights for out in held]
        if not self._held:  # the folds come first, then pairs of them
            self._held, self.fold_fits = held, fits
        return fits

    def _start(self, held: BoolArray) -> FloatArray | None:
        """Return weights near those of a fit without some folds, from the fits without one each.

        Every fold moves the weights by about as much, whichever others are left out (the
        jackknife). Nothing of the rows left out remains in the sum of these moves, to first order.
        """
        if not self.fold_fits:
            return None
        mean = np.mean(self.fold_fits, axis=0)
        folds = zip(self.fold_fits, self._held or self.splits or (), strict=True)
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
        factor = self.relaxed * target.factor
        return _finished(self.fit_pseudo_labels(target, weight, factor, start))

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
        if not self.may_relax or self.depends_on_rows or self._first_rows is None:
            return models, current
        weight = current.evidence.sample_weight  # of any scale
        total = float(current.weight.sum()) * np.count_nonzero(weight) / float(weight.sum())
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

    def _accept(self, target: PseudoLabels, current: OutOfFold) -> None:
        state = self._state
        better = self._fit_target(target, target.weight, state.weights)
        state.weights, state.n_iter = better.weights, state.n_iter + better.n_iter
        self._note_matrix(current)

    def _logs(
        self, folds: Sequence[BoolArray], models: Sequence[FloatArray], *, first: bool = False
    ) -> FloatArray:
        n_columns = self.X.shape[1]
        scores = np.zeros(self.evidence.chances.shape)
        for held, weights in zip(folds, models, strict=True):
            scores[held] = to_numpy(rows_at(self.X, held)) @ weights[:, :n_columns].T
            scores[held] += weights[:, n_columns] if self.intercept else 0.0
        return np.asarray(log_softmax(scores, axis=1))


def _finished(fitted: LikelihoodState) -> LikelihoodState:
    if fitted.interrupted:
        raise KeyboardInterrupt
    return fitted
