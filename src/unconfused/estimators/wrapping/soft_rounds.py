"""Rounds of relabelling around any classifier, taught the probable classes of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import _safe_indexing

from unconfused._typing import BoolArray, FloatArray, IntArray
from unconfused.confusion._dawid_skene import Crowd
from unconfused.confusion.estimation.balance import class_shares
from unconfused.confusion.estimation.calibration import Calibration, best_floor, calibrate
from unconfused.confusion.estimation.pooled import drawn_together
from unconfused.confusion.noisy import guess_counts, unmix_probabilities
from unconfused.estimators.annotators.crowd import annotator_matrices, evidence_of
from unconfused.estimators.relabel.evidence import Evidence
from unconfused.estimators.relabel.out_of_fold import Judged
from unconfused.estimators.relabel.rounds import COUNTS, SMALLEST, Rounds
from unconfused.estimators.wrapping.base import Base, Taught, teach


@dataclass(frozen=True)
class HeldOut:
    """What a model says of the rows it was not shown: all that is kept of it."""

    rows: IntArray
    logs: FloatArray


@dataclass(frozen=True)
class CrossFitted:
    """What models that had not seen a row say of it, at the end of a fit."""

    codes: IntArray
    """Label codes of the rows, by which the rows are known again."""

    probability: FloatArray
    """P(true class | row), (n, Q)."""

    posterior: FloatArray
    """P(true class | row, label), (n, Q)."""

    predicted: IntArray | None
    """Classes, (n,), by models like the final one that have no knowledge of the row at all."""

    def of(self, codes: IntArray) -> bool:
        """Whether these are the label codes of the same rows."""
        return np.array_equal(self.codes, codes)


@dataclass(frozen=True)
class FromLabels:
    """From the probabilities of labels to those of classes: calibrated, then unmixed through C."""

    calibration: Calibration
    mixing: FloatArray

    def logs(self, logs: FloatArray) -> FloatArray:
        """Return logarithms of the true classes' probabilities."""
        truth = unmix_probabilities(self.calibration.apply(logs), self.mixing)
        return np.log(np.maximum(truth, SMALLEST))


class RoundError(Exception):
    """The classifier could not be fitted to pseudo-labels, for instance as a class became rare."""


