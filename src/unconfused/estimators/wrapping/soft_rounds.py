"""Rounds of relabelling around any classifier, fitted to soft pseudo-labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import _safe_indexing

from unconfused._typing import BoolArray, FloatArray, IntArray
from unconfused.confusion._dawid_skene import Crowd
from unconfused.confusion.estimation.calibration import Calibration, calibrate, log_chances
from unconfused.confusion.estimation.class_probabilities import guess_counts, unmix_probabilities
from unconfused.confusion.estimation.label_quality import CLEARLY
from unconfused.confusion.estimation.pooled import FEW_COUNTS, shrink_to_symmetric
from unconfused.estimators.annotators.crowd import annotator_matrices, evidence_of
from unconfused.estimators.relabel.evidence import SMALLEST, Evidence, OutOfFold, mean_and_error
from unconfused.estimators.relabel.rounds import COUNTS, Rounds
from unconfused.estimators.wrapping.base import (
    BaseClassifier,
    Task,
    TrainingSet,
    pseudo_labels,
)


@dataclass(frozen=True)
class FoldPredictions:
    """Log-probabilities of the rows that a fold's model was not fitted to."""

    rows: IntArray
    logs: FloatArray


@dataclass(frozen=True)
class CrossFitted:
    """Out-of-fold predictions of the training rows at the end of a fit."""

    codes: IntArray
    """Label codes of the rows, to recognise them."""

    probability: FloatArray
    """P(true class | row), (n, Q)."""

    posterior: FloatArray
    """P(true class | row, label), (n, Q)."""

    predicted: IntArray | None
    """Classes, (n,), by models that the label of the row has not influenced in any round."""

    def of(self, codes: IntArray) -> bool:
        """Whether these are the label codes of the same rows."""
        return np.array_equal(self.codes, codes)


@dataclass(frozen=True)
class LabelUnmixing:
    """Turns predicted labels into predicted classes: calibrates, then unmixes through C."""

    calibration: Calibration
    mixing: FloatArray

    def logs(self, logs: FloatArray) -> FloatArray:
        """Return log-probabilities of the true classes, given those of the labels."""
        truth = unmix_probabilities(self.calibration.apply(logs), self.mixing)
        return np.log(np.maximum(truth, SMALLEST))


class RoundError(Exception):
    """No round can be made: pseudo-labels lack a class, for instance, or C is no good guess."""


