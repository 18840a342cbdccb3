"""Label, count the mistakes, learn through them; and again with what was learnt.

A *view* is the problem with the labels of some rows hidden. One view per fold goes through
everything the whole problem does, and is asked about the rows whose labels it never saw: that is
how the confusion matrix of a round, and the weight of its labels, are found.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from unconfused._labels import MISSING
from unconfused._matrix import ConfusionWarning
from unconfused._typing import FloatArray, IntArray, Labels, Rows
from unconfused.confusion.cross_validated import Split, aligned_columns
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.confusion.estimation.pooled import pooled_estimate
from unconfused.confusion.estimation.sharpness import sharpened_losses
from unconfused.confusion.trusted import count_pairs
from unconfused.estimators._parts import (
    fit_with,
    has_parameter,
    last_step,
    parameter,
    predicted_codes,
    takes_in_fit,
    with_parameters,
)
from unconfused.estimators.logistic import UnconfusedLogisticRegression
from unconfused.estimators.self_labeling.few_labels import PartlyLabelled

WEIGHT = "noisy_weight"

GRID = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Weights tried, from "known labels only" to "a label is a label"."""

STEPS_ALONG_WEIGHTS = 30
"""Steps of a learner from one weight to the next."""

WEIGHT_FOR_COMPARING = 0.1
"""Learners are compared at this weight of the labeller's labels; the best's is then looked for."""

SHARPNESS = 2.0 ** np.arange(-6, 1.25, 0.25)
"""Exponents tried on probabilities before they are compared."""

SMALLEST = 1e-12
"""A probability of 0 is taken for this: one row must not decide alone."""


@dataclass(frozen=True)
class LabelWith:
    """A rough labeller, and whether it is to see the unlabelled rows too."""

    estimator: Any
    transductive: bool

    def fit(self, view: PartlyLabelled) -> Any:
        """Train a copy on what this view knows."""
        copy, weight = with_parameters(self.estimator), view.weight
        if not takes_in_fit(copy, "sample_weight"):
            weight = None
        if self.transductive:
            return fit_with(copy, view.X, view.truth, sample_weight=weight)
        rows = view.known
        return fit_with(
            copy,
            _safe_indexing(view.X, rows),
            view.classes[view.truth[rows]],
            sample_weight=None if weight is None else weight[rows],
        )

    def label(self, fitted: Any, X: Rows, classes: Labels) -> IntArray:
        """Label these rows."""
        return predicted_codes(fitted, X, np.arange(len(classes)) if self.transductive else classes)


@dataclass(frozen=True)
class LearnWith:
    """A learner, and whether it is to see the known labels."""

    estimator: Any
    use_known_labels: bool

    def fit(
        self,
        view: PartlyLabelled,
        labels: IntArray,
        estimate: ConfusionEstimate,
        noisy_weight: float | None = None,
    ) -> Any:
        """Learn through the confusion matrix from every row's label."""
        settings: dict[str, Any] = {"confusion": estimate}
        if noisy_weight is not None:
            settings[WEIGHT] = noisy_weight
        return self.fit_copy(with_parameters(self.estimator, **settings), view, labels)

    def fit_copy(self, copy: Any, view: PartlyLabelled, labels: IntArray) -> Any:
        """Fit this copy of the learner to every row's label."""
        return fit_with(
            copy,
            view.X,
            view.classes[labels],
            y_true=view.known_labels() if self.use_known_labels else None,
            sample_weight=view.weight if takes_in_fit(self.estimator, "sample_weight") else None,
        )

    def path(self, estimate: ConfusionEstimate) -> Callable[[float | None], Any]:
        """Return what gives a learner for each weight, each going on where the last one ended."""
        settings: dict[str, Any] = {"confusion": estimate}
        if has_parameter(self.estimator, "warm_start"):
            settings["warm_start"] = True
        copy = with_parameters(self.estimator, **settings)
        prefix, inner = last_step(copy)

        def at(noisy_weight: float | None) -> Any:
            if noisy_weight is None:
                return copy
            if hasattr(inner, "coef_") and isinstance(inner, UnconfusedLogisticRegression):
                inner.max_iter = STEPS_ALONG_WEIGHTS
            return copy.set_params(**{prefix + WEIGHT: noisy_weight})

        return at

    @property
    def weighs_labels(self) -> bool:
        """Whether it leaves open how much a noisy row counts beside a known one."""
        if not self.use_known_labels or not has_parameter(self.estimator, WEIGHT):
            return False
        return bool(parameter(self.estimator, WEIGHT) == "auto")