@dataclass(kw_only=True)
class SoftRounds(Rounds[HeldOut, Taught]):
    """Rounds of relabelling around any classifier.

    Parameters
    ----------
    X : rows of any kind
    base : the classifier
    first : what it learns before any round: the labels, or what votes alone say
    mixing : the matrix between true classes and what `first` teaches; None where these are one
    crowd : who voted what, where labels are votes
    recounts : whether annotators' matrices are counted again by what the models say
    n_jobs : folds at a time
    """

    X: Any
    base: Base
    first: Taught
    mixing: FloatArray | None = None
    crowd: Crowd | None = None
    recounts: bool = True
    n_jobs: int | None = None

    accepted: Taught | None = field(default=None, init=False)
    """What the last round taught."""

    label_logs: FloatArray | None = field(default=None, init=False)
    """What models of the folds fitted to `first` say, as logs, (n, Q)."""

    from_labels: FromLabels | None = field(default=None, init=False)
    """How that was turned into probabilities of classes."""

    guessed_counts: FloatArray | None = field(default=None, init=False)
    """The counts of (class, label) behind C, where that is only a guess."""

    believed: FloatArray | None = field(default=None, init=False)
    """Log-chance of every held-out label if labels are believed, where C is only a guess."""

    n_fits: int = field(default=0, init=False)

    _label_floor: float | None = field(default=None, init=False)
    _first_models: list[HeldOut] = field(default_factory=list, init=False)

    # A forest of fully grown trees fits single rows: both are for what leaks through that.
    reshuffles: ClassVar[bool] = True
    keeps_calibration: ClassVar[bool] = True
    settled: ClassVar[float] = 0.01

    def guess_matrix(self, most_counts: float) -> None:
        """Guess C from the labels that models of the folds predict, in place of the identity.

        It is refined in the rounds where it rests on fewer counts per class than `most_counts`;
        a round is then accepted only if held-out labels become likelier than by believing them.
        """
        folds = self._folds()
        if len(folds) < 2:
            return
        self._first_models = self._fit_labels(folds)
        logs, noisy = _put_together(folds, self._first_models), ~self.seen.known
        codes, n_classes = self.seen.codes[noisy], logs.shape[1]
        chances = self._of_labels(logs).apply(logs)
        counts = guess_counts(chances[noisy], codes, n_rounds=3)
        matrix = drawn_together(counts, 1.0 / n_classes)
        of_labels = chances[np.arange(len(logs)), self.first.classes]
        self.believed = np.log(np.maximum(of_labels, SMALLEST))
        self.seen, self.mixing = self.seen.through(matrix), matrix
        self.guessed_counts = counts
        if (counts.sum(axis=1) < most_counts).any():
            self.prior_counts = np.maximum(counts.sum(axis=1, keepdims=True), 1.0) * matrix

    def _begin(self, folds: list[BoolArray], judged: Judged) -> None:
        if self.believed is not None:
            self.at_first = replace(judged, explained=self.believed)

    def _count_matrix(
        self, judged: Judged, first_rows: FloatArray, calibration: Calibration | None = None
    ) -> Judged:
        if self.crowd is None or not self.recounts:
            return super()._count_matrix(judged, first_rows, calibration)
        for _ in range(COUNTS):
            weight = judged.seen.sample_weight[:, np.newaxis]
            matrices = annotator_matrices(self.crowd, weight * judged.posterior)
            seen = through_votes(judged.seen, self.crowd, matrices)
            judged = self._with_what_was_seen(judged.logs, seen, calibration)
        return judged

    def _fit_labels(self, held: Sequence[BoolArray]) -> list[HeldOut]:
        if self._first_models:
            models, self._first_models = self._first_models, []
            return models
        return self._fit([self.first] * len(held), held)

    def _fit_targets(
        self, targets: Sequence[Taught], held: Sequence[BoolArray], starts: Sequence[HeldOut]
    ) -> list[HeldOut]:
        try:
            return self._fit(targets, held)
        except ValueError as error:
            raise RoundError from error

    def _fit(self, targets: Sequence[Taught], held: Sequence[BoolArray]) -> list[HeldOut]:
        self.n_fits += len(targets)
        found: list[HeldOut] = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_and_ask)(self.base, self.X, taught.without(out), np.flatnonzero(out))
            for taught, out in zip(targets, held, strict=True)
        )
        return found

    def ask(self, targets: Sequence[Taught], held: Sequence[BoolArray]) -> FloatArray:
        """Return what models taught this say of the rows held out, as logs, (n, Q)."""
        return _put_together(held, self._fit(targets, held))

    def _target(self, judged: Judged) -> Taught:
        return teach(self.base.estimator, judged.posterior, judged.seen.sample_weight)

    def _classes(self, target: Taught) -> IntArray:
        return target.classes

    def _accept(self, target: Taught, judged: Judged) -> None:
        self.accepted = target

    def _logs(
        self, folds: Sequence[BoolArray], models: Sequence[HeldOut], *, first: bool = False
    ) -> FloatArray:
        logs, asked = _put_together(folds, models), np.logical_or.reduce(folds)
        if first and self.label_logs is None:
            self.label_logs = logs
        if not first or self.mixing is None:
            # Later rounds are judged with the calibration of the trial.
            if not self.changed and asked.all():
                seen = self.judged.seen if self.judged else self.seen
                self.floor = best_floor(logs, seen.evidence, seen.trust * seen.sample_weight)
            return logs
        found = FromLabels(self._of_labels(logs, asked), self.mixing)
        if self.from_labels is None:
            self.from_labels = found
        return found.logs(logs)

    def _of_labels(self, logs: FloatArray, asked: BoolArray | None = None) -> Calibration:
        """Calibrate probabilities of labels on held-out ones."""
        weight = self.seen.sample_weight if asked is None else asked * self.seen.sample_weight
        scale = np.count_nonzero(weight) / max(float(weight.sum()), SMALLEST)
        labels = np.eye(logs.shape[1])[self.first.classes]
        if self._label_floor is None:
            self._label_floor = best_floor(logs, labels, weight)
        return calibrate(logs, labels, scale * weight, self._label_floor)


def _fit_and_ask(base: Base, X: Any, taught: Taught, rows: IntArray) -> HeldOut:
    fitted = base.fit(X, taught)
    return HeldOut(rows, base.log_probabilities(fitted, _safe_indexing(X, rows)))


def _put_together(folds: Sequence[BoolArray], models: Sequence[HeldOut]) -> FloatArray:
    """Return what each fold's model says of its rows; rows of no fold are left even."""
    logs = np.zeros((len(folds[0]), models[0].logs.shape[1]))
    for fold, model in zip(folds, models, strict=True):
        logs[fold] = model.logs[fold[model.rows]]
    return logs


def through_votes(seen: Evidence, crowd: Crowd, matrices: FloatArray) -> Evidence:
    """Return what votes say, seen through these matrices of the annotators."""
    evidence, scale = evidence_of(crowd, matrices)
    return replace(seen, evidence=evidence, log_scale=np.where(seen.known, 0.0, scale))


def mixed_matrix(matrix: FloatArray, seen: Evidence, codes: IntArray) -> FloatArray:
    """Return how classes are taught where some rows are taught with their truth.

    Parameters
    ----------
    matrix : C, of the rows whose truth is not known
    seen : what was seen on the rows
    codes : (n,), what they are taught with
    """
    n_classes, weight = len(matrix), seen.sample_weight
    noisy = np.bincount(codes[~seen.known], weight[~seen.known], minlength=n_classes)
    known = np.bincount(codes[seen.known], weight[seen.known], minlength=n_classes)
    of_class = class_shares(matrix, noisy.astype(np.float64)) * noisy.sum()
    share = (known / np.maximum(known + of_class, SMALLEST))[:, np.newaxis]
    return np.asarray((1.0 - share) * matrix + share * np.eye(n_classes))
