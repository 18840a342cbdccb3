"""Rounds of relabelling, for any learner: predict classes out of fold, then fit to these.

A fit through C loses precision because it does not know which labels are wrong. Once a model
predicts most classes well, the next one can be fitted to pseudo-labels as if they were clean. The
class of a row is predicted by a model of folds without that row, calibrated on the labels, and
combined with the row's own label by Bayes' rule.

There is a leak: a row's label influences the pseudo-labels of its neighbours, and through them the
models that predict the row in later rounds, so that held-out labels look too easy to predict. The
first round is therefore a trial without this leak, in which a fold's model is fitted to
pseudo-labels from models that have not seen that fold either. If held-out labels are less likely
after the trial than before, no round is made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Generic, Protocol, TypeVar

import numpy as np

from unconfused._matrix import loses_a_class
from unconfused._matrix_labels import differs_from
from unconfused._typing import BoolArray, FloatArray, IntArray
from unconfused.confusion.cross_validated import stratified_folds
from unconfused.confusion.estimation.balance import balance_until_sure, class_shares
from unconfused.confusion.estimation.calibration import (
    Calibration,
    calibrate,
    log_chances,
    only_power,
)
from unconfused.estimators.relabel.evidence import SMALLEST, Evidence, OutOfFold, power_matching
from unconfused.solvers.progress import Progress
from unconfused.solvers.refine_confusion import SETTLED

FOLDS = 5

SURE = 0.8
"""A row whose likeliest class has at least this probability is fitted with that class."""

COUNTS = 5
"""Maximum number of recounts of C from out-of-fold posteriors; each makes the next one better. The
C of the likelihood comes from the rows its weights were fitted to, and has too few mistakes."""

FIRST_DOUBT = 0.6
"""Share of the rows left out of the first round where mistakes depend on the rows, the least
certain ones; its square is left out of the second round, and so on."""


class HasClasses(Protocol):
    """Pseudo-labels of a round, in whatever form a learner takes them."""

    @property
    def classes(self) -> IntArray:
        """The pseudo-label of each row, -1 for none."""


Model = TypeVar("Model")
Target = TypeVar("Target", bound=HasClasses)


@dataclass(kw_only=True)
class Rounds(ABC, Generic[Model, Target]):
    """Rounds of relabelling; subclasses say how to fit.

    `Model` is whatever predicts held-out rows after a fit; `Target` is the pseudo-labels of a
    round.

    Parameters
    ----------
    evidence : labels or votes, and known truths, of the rows
    prior_counts : (Q, Q) prior counts of C while it is re-estimated; None if C is fixed
    given_matrix : C as it was passed, to test whether mistakes depend on more than the class; None
        for no such test
    fits_shares : whether class shares are calibrated as well as the temperature
    n_folds, seed : number of folds, and their seed
    splits : the rows each fold holds out, if folds are given; None to deal rows by chance
    verbose : how often to report progress
    """

    evidence: Evidence
    prior_counts: FloatArray | None = None
    given_matrix: FloatArray | None = None
    fits_shares: bool = True
    n_folds: int = FOLDS
    seed: int = 0
    splits: list[BoolArray] | None = None
    verbose: int = 0

    depends_on_rows: bool = field(default=False, init=False)
    """Whether mistakes depend on more than the class, so that C is met on average only."""

    initial: OutOfFold | None = field(default=None, init=False)
    """Predictions before any round."""

    trial: OutOfFold | None = field(default=None, init=False)
    """Predictions after the first round, if that was a trial."""

    current: OutOfFold | None = field(default=None, init=False)
    """Predictions after the last round that was accepted."""

    changed: list[float] = field(default_factory=list, init=False)
    """Share of the rows whose pseudo-label changed, for every accepted round."""

    last: Target | None = field(default=None, init=False)
    """Pseudo-labels of the last accepted round."""

    _first_rows: FloatArray | None = field(default=None, init=False)
    _n_balanced: int = field(default=0, init=False)
    _kept: Calibration | None = field(default=None, init=False)
    """Calibration of the trial. In later rounds labels look too easy to predict, so that these
    would make probabilities too certain."""

    settled: ClassVar[float] = 1e-3
    """Rounds end when at most this share of the pseudo-labels changes."""

    fits_single_rows: ClassVar[bool] = False
    """Whether a model can fit single rows, as a tree can, so that labels leak into later rounds:
    each uses other folds, so that other rows are affected, and all the calibration of the trial.
    Probabilities may then be 0, so that calibrations need a floor."""

    takes_trial: ClassVar[bool] = False
    """Whether the first round is always accepted, as models before and after it are averaged."""

    @abstractmethod
    def _fit_labels(self, held: Sequence[BoolArray]) -> list[Model]:
        """Fit to the labels, once for each set of rows held out."""

    @abstractmethod
    def _target(self, current: OutOfFold) -> Target:
        """Return the pseudo-labels of a round."""

    @abstractmethod
    def _fit_targets(
        self, targets: Sequence[Target], held: Sequence[BoolArray], starts: Sequence[Model]
    ) -> list[Model]:
        """Fit to each target without its held-out rows; `starts` are the folds' previous models."""

    @abstractmethod
    def _logs(
        self, folds: Sequence[BoolArray], models: Sequence[Model], *, first: bool = False
    ) -> FloatArray:
        """Return log-probabilities of the classes, (n, Q), of each fold's rows by its model.

        `first` says that the models were fitted to labels.
        """

    @abstractmethod
    def _begin(self, folds: list[BoolArray], models: list[Model]) -> None:
        """Take note of the models before any round."""

    def _accept(self, target: Target) -> None:
        """Accept a round; a final fit may follow later."""

    def _tune(
        self,
        targets: Sequence[Target],
        folds: list[BoolArray],
        models: list[Model],
        current: OutOfFold,
        evidence: Evidence,
    ) -> tuple[list[Model], OutOfFold]:
        """Change settings of the fits to targets, if that makes held-out labels likelier."""
        return models, current

    def rounds(self, n_rounds: int) -> None:
        """Make at most `n_rounds` rounds, and stop before held-out labels become less likely."""
        folds = self._folds()
        if len(folds) < 2:
            return
        models = self._fit_labels(folds)
        self._begin(folds, models)
        current = self._evaluate(self._logs(folds, models, first=True), self.evidence)
        self.initial = self.current = current
        progress = Progress(self.verbose, "Relabelling: round")
        classes = np.full(len(current.posterior), -1)
        for number in range(n_rounds):
            target, before = self._target(current), classes
            classes = target.classes
            if not self._has_all_classes(classes):
                break  # a class without rows could never come back
            on_trial = number == 0 and len(folds) > 2 and not self.depends_on_rows
            if number and self.fits_single_rows:
                folds = self._folds(number)
            targets = self._trial_targets(folds) if on_trial else [target] * len(folds)
            models = self._fit_targets(targets, folds, models)
            evidence = current.evidence
            current = self._evaluate(self._logs(folds, models), evidence)
            if on_trial:
                models, current = self._tune(targets, folds, models, current, evidence)
            self.trial = current if on_trial else self.trial
            asked = not (on_trial and self.takes_trial)
            if asked and current.is_less_likely_than(self.initial):
                break  # the model is too simple to teach itself
            rows = current.evidence.noisy_rows_by_class(current.posterior)
            if self._first_rows is not None and loses_a_class(self._first_rows, rows):
                break
            if on_trial:
                self._kept = current.calibration
            self._accept(target)
            self.current, self.last = current, target
            weight = self.evidence.sample_weight
            self.changed.append(float(np.average(classes != before, weights=weight)))
            progress(number + 1, n_rounds, f"{self.changed[-1]:.2%} of the rows relabelled")
            if self.changed[-1] <= self.settled:
                break
        progress.finish(len(self.changed), n_rounds, "done")

    def _folds(self, number: int = 0) -> list[BoolArray]:
        """Return the rows held out by each fold; none where a class is too small to be split."""
        if self.splits is not None:
            return self.splits
        codes = self.evidence.codes
        n_folds = min(self.n_folds, int(np.bincount(codes).max()))
        if n_folds < 2:
            return []
        rows = np.arange(len(codes))
        splits = stratified_folds(codes, n_folds, self.seed + number)
        return [np.isin(rows, test) for _, test in splits]

    def _has_all_classes(self, classes: IntArray) -> bool:
        used = classes[(classes >= 0) & (self.evidence.sample_weight > 0)]
        return bool(len(np.unique(used)) == self.evidence.chances.shape[1])

    def _evaluate(self, logs: FloatArray, evidence: Evidence) -> OutOfFold:
        """Calibrate out-of-fold log-probabilities, and count C from the posteriors."""
        current = self._given_evidence(logs, evidence)
        if not self.depends_on_rows and self._mistakes_depend_on_rows(current):
            self.depends_on_rows, self.prior_counts = True, None
        if self.depends_on_rows:
            assert self.given_matrix is not None
            return self._balance(self._given_evidence(logs, evidence.through(self.given_matrix)))
        if self._first_rows is None:
            self._first_rows = evidence.noisy_rows_by_class(current.posterior)
        return self._count_matrix(current, self._first_rows)

    def _count_matrix(self, current: OutOfFold, first_rows: FloatArray) -> OutOfFold:
        """Count C from the posteriors, if it is not fixed, and compute these through it again."""
        if self.prior_counts is None:
            return current
        evidence = current.evidence
        for _ in range(COUNTS):
            matrix = evidence.count(current.posterior, self.prior_counts)
            counted = self._given_evidence(
                current.logs, evidence.through(matrix), current.calibration
            )
            if loses_a_class(first_rows, evidence.noisy_rows_by_class(counted.posterior)):
                break
            last, current = current.evidence.matrix, counted
            if last is not None and np.abs(matrix - last).max() <= SETTLED:
                break
        return current

    def _trial_targets(self, folds: list[BoolArray]) -> list[Target]:
        """Return a target for every fold, from models that have not seen its labels."""
        pairs = [(k, m) for m in range(len(folds)) for k in range(m)]
        models = dict(
            zip(pairs, self._fit_labels([folds[k] | folds[m] for k, m in pairs]), strict=True)
        )
        targets = []
        for k, held in enumerate(folds):
            others = [m for m in range(len(folds)) if m != k]
            own = [models[min(k, m), max(k, m)] for m in others]
            logs = self._logs([folds[m] for m in others], own, first=True)
            evidence = self.evidence.without(held)
            current = self._given_evidence(logs, evidence)
            current = self._count_matrix(current, evidence.noisy_rows_by_class(current.posterior))
            targets.append(self._target(current))
        return targets

    def _mistakes_depend_on_rows(self, current: OutOfFold) -> bool:
        """Whether the joint counts of class and label differ from C by more than chance."""
        evidence = current.evidence
        noisy = evidence.labelled
        if self.given_matrix is None or not noisy.any() or (evidence.trust[noisy] < 1.0).any():
            return False
        rows = np.where(noisy, evidence.sample_weight, 0.0)
        scale = np.count_nonzero(rows) / max(float(rows.sum()), SMALLEST)
        counts = evidence.by_code(noisy[:, np.newaxis] * current.posterior)[
            : len(self.given_matrix)
        ]
        behind = None if self.prior_counts is None else self.prior_counts.sum(axis=1)
        return differs_from(scale * counts.T, self.given_matrix, behind)

    def _balance(self, current: OutOfFold) -> OutOfFold:
        """Match C in the number of rows of each class and label, not in each row's posterior."""
        evidence, noisy = current.evidence, current.evidence.labelled
        assert evidence.matrix is not None
        n_classes = len(evidence.matrix)
        codes, weight = evidence.codes[noisy], evidence.sample_weight[noisy]
        labels = np.bincount(codes, weight, minlength=n_classes).astype(np.float64)
        joint = class_shares(evidence.matrix, labels)[:, np.newaxis] * evidence.matrix
        self._n_balanced += 1
        share = 1.0 - FIRST_DOUBT**self._n_balanced
        posterior = current.posterior.copy()
        posterior[noisy] = balance_until_sure(
            current.logs[noisy], codes, joint, weight, SURE, share
        )
        # What labels say of the probabilities would lead back to the mistakes.
        power = power_matching(current.logs, posterior, evidence.sample_weight)
        fair = Calibration(power, np.zeros(n_classes))
        log_likelihood = np.zeros(len(evidence.codes))
        return replace(
            current, calibration=fair, log_likelihood=log_likelihood, posterior=posterior
        )

    def _given_evidence(
        self, logs: FloatArray, evidence: Evidence, start: Calibration | None = None
    ) -> OutOfFold:
        """Calibrate log-probabilities, and combine them with the evidence."""
        kept, chances, counts = self._kept, evidence.chances, evidence.row_counts
        if kept is not None and (self.fits_single_rows or not self.fits_shares):
            calibration = kept
        elif self.fits_shares:
            power = None if kept is None else kept.power
            calibration = calibrate(logs, chances, counts, self.fits_single_rows, start, power)
        else:
            calibration = only_power(logs, chances, counts)
        probability = calibration.apply(logs)
        log_likelihood = log_chances(probability, chances) + evidence.log_scale
        return OutOfFold(
            evidence, calibration, log_likelihood, evidence.posterior(probability), logs
        )


def sure_classes(posterior: FloatArray) -> IntArray:
    """Return each row's likeliest class, or -1 where that is in doubt."""
    likeliest = posterior.argmax(axis=1)
    sure = posterior.max(axis=1) >= SURE
    # A class nobody is sure of would vanish: its likeliest rows are better than none.
    bare = np.bincount(likeliest[sure], minlength=posterior.shape[1]) == 0
    return np.where(sure | bare[likeliest], likeliest, -1)