@dataclass(frozen=True)
class Choice:
    """A learner, and what the labeller's labels count beside known ones (None: its own affair)."""

    learner: LearnWith
    weight: float | None


class FoldLabels:
    """What the labeller of each fold says: of the rows it was not shown, and of all if asked.

    To label all rows in every fold can take far longer than to learn, and is often not needed.
    """

    def __init__(self, held: list[IntArray], label_all: Callable[[], list[IntArray]]) -> None:
        self.held = held
        self._label_all = label_all

    @cached_property
    def everywhere(self) -> list[IntArray]:
        """Labels of all rows."""
        return self._label_all()


@dataclass
class Round:
    """What one round found."""

    labels: IntArray
    estimate: ConfusionEstimate
    learner: Any
    said: FoldLabels
    choice: Choice


@dataclass(frozen=True)
class Rounds:
    """The data, its folds, and who labels and learns."""

    data: PartlyLabelled
    splits: list[Split]
    """Of the labelled rows, as places among all rows."""

    labelers: list[LabelWith]
    """The candidates; the first of those that err least labels."""

    learners: list[LearnWith]
    smoothing: float
    n_jobs: int | None

    @property
    def held_out(self) -> bool:
        """Whether some labelled rows are set apart for the confusion matrix."""
        return len(self.splits) == 1

    def views(self) -> list[PartlyLabelled]:
        """Return the problem as each fold sees it."""
        return [self.data.knowing_only(train) for train, _ in self.splits]

    def first(self) -> tuple[Any, Round]:
        """Label with the labeller that errs least on labels it never saw, and learn."""
        views = self.views()
        held_out = [_safe_indexing(self.data.X, test) for _, test in self.splits]
        tasks = [
            (labeler, view, rows)
            for labeler in self.labelers
            for view, rows in zip(views, held_out, strict=True)
        ]
        fits = self._each(_fit_and_label, tasks)
        each = [fits[at : at + len(views)] for at in range(0, len(fits), len(views))]
        rights = [np.trace(self._count([said for _, said in folds]).counts) for folds in each]
        best = int(np.argmax(rights))
        labeler, folds, data = self.labelers[best], each[best], self.data

        def label_all() -> list[IntArray]:
            return self._each(labeler.label, [(one, data.X, data.classes) for one, _ in folds])

        said = FoldLabels([held for _, held in folds], label_all)
        if self.held_out:
            return folds[0][0], self._learn(said.everywhere[0], said, self.learners)
        fitted, labels = _fit_and_label(labeler, data, data.X)
        return fitted, self._learn(labels, said, self.learners)

    def next(self, last: Round) -> Round:
        """Label with what the last round learnt, and learn again."""
        labels = predicted_codes(last.learner, self.data.X, self.data.classes)
        everywhere = self._each(
            _learn_and_label,
            [
                (last.choice, view, said, last.estimate)
                for view, said in zip(self.views(), last.said.everywhere, strict=True)
            ],
        )
        held = [one[test] for one, (_, test) in zip(everywhere, self.splits, strict=True)]
        return self._learn(labels, FoldLabels(held, lambda: everywhere), [last.choice.learner])

    def _learn(self, labels: IntArray, said: FoldLabels, learners: list[LearnWith]) -> Round:
        estimate = self._count(said.held)
        choice = self._choose(learners, said, estimate)
        through = estimate
        if choice.learner.use_known_labels and self.all_known:
            # No label goes through C: do not ask the learner to undo what may have no inverse.
            through = ConfusionEstimate.from_counts(np.eye(len(estimate.classes)), estimate.classes)
        learner = choice.learner.fit(self.data, labels, through, choice.weight)
        return Round(labels, estimate, learner, said, choice)

    @property
    def all_known(self) -> bool:
        """Whether no row is unlabelled."""
        return bool(np.all(self.data.truth != MISSING))

    def _count(self, held: list[IntArray]) -> ConfusionEstimate:
        """Count the mistakes on rows whose label the one who labelled them never saw."""
        classes, truth, weight = self.data.classes, self.data.truth, self.data.weight
        counts = np.zeros((len(classes), len(classes)))
        for (_, test), said in zip(self.splits, held, strict=True):
            tested = None if weight is None else weight[test]
            counts += count_pairs(truth[test], said, len(classes), tested)
        return pooled_estimate(counts, classes, self.smoothing)

    def _choose(
        self, learners: list[LearnWith], said: FoldLabels, estimate: ConfusionEstimate
    ) -> Choice:
        """Choose the learner, then its weight, by the loss on labels that the folds never saw.

        A learner's own search for the weight could be misled here: the labeller has seen the
        labels that it holds out, and its labels of the rows nearby give them away.
        """
        at = 0.0 if self.all_known else WEIGHT_FOR_COMPARING
        learner = learners[0]
        if len(learners) > 1:
            weights = [[at] if one.weighs_labels else [None] for one in learners]
            compared = [
                self._losses(one, tried, said, estimate)[0]
                for one, tried in zip(learners, weights, strict=True)
            ]
            learner = learners[int(np.argmin(compared))]
        if not learner.weighs_labels or self.all_known:
            return Choice(learner, None)
        losses = self._losses(learner, list(GRID), said, estimate)
        return Choice(learner, GRID[int(np.argmin(losses))])

    def _losses(
        self,
        learner: LearnWith,
        weights: Sequence[float | None],
        said: FoldLabels,
        estimate: ConfusionEstimate,
    ) -> FloatArray:
        tasks = [
            (learner, weights, view, labels, estimate, _safe_indexing(self.data.X, test))
            for view, labels, (_, test) in zip(
                self.views(), said.everywhere, self.splits, strict=True
            )
        ]
        tests = np.concatenate([test for _, test in self.splits])
        frequency = None if self.data.weight is None else self.data.weight[tests]
        told = np.concatenate(self._each(_held_out_shares, tasks), axis=1)
        return np.array([held_out_loss(one, self.data.truth[tests], frequency) for one in told])

    def _each(self, function: Callable[..., Any], tasks: list[tuple[Any, ...]]) -> list[Any]:
        done: list[Any] = Parallel(n_jobs=self.n_jobs)(delayed(function)(*task) for task in tasks)
        return done