@dataclass(kw_only=True)
class SoftRounds(Rounds[FoldPredictions, TrainingSet]):
    """Rounds of relabelling around any classifier.

    Parameters
    ----------
    X : rows of any kind
    base : the classifier
    task : what is known of their classes
    n_jobs : number of folds fitted in parallel
    """

    X: Any
    base: BaseClassifier
    task: Task
    n_jobs: int | None = None

    label_logs: FloatArray | None = field(default=None, init=False)
    """Out-of-fold log-probabilities of the classifier fitted to `task.first`, (n, Q)."""

    unmixing: LabelUnmixing | None = field(default=None, init=False)
    """How these become log-probabilities of the true classes."""

    guessed_counts: FloatArray | None = field(default=None, init=False)
    """Counts of (class, label) behind a guessed C."""

    n_fits: int = field(default=0, init=False)

    fits_single_rows: ClassVar[bool] = True
    takes_trial: ClassVar[bool] = True
    settled: ClassVar[float] = 0.01

    def _begin(self, folds: list[BoolArray], models: list[FoldPredictions]) -> None:
        """Guess C from the labels that the models predict, if that is asked for."""
        self.label_logs = logs = _assembled(folds, models)
        calibration, mixing = self.calibration_of_labels(logs), self.task.mixing
        if self.task.guesses:
            noisy = ~self.evidence.known
            counts = guess_counts(calibration.apply(logs)[noisy], self.evidence.codes[noisy])
            mixing = shrink_to_symmetric(counts, 1.0 / logs.shape[1])
            self.evidence, self.guessed_counts = self.evidence.through(mixing), counts
            self.task = replace(self.task, mixing=mixing)
            if (counts.sum(axis=1) < FEW_COUNTS).any():  # it is refined in the rounds
                self.prior_counts = np.maximum(counts.sum(axis=1, keepdims=True), 1.0) * mixing
        self.unmixing = None if mixing is None else LabelUnmixing(calibration, mixing)

    def _count_matrix(self, current: OutOfFold, first_rows: FloatArray) -> OutOfFold:
        """Count C again; with votes, the annotators' matrices, unless most are rules."""
        crowd = self.task.crowd
        if crowd is None or self.task.rules:
            return super()._count_matrix(current, first_rows)
        for _ in range(COUNTS):
            weight = current.evidence.sample_weight[:, np.newaxis]
            matrices = annotator_matrices(crowd, weight * current.posterior)
            evidence = through_votes(current.evidence, crowd, matrices)
            current = self._given_evidence(current.logs, evidence, current.calibration)
        return current

    def _fit_labels(self, held: Sequence[BoolArray]) -> list[FoldPredictions]:
        return self._fit([self.task.first] * len(held), held)

    def _fit_targets(
        self,
        targets: Sequence[TrainingSet],
        held: Sequence[BoolArray],
        starts: Sequence[FoldPredictions],
    ) -> list[FoldPredictions]:
        if self.trial is not None and self.guessed_counts is not None and not self.guess_helps:
            raise RoundError
        try:
            return self._fit(targets, held)
        except ValueError as error:
            raise RoundError from error

    def _fit(
        self, targets: Sequence[TrainingSet], held: Sequence[BoolArray]
    ) -> list[FoldPredictions]:
        self.n_fits += len(targets)
        found: list[FoldPredictions] = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_and_predict)(self.base, self.X, target.without(out), np.flatnonzero(out))
            for target, out in zip(targets, held, strict=True)
        )
        return found

    def out_of_fold(self, training: TrainingSet) -> FloatArray:
        """Return out-of-fold log-probabilities of the classifier fitted to this, (n, Q)."""
        folds = self._folds()
        return _assembled(folds, self._fit([training] * len(folds), folds))

    def _target(self, current: OutOfFold) -> TrainingSet:
        return pseudo_labels(self.base.estimator, current.posterior, current.evidence.sample_weight)

    def _logs(
        self, folds: Sequence[BoolArray], models: Sequence[FoldPredictions], *, first: bool = False
    ) -> FloatArray:
        logs = _assembled(folds, models)
        if not first or self.task.mixing is None:
            return logs
        held = np.logical_or.reduce(folds)
        calibration = self.calibration_of_labels(logs, ~held)
        return LabelUnmixing(calibration, self.task.mixing).logs(logs)

    @cached_property
    def guess_helps(self) -> bool:
        """Whether held-out labels support a guessed C.

        They do if the trial round predicts them through C clearly better than three alternatives:
        the trial round without C, the model of the labels without C, and the model of the labels
        through C. The last is needed because a matrix also blurs predictions, which alone can help.
        """
        if self.trial is None or self.label_logs is None:
            return False
        evidence = self.trial.evidence
        through, believed = (
            log_chances(
                calibrate(logs, evidence.chances, evidence.row_counts, zeros=True).apply(logs),
                evidence.chances,
            )
            for logs in (self.trial.logs, self.label_logs)
        )
        others = (*self._likelihoods_of_labels, believed)
        gains = [mean_and_error(through - other, self.trial.evidence.weight) for other in others]
        return all(gain > CLEARLY * error for gain, error in gains)

    @property
    def labels_look_noisy(self) -> bool:
        """Whether held-out labels are better predicted by classes of the trial than by labels."""
        if self.trial is None:
            return False
        plain, denoised = self._likelihoods_of_labels
        return bool(self.trial.evidence.weight @ (denoised - plain) > 0)

    @cached_property
    def _likelihoods_of_labels(self) -> list[FloatArray]:
        """Log-likelihood of the labels without C, (n,): by models of labels, and by the trial."""
        assert self.trial is not None and self.label_logs is not None
        rows, codes = np.arange(len(self.label_logs)), self.task.first.classes
        tables = [
            self.calibration_of_labels(m).apply(m) for m in (self.label_logs, self.trial.logs)
        ]
        return [np.log(np.maximum(table[rows, codes], SMALLEST)) for table in tables]

    def calibration_of_labels(
        self, logs: FloatArray, without: BoolArray | bool = False
    ) -> Calibration:
        """Calibrate predictions on the labels, without those of some rows."""
        counted = np.where(without, 0.0, self.evidence.row_counts)
        return calibrate(logs, np.eye(logs.shape[1])[self.task.first.classes], counted, zeros=True)


def _fit_and_predict(
    base: BaseClassifier, X: Any, training: TrainingSet, rows: IntArray
) -> FoldPredictions:
    fitted = base.fit(X, training)
    return FoldPredictions(rows, base.log_probabilities(fitted, _safe_indexing(X, rows)))


def _assembled(folds: Sequence[BoolArray], models: Sequence[FoldPredictions]) -> FloatArray:
    """Put the predictions of all folds into row order; rows of no fold get equal ones."""
    logs = np.zeros((len(folds[0]), models[0].logs.shape[1]))
    for fold, model in zip(folds, models, strict=True):
        logs[fold] = model.logs[fold[model.rows]]
    return logs


def through_votes(evidence: Evidence, crowd: Crowd, matrices: FloatArray) -> Evidence:
    """Return the evidence of votes through these matrices of the annotators."""
    chances, scale = evidence_of(crowd, matrices)
    return replace(evidence, chances=chances, log_scale=np.where(evidence.known, 0.0, scale))
