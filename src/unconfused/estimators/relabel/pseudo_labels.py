"""Labels mended in rounds: ask models that have not seen a row what it is, then fit to that.

The likelihood spends rows on not knowing which labels are wrong. Once a model is good, it knows of
most rows: they can be fitted as if they were clean, and the next model is better still. What a row
is, is judged by models of folds that the row was left out of, made as sure as the labels warrant
and classes as frequent, with its own label brought in by Bayes' rule; of rows that stay in doubt
the next fit sees the label again, which then counts less.

A row's label has a say in what other rows are taken for, and would be guessed too well by a model
taught by these. So whether rounds do harm is told by a first round that is taught without it: other
rows are judged by models that have left out both. If that explains less than no round did, the
labels are better seen through C.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import repeat

import numpy as np
from scipy.special import log_softmax
from sklearn.model_selection import StratifiedKFold

from unconfused._matrix import loses_a_class
from unconfused._typing import BoolArray, FloatArray, IntArray, Rows
from unconfused.confusion.estimation.balance import balance_until_sure, class_shares, differs_from
from unconfused.confusion.estimation.calibration import Calibration, calibrate, only_power
from unconfused.estimators._array_input import rows_at, to_numpy
from unconfused.estimators.relabel.evidence import Evidence
from unconfused.estimators.relabel.out_of_fold import Judged, log_chances, power_matching
from unconfused.estimators.relabel.weighted_mean import mean_and_error
from unconfused.solvers.likelihood import LikelihoodState
from unconfused.solvers.progress import Progress

FOLDS = 5

SURE = 0.8
"""A row whose likeliest class has at least this probability is fitted with that class."""

DOUBTFUL_AT_LEAST, DOUBT_BY_LOSS = 0.3, 7.0
"""What the labels of all other rows count, at least, and how fast it falls to that from 1: times
the part of what a fit can say of the labels that it cannot say of labels held out."""

SETTLED = 1e-3
"""Rounds end when no larger share of the rows is fitted with another class than before."""

CLEARLY = 2.0
"""Beside known truths the first round is taken back if it explains less by so many standard errors:
rounds help more often than not there, and a few truths can tell little of it."""

COUNTS = 5
"""How often C is counted again after models have judged the rows: each count makes the next one
better. The likelihood's own C comes from rows its weights were fitted to, and is too kind."""

SMALLEST = 1e-12

NOT_MADE = (
    "No round of relabelling was made: a first one would have done harm, or there was nothing to "
    "mend."
)
"""What to tell a user who asked for rounds."""

FIRST_DOUBT = 0.6
"""Where mistakes depend on the rows, all but this share of the rows is learnt from in the first
round, all but its square in the second, and so on: the surest come first."""

FitWithout = Callable[[BoolArray], LikelihoodState]
"""Fit to the labels without the rows held out."""

FitPseudoLabels = Callable[["PseudoLabels", FloatArray, float, FloatArray], LikelihoodState]
"""Fit to a target, given row weights and a factor on the penalty, from weights on."""


@dataclass(frozen=True)
class PseudoLabels:
    """What a round learns from: classes of rows, and of rows in doubt perhaps still their labels.

    Parameters
    ----------
    codes : (n,), classes; or, with a matrix, labels, and Q + class where that is sure
    weight : (n,), what each row counts
    matrix : the confusion matrix that labels are seen through, if any are learnt from
    """

    codes: IntArray
    weight: FloatArray
    matrix: FloatArray | None = None