def _fit_and_label(labeler: LabelWith, view: PartlyLabelled, rows: Rows) -> tuple[Any, IntArray]:
    fitted = labeler.fit(view)
    return fitted, labeler.label(fitted, rows, view.classes)


def _learn_and_label(
    choice: Choice, view: PartlyLabelled, labels: IntArray, estimate: ConfusionEstimate
) -> IntArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfusionWarning)  # of a part; that of all rows counts
        fitted = choice.learner.fit(view, labels, estimate, choice.weight)
    return predicted_codes(fitted, view.X, view.classes)


def _held_out_shares(
    learner: LearnWith,
    weights: Sequence[float | None],
    view: PartlyLabelled,
    labels: IntArray,
    estimate: ConfusionEstimate,
    rows: Rows,
) -> FloatArray:
    """Return the chances of each class on rows held out, for every weight tried."""
    shares = []
    path = learner.path(estimate)
    for noisy_weight in weights:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # few steps are enough to compare
            warnings.simplefilter("ignore", ConfusionWarning)  # of a part; that of all rows counts
            fitted = learner.fit_copy(path(noisy_weight), view, labels)
        if hasattr(fitted, "predict_proba"):
            shares.append(aligned_columns(fitted.predict_proba(rows), fitted, view.classes))
        else:
            said = predicted_codes(fitted, rows, view.classes)
            shares.append(np.eye(len(view.classes))[said])
    return np.array(shares)


def held_out_loss(shares: FloatArray, truth: IntArray, frequency: FloatArray | None) -> float:
    """Return the mean log-loss at the sharpness that suits the probabilities best.

    Labels made by a machine make a learner too sure of itself, the more so the more they count.
    That does not change what it predicts, so it must not decide how much they should count.
    """
    chances = np.log(np.maximum(shares, SMALLEST))
    margins = chances - chances[np.arange(len(truth)), truth][:, np.newaxis]
    losses = sharpened_losses(margins, SHARPNESS, frequency)
    return float(np.average(losses, weights=frequency))
