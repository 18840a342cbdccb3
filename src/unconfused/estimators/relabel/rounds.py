"""Rounds of relabelling, whatever the learner: judge rows out of fold, then fit to that.

The likelihood spends rows on not knowing which labels are wrong. Once a model is good, it knows
most classes: rows can be fitted as if they were clean, and the next model is better still. Each
row is judged by models of folds that left it out, calibrated on the labels, with its own label
brought in by Bayes' rule.

From the first round on, a row's label has a say in what its neighbours are taken for, and so in
what models taught by these say of the row itself: held-out labels look too easy to predict. The
first round is therefore a trial without that leak: the rows that teach a fold's model are judged
by models that have left out that fold, too. If held-out labels become less likely in the trial
than they were without any round, no round is made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Generic, TypeVar

import numpy as np

from unconfused._matrix import loses_a_class
from unconfused._typing import BoolArray, FloatArray, IntArray
from unconfused.confusion.cross_validated import stratified_folds
from unconfused.confusion.estimation.balance import balance_until_sure, class_shares, differs_from
from unconfused.confusion.estimation.calibration import Calibration, calibrate, only_power
from unconfused.confusion.estimation.sharpness import log_chances
from unconfused.estimators.relabel.evidence import SMALLEST, Evidence
from unconfused.estimators.relabel.out_of_fold import Judged, power_matching
from unconfused.solvers.progress import Progress
from unconfused.solvers.refine_confusion import SETTLED

FOLDS = 5

SURE = 0.8
"""A row whose likeliest class has at least this probability is fitted with that class."""

COUNTS = 5
"""How often C is counted again after models have judged the rows, unless it has settled before:
each count makes the next one better. The likelihood's own C comes from rows its weights were fitted
to, and is too kind."""

FIRST_DOUBT = 0.6
"""Where mistakes depend on the rows, all but this share of the rows is learnt from in the first
round, all but its square in the second, and so on: the surest come first."""

Model = TypeVar("Model")
Target = TypeVar("Target")


@dataclass(kw_only=True)
class Rounds(ABC, Generic[Model, Target]):
    """Rounds of relabelling; subclasses say how to fit.

    `Model` is what a fit leaves behind to judge the rows it was not shown, `Target` what a round
    teaches: classes of rows, in whatever form the learner takes them.

    Parameters
    ----------
    seen : what was seen on the rows
    prior_counts : (Q, Q) counts that C is held to while it is found; None to hold C fixed
    given : C as it was passed, to find out whether mistakes depend on the rows; None not to ask
    moves_shares : whether the classes' shares are calibrated, or only how sure a model is
    n_folds, seed : number of folds, and their seed
    splits : the rows each fold holds out, if folds are given; None to deal rows by chance
    verbose : how often to report progress
    """

    seen: Evidence
    prior_counts: FloatArray | None = None
    given: FloatArray | None = None
    moves_shares: bool = True
    n_folds: int = FOLDS
    seed: int = 0
    splits: list[BoolArray] | None = None
    verbose: int = 0

    balanced: bool = field(default=False, init=False)
    """Whether mistakes were found to depend on the rows, so that C is held to by counts alone."""

    at_first: Judged | None = field(default=None, init=False)
    """What models of the folds say before any round."""

    trial: Judged | None = field(default=None, init=False)
    """What they say after the first round, if that was a trial."""

    judged: Judged | None = field(default=None, init=False)
    """What they say after the last round that was accepted."""

    changed: list[float] = field(default_factory=list, init=False)
    """The share of the rows taught with another class than before, of every round accepted."""

    _first_rows: FloatArray | None = field(default=None, init=False)
    _n_balanced: int = field(default=0, init=False)

    settled: ClassVar[float] = 1e-3
    """Rounds end when no larger share of the rows is taught with another class than before."""

    reshuffles: ClassVar[bool] = False
    """Whether rounds after the first use other folds: a leak then hits other rows each time."""

    keeps_calibration: ClassVar[bool] = False
    """Whether the trial's calibration holds for all rounds: later ones would be calibrated on
    labels that have leaked, which matters to learners that fit single rows."""

    zeros: ClassVar[bool] = False
    """Whether probabilities can be 0, so that calibrations need a floor."""

    takes_trial: ClassVar[bool] = False
    """Whether the first round is taken in any case, as models before and after it are averaged."""

    @abstractmethod
    def _fit_labels(self, held: Sequence[BoolArray]) -> list[Model]:
        """Fit to what was seen, once for each set of rows held out."""

    @abstractmethod
    def _target(self, judged: Judged) -> Target:
        """Return what a round teaches."""

    @abstractmethod
    def _classes(self, target: Target) -> IntArray:
        """Return the class each row is taught with, -1 for none."""

    @abstractmethod
    def _fit_targets(
        self, targets: Sequence[Target], held: Sequence[BoolArray], starts: Sequence[Model]
    ) -> list[Model]:
        """Fit to targets, each without its held-out rows, from earlier models on if that helps."""

    @abstractmethod
    def _logs(
        self, folds: Sequence[BoolArray], models: Sequence[Model], *, first: bool = False
    ) -> FloatArray:
        """Return logarithms of the classes' probabilities, (n, Q), each fold's by its model.

        `first` says that the models were fitted to labels.
        """

    @abstractmethod
    def _accept(self, target: Target, judged: Judged) -> None:
        """Take on a round: fit to all rows now, or keep the target for a fit in the end."""

    def _begin(self, folds: list[BoolArray], judged: Judged) -> None:
        """Look at what the models say before any round."""

    def _tune(
        self,
        targets: Sequence[Target],
        folds: list[BoolArray],
        models: list[Model],
        judged: Judged,
        seen: Evidence,
    ) -> tuple[list[Model], Judged]:
        """Change settings of the fits to targets, if that makes held-out labels likelier."""
        return models, judged

    def rounds(self, n_rounds: int) -> None:
        """Make at most so many rounds, while held-out labels stay as likely as they were."""
        folds = self._folds()
        if len(folds) < 2:
            return
        models = self._fit_labels(folds)
        judged = self._judge(self._logs(folds, models, first=True), self.seen)
        self.at_first = self.judged = judged
        self._begin(folds, judged)
        progress = Progress(self.verbose, "Relabelling: round")
        classes = np.full(len(judged.posterior), -1)
        kept: Calibration | None = None
        for number in range(n_rounds):
            target, before = self._target(judged), classes
            classes = self._classes(target)
            if not self._all_shown(classes):
                break  # a class without rows could never come back
            on_trial = number == 0 and len(folds) > 2 and not self.balanced
            if number and self.reshuffles:
                folds = self._folds(number)
            targets = self._trial_targets(folds) if on_trial else [target] * len(folds)
            models = self._fit_targets(targets, folds, models)
            judged, seen = self._judge(self._logs(folds, models), judged.seen, kept), judged.seen
            if on_trial:
                models, judged = self._tune(targets, folds, models, judged, seen)
            self.trial = judged if on_trial else self.trial
            asked = not (on_trial and self.takes_trial)
            if asked and judged.explains_less_than(self.at_first):
                break  # the model is too simple to teach itself
            if on_trial and self.keeps_calibration:
                kept = judged.calibration
            self._accept(target, judged)
            self.judged = judged
            weight = self.seen.sample_weight
            self.changed.append(float(np.average(classes != before, weights=weight)))
            progress(number + 1, n_rounds, f"{self.changed[-1]:.2%} of the rows fitted anew")
            if self.changed[-1] <= self.settled:
                break
        progress.finish(len(self.changed), n_rounds, "done")

    def _folds(self, number: int = 0) -> list[BoolArray]:
        """Return the rows held out by each fold; none where a class is too small to be split."""
        if self.splits is not None:
            return self.splits
        codes = self.seen.codes
        n_folds = min(self.n_folds, int(np.bincount(codes).max()))
        if n_folds < 2:
            return []
        rows = np.arange(len(codes))
        splits = stratified_folds(codes, n_folds, self.seed + number)
        return [np.isin(rows, test) for _, test in splits]

    def _all_shown(self, classes: IntArray) -> bool:
        taught = classes[(classes >= 0) & (self.seen.sample_weight > 0)]
        return bool(len(np.unique(taught)) == self.seen.evidence.shape[1])

    def _judge(
        self, logs: FloatArray, seen: Evidence, calibration: Calibration | None = None
    ) -> Judged:
        """Calibrate what models say of the rows they have not seen; count C by that."""
        judged = self._with_what_was_seen(logs, seen, calibration)
        if not self.balanced and self._depends_on_rows(judged):
            self.balanced, self.prior_counts = True, None
        if self.balanced:
            assert self.given is not None
            return self._balance(self._with_what_was_seen(logs, seen.through(self.given)))
        if self._first_rows is None:
            self._first_rows = seen.noisy_rows_by_class(judged.posterior)
        return self._count_matrix(judged, self._first_rows, calibration)

    def _count_matrix(
        self, judged: Judged, first_rows: FloatArray, calibration: Calibration | None = None
    ) -> Judged:
        """Count C by what rows were judged to be, if it is to be found, and judge them again."""
        if self.prior_counts is None:
            return judged
        seen = judged.seen
        for _ in range(COUNTS):
            matrix = seen.count(judged.posterior, self.prior_counts)
            counted = self._with_what_was_seen(judged.logs, seen.through(matrix), calibration)
            if loses_a_class(first_rows, seen.noisy_rows_by_class(counted.posterior)):
                break
            last, judged = judged.seen.matrix, counted
            if last is not None and np.abs(matrix - last).max() <= SETTLED:
                break
        return judged

    def _trial_targets(self, folds: list[BoolArray]) -> list[Target]:
        """Return for every fold the target of a world in which its labels were never seen."""
        pairs = [(k, m) for m in range(len(folds)) for k in range(m)]
        models = dict(
            zip(pairs, self._fit_labels([folds[k] | folds[m] for k, m in pairs]), strict=True)
        )
        targets = []
        for k, held in enumerate(folds):
            others = [m for m in range(len(folds)) if m != k]
            own = [models[min(k, m), max(k, m)] for m in others]
            logs = self._logs([folds[m] for m in others], own, first=True)
            seen = self.seen.without(held)
            judged = self._with_what_was_seen(logs, seen)
            judged = self._count_matrix(judged, seen.noisy_rows_by_class(judged.posterior))
            targets.append(self._target(judged))
        return targets

    def _depends_on_rows(self, judged: Judged) -> bool:
        """Whether classes and labels go together otherwise than C says, beyond chance."""
        seen = judged.seen
        noisy = seen.labelled
        if self.given is None or not noisy.any() or (seen.trust[noisy] < 1.0).any():
            return False
        rows = np.where(noisy, seen.sample_weight, 0.0)
        scale = np.count_nonzero(rows) / max(float(rows.sum()), SMALLEST)
        counts = seen.by_code(noisy[:, np.newaxis] * judged.posterior)[: len(self.given)]
        behind = None if self.prior_counts is None else self.prior_counts.sum(axis=1)
        return differs_from(scale * counts.T, self.given, behind)

    def _balance(self, judged: Judged) -> Judged:
        """Hold to C by how many rows of a label are of each class, not by each row's chances."""
        seen, noisy = judged.seen, judged.seen.labelled
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

    def _with_what_was_seen(
        self, logs: FloatArray, seen: Evidence, calibration: Calibration | None = None
    ) -> Judged:
        """Calibrate probabilities, if that is not done, and bring in what was seen."""
        if calibration is None:
            if self.moves_shares:
                calibration = calibrate(logs, seen.evidence, seen.row_counts, self.zeros)
            else:
                calibration = only_power(logs, seen.evidence, seen.row_counts)
        probability = calibration.apply(logs)
        explained = log_chances(probability, seen.evidence) + seen.log_scale
        return Judged(seen, calibration, explained, seen.posterior(probability), logs)


def sure_classes(posterior: FloatArray) -> IntArray:
    """Return each row's likeliest class, or -1 where that is in doubt."""
    likeliest = posterior.argmax(axis=1)
    sure = posterior.max(axis=1) >= SURE
    # A class nobody is sure of would vanish: its likeliest rows are better than none.
    bare = np.bincount(likeliest[sure], minlength=posterior.shape[1]) == 0
    return np.where(sure | bare[likeliest], likeliest, -1)