@dataclass
class Relabelling:
    """Rows, what was seen on them, and how to fit.

    Parameters
    ----------
    X : rows
    seen : what was seen on them
    fit_without, fit_pseudo_labels : fits to the labels, and to what a round makes of them
    prior_counts : (Q, Q) counts that C is held to while it is found; None to hold C fixed
    intercept : whether the last weight of a class is its intercept
    seed : of the folds
    verbose : how often to report progress
    given : C as it was passed, before any refining; None if it was guessed, or counted here
    """

    X: Rows
    seen: Evidence
    fit_without: FitWithout
    fit_pseudo_labels: FitPseudoLabels
    prior_counts: FloatArray | None
    intercept: bool
    seed: int
    verbose: int = 0
    given: FloatArray | None = None
    balanced: bool = field(default=False, init=False)
    """Whether mistakes were found to depend on the rows, so that C is held to by counts alone."""

    out_of_fold: tuple[FloatArray, FloatArray] | None = field(default=None, init=False)
    """What models that have not seen a row say of it, (n, Q), as logs: before the rounds, and in
    the end."""

    _first_rows: FloatArray | None = field(default=None, init=False)
    _n_balanced: int = field(default=0, init=False)

    def run(self, state: LikelihoodState, n_rounds: int) -> None:
        """Improve the weights (in place); Ctrl-C ends it with the last round's.

        In the end they are scaled so that their probabilities are as sure as the labels warrant,
        and the intercepts moved so that the classes are as frequent.
        """
        state.relabelled, state.row_posterior = [], None
        try:
            self._run(state, n_rounds)
        except KeyboardInterrupt:
            state.interrupted = True
        state.noise_depends_on_rows = self.balanced

    def _run(self, state: LikelihoodState, n_rounds: int) -> None:
        folds, weight = list(self._folds()), self.seen.sample_weight
        if len(folds) < 2:
            return
        found = [_weights(self.fit_without(held)) for held in folds]
        judged = at_first = self._judge(folds, found, self.seen)
        first = judged.posterior
        doubtful = self._weight_of_doubtful(judged, folds, state.weights)
        self._note_matrix(state, judged)
        progress = Progress(self.verbose, "Relabelling: round")
        classes = np.full(len(weight), -1)
        for _ in range(n_rounds):
            before, classes = classes, _sure_classes(judged.posterior)
            if not _all_there(classes, np.where(classes >= 0, weight, 0.0), first.shape[1]):
                break
            before_it = judged
            on_trial = not state.relabelled and self._can_try_round(folds)
            target = self._pseudo_labels(judged.seen, classes, 0.0 if self.balanced else doubtful)
            # The penalty is a belief about the weights: more rows to learn from do not change it.
            factor = self.seen.total / float(target.weight.sum())
            targets = self._trial_round(folds, doubtful) if on_trial else repeat((target, factor))
            found = [
                # From its own weights on: those of all rows have seen the rows held out.
                _weights(
                    self.fit_pseudo_labels(own, np.where(held, 0.0, own.weight), strength, start)
                )
                for (own, strength), held, start in zip(targets, folds, found, strict=False)
            ]
            judged = self._judge(folds, found, judged.seen)
            clearly = CLEARLY if on_trial and self.seen.known.any() else 0.0
            if judged.explains_less_than(at_first, clearly):
                judged = before_it  # the model is too simple to teach itself
                break
            better = self.fit_pseudo_labels(target, target.weight, factor, state.weights)
            state.weights, state.n_iter = _weights(better), state.n_iter + better.n_iter
            self._note_matrix(state, judged)
            state.relabelled.append(float(np.average(classes != before, weights=weight)))
            changed = f"{state.relabelled[-1]:.2%} of the rows fitted anew"
            progress(len(state.relabelled), n_rounds, changed)
            if state.relabelled[-1] <= SETTLED:
                break
        progress.finish(len(state.relabelled), n_rounds, "done")
        self.out_of_fold = at_first.logs, judged.logs
        truths = self.seen.mostly_truths
        fair = judged.calibration
        power = power_matching(judged.logs, first, weight) if truths else fair.power
        state.weights = power * state.weights
        if self.intercept and not truths:
            state.weights[:, -1] += fair.shift
        state.posterior = self.seen.by_code(judged.posterior)
        state.row_posterior = judged.posterior

    def _weight_of_doubtful(
        self, judged: Judged, folds: list[BoolArray], weights: FloatArray
    ) -> float:
        """Return what the label of a row in doubt counts, beside the class of one that is sure.

        Labels of doubtful rows tell where classes meet; a model that learns rows by heart makes
        nothing of that but its own mistakes. It shows in how much less it can say of labels it has
        not seen than of those it has.
        """
        seen = judged.seen
        if seen.matrix is None or self.balanced:
            return 0.0
        counted = seen.trust * seen.sample_weight
        logs = self._logs(folds, [weights] * len(folds))
        shares = counted @ judged.posterior / max(float(counted.sum()), SMALLEST)
        nothing, _ = mean_and_error(log_chances(shares[np.newaxis], seen.evidence), counted)
        own = mean_and_error(log_chances(np.exp(logs), seen.evidence), counted)[0] - nothing
        if own <= 0:
            return DOUBTFUL_AT_LEAST
        lost = 1.0 - (judged.likelihood - nothing) / own
        return float(np.clip(1.0 - DOUBT_BY_LOSS * lost, DOUBTFUL_AT_LEAST, 1.0))

    @staticmethod
    def _pseudo_labels(seen: Evidence, classes: IntArray, doubtful: float) -> PseudoLabels:
        sure = classes >= 0
        if seen.matrix is None or doubtful == 0:
            return PseudoLabels(np.maximum(classes, 0), np.where(sure, seen.sample_weight, 0.0))
        codes = np.where(sure, len(seen.matrix) + classes, seen.codes)
        counts = np.where(sure, 1.0, doubtful * seen.trust)
        return PseudoLabels(codes, counts * seen.sample_weight, seen.matrix)

    @staticmethod
    def _note_matrix(state: LikelihoodState, judged: Judged) -> None:
        if judged.seen.matrix is not None:
            state.matrix = judged.seen.matrix

    def _folds(self) -> Iterator[BoolArray]:
        codes = self.seen.codes
        n_folds = min(FOLDS, int(np.bincount(codes).max()))
        if n_folds < 2:
            return
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=self.seed)
        with warnings.catch_warnings():
            # A label that cannot fill every fold is no harm here.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            parts = [test for _, test in splitter.split(np.zeros(len(codes)), codes)]
        for part in parts:
            held = np.zeros(len(codes), dtype=bool)
            held[part] = True
            yield held

    def _judge(self, folds: list[BoolArray], found: list[FloatArray], seen: Evidence) -> Judged:
        """Ask the models of the folds about the rows they have not seen; count C by that."""
        logs = self._logs(folds, found)
        judged = self._with_what_was_seen(logs, seen)
        if not self.balanced and self._depends_on_rows(judged):
            self.balanced, self.prior_counts = True, None
        if self.balanced:
            assert self.given is not None
            return self._balance(self._with_what_was_seen(logs, seen.through(self.given)))
        if self._first_rows is None:
            self._first_rows = seen.noisy_rows_by_class(judged.posterior)
        return self._count_matrix(judged, self._first_rows)

    def _count_matrix(self, judged: Judged, first_rows: FloatArray) -> Judged:
        """Count C by what rows were judged to be, if it is to be found, and judge them again."""
        if self.prior_counts is None:
            return judged
        seen = judged.seen
        for _ in range(COUNTS):
            matrix = seen.count(judged.posterior, self.prior_counts)
            counted = self._with_what_was_seen(judged.logs, seen.through(matrix))
            if loses_a_class(first_rows, seen.noisy_rows_by_class(counted.posterior)):
                break
            judged = counted
        return judged

    def _can_try_round(self, folds: list[BoolArray]) -> bool:
        """Whether labels are a guide, and rows are left without any two of the folds."""
        return len(folds) > 2 and not self.balanced

    def _trial_round(
        self, folds: list[BoolArray], doubtful: float
    ) -> Iterator[tuple[PseudoLabels, float]]:
        """Yield for every fold the target of a world in which its labels were never seen.

        With it comes the factor on the penalty.
        """
        models: dict[frozenset[int], FloatArray] = {}
        for k, held in enumerate(folds):
            others = [m for m in range(len(folds)) if m != k]
            for m in others:
                both = frozenset((k, m))
                if both not in models:
                    models[both] = _weights(self.fit_without(held | folds[m]))
            logs = self._logs(
                [folds[m] for m in others], [models[frozenset((k, m))] for m in others]
            )
            seen = self.seen.without(held)
            judged = self._with_what_was_seen(logs, seen)
            judged = self._count_matrix(judged, seen.noisy_rows_by_class(judged.posterior))
            classes = np.full(len(held), -1)
            classes[~held] = _sure_classes(judged.posterior[~held])
            target = self._pseudo_labels(judged.seen, classes, doubtful)
            yield target, seen.total / max(float(target.weight.sum()), SMALLEST)

    def _logs(self, folds: list[BoolArray], found: list[FloatArray]) -> FloatArray:
        """Return logarithms of the classes' probabilities, each fold's by weights of its own."""
        n_columns = self.X.shape[1]
        scores = np.zeros(self.seen.evidence.shape)
        for held, weights in zip(folds, found, strict=True):
            scores[held] = to_numpy(rows_at(self.X, held)) @ weights[:, :n_columns].T
            scores[held] += weights[:, n_columns] if self.intercept else 0.0
        return np.asarray(log_softmax(scores, axis=1))

    def _depends_on_rows(self, judged: Judged) -> bool:
        """Whether classes and labels go together otherwise than C says, beyond chance."""
        seen = judged.seen
        noisy = ~seen.known
        if self.given is None or not noisy.any() or (seen.trust[noisy] < 1.0).any():
            return False
        rows = np.where(noisy, seen.sample_weight, 0.0)
        scale = np.count_nonzero(rows) / max(float(rows.sum()), SMALLEST)
        counts = seen.by_code(noisy[:, np.newaxis] * judged.posterior)[: len(self.given)]
        behind = None if self.prior_counts is None else self.prior_counts.sum(axis=1)
        return differs_from(scale * counts.T, self.given, behind)

    def _balance(self, judged: Judged) -> Judged:
        """Hold to C by how many rows of a label are of each class, not by each row's chances."""
        seen, noisy = judged.seen, ~judged.seen.known
        assert seen.matrix is not None
        n_classes = len(seen.matrix)
        codes, weight = seen.codes[noisy], seen.sample_weight[noisy]
        labels = np.bincount(codes, weight, minlength=n_classes).astype(np.float64)
        joint = class_shares(seen.matrix, labels)[:, np.newaxis] * seen.matrix
        self._n_balanced += 1
        share = 1.0 - FIRST_DOUBT**self._n_balanced
        posterior = judged.posterior.copy()
        posterior[noisy] = balance_until_sure(judged.logs[noisy], codes, joint, weight, SURE, share)
        # What labels say of the probabilities would lead back to the mistakes.
        power = power_matching(judged.logs, posterior, seen.sample_weight)
        fair = Calibration(power, np.zeros(n_classes))
        explained = np.zeros(len(seen.codes))
        return replace(judged, calibration=fair, explained=explained, posterior=posterior)

    def _with_what_was_seen(self, logs: FloatArray, seen: Evidence) -> Judged:
        counted = seen.trust * seen.sample_weight
        # Without an intercept the model could not be given other shares of the classes.
        find = calibrate if self.intercept else only_power
        # Weights of any scale mean the same: as many rows as there are that count at all.
        n_rows = np.count_nonzero(seen.sample_weight)
        scale = n_rows / max(float(seen.sample_weight.sum()), SMALLEST)
        calibration = find(logs, seen.evidence, scale * counted)
        probability = calibration.apply(logs)
        explained = log_chances(probability, seen.evidence)
        return Judged(seen, calibration, explained, seen.posterior(probability), logs)


def _weights(fitted: LikelihoodState) -> FloatArray:
    if fitted.interrupted:
        raise KeyboardInterrupt
    return fitted.weights


def _sure_classes(posterior: FloatArray) -> IntArray:
    """Return each row's likeliest class, or -1 where that is in doubt."""
    likeliest = posterior.argmax(axis=1)
    sure = posterior.max(axis=1) >= SURE
    # A class nobody is sure of would vanish: its likeliest rows are better than none.
    bare = np.bincount(likeliest[sure], minlength=posterior.shape[1]) == 0
    return np.where(sure | bare[likeliest], likeliest, -1)


def _all_there(classes: IntArray, weight: FloatArray, n_classes: int) -> bool:
    """Whether every class has rows that count; without one, it could never come back."""
    counted = classes[weight > 0]
    return bool(np.all(np.bincount(counted, minlength=n_classes) > 0))
