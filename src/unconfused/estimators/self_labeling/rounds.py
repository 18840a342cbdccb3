"""Rounds of self-labelling: label all rows, count the labeller's mistakes, learn through them.

Each fold repeats everything with the labels of its test rows hidden, and predicts those rows: the
confusion matrix of a round and the weight of its labels are found out of fold.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.utils import _safe_indexing

from unconfused._labels import count_pairs
from unconfused._matrix import ConfusionWarning
from unconfused._pipelines import (
    aligned_columns,
    decoded,
    final_step,
    fit_with,
    parameters,
    predicted_codes,
    takes_in_fit,
    with_parameters,
)
from unconfused._typing import FloatArray, IntArray, Labels, Rows
from unconfused.confusion.cross_validated import Split
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.confusion.estimation.calibration import log_chances, sharpened
from unconfused.confusion.estimation.pooled import pooled_matrix
from unconfused.estimators.logistic import UnconfusedLogisticRegression
from unconfused.estimators.self_labeling.partly_labelled import PartlyLabelled

SEMI_SUPERVISED = (LabelPropagation, LabelSpreading, SelfTrainingClassifier)
"""Labellers that take unlabelled rows, marked -1."""

PSEUDOCOUNT = 1.0
"""Pseudocounts per class with the pooled error rate, so that no mistake has probability 0."""

NOISY_WEIGHTS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Candidates for the weight of the labeller's labels relative to known ones."""

STEPS_ALONG_WEIGHTS = 30
"""Steps of a warm-started learner from one weight to the next."""

WEIGHT_FOR_COMPARING = 0.1
"""Weight of the labeller's labels while learners are compared."""


@dataclass(frozen=True)
class Labeler:
    """A labeller, which may take the unlabelled rows too."""

    estimator: Any

    @property
    def transductive(self) -> bool:
        """Whether it is also given the unlabelled rows, marked -1."""
        inner, _ = final_step(self.estimator)
        return getattr(inner, "takes_unlabelled", False) or isinstance(inner, SEMI_SUPERVISED)

    def fit(self, view: PartlyLabelled) -> Any:
        """Train a copy on the known labels."""
        copy, X, y, weight = clone(self.estimator), view.X, view.truth, view.weight
        if not self.transductive:
            rows = view.known
            X, y = _safe_indexing(X, rows), view.classes[y[rows]]
            weight = None if weight is None else weight[rows]
        return fit_with(copy, X, y, sample_weight=weight)

    def label(self, fitted: Any, X: Rows, classes: Labels) -> IntArray:
        """Label rows with a fitted copy."""
        return predicted_codes(fitted, X, np.arange(len(classes)) if self.transductive else classes)


@dataclass(frozen=True)
class Learner:
    """A classifier with a parameter `confusion`, and whether it gets the known labels as `y_true`.

    `noisy_weight` is the weight of the labeller's labels; None leaves it to the estimator.
    """

    estimator: Any
    use_known_labels: bool
    noisy_weight: float | None = None

    def __post_init__(self) -> None:
        """Refuse estimators that do not take a matrix, or the known labels."""
        name = type(final_step(self.estimator)[0]).__name__
        if "confusion" not in parameters(self.estimator):
            raise ValueError(
                f"The learner {name} has no parameter `confusion`: use "
                "UnconfusedLogisticRegression or UMAClassifier, or give your own that parameter."
            )
        if self.use_known_labels and not takes_in_fit(self.estimator, "y_true"):
            raise ValueError(
                f"The learner {name} takes no `y_true` in fit, so it cannot use the known labels: "
                "set use_known_labels=False."
            )

    @property
    def needs_weight(self) -> bool:
        """Whether the weight of the labeller's labels is to be chosen."""
        weight = parameters(self.estimator).get("noisy_weight")
        return self.use_known_labels and isinstance(weight, str) and weight == "auto"

    def fit(self, view: PartlyLabelled, labels: IntArray, estimate: ConfusionEstimate) -> Any:
        """Train a copy on the labels of all rows, through the confusion matrix."""
        settings: dict[str, Any] = {"confusion": estimate}
        if self.noisy_weight is not None:
            settings["noisy_weight"] = self.noisy_weight
        return self._fit(with_parameters(self.estimator, **settings), view, labels)

    def _fit(self, copy: Any, view: PartlyLabelled, labels: IntArray) -> Any:
        truth = decoded(view.truth, view.classes) if self.use_known_labels else None
        return fit_with(copy, view.X, view.classes[labels], y_true=truth, sample_weight=view.weight)

    def probabilities(
        self,
        weights: Sequence[float | None],
        view: PartlyLabelled,
        labels: IntArray,
        estimate: ConfusionEstimate,
        rows: Rows,
    ) -> FloatArray:
        """Return class probabilities of rows for each weight, warm-started from the last one."""
        warm = {"warm_start": True} if "warm_start" in parameters(self.estimator) else {}
        copy = with_parameters(self.estimator, confusion=estimate, **warm)
        inner, prefix = final_step(copy)
        found = []
        for weight in weights:
            if weight is not None:
                if hasattr(inner, "coef_") and isinstance(inner, UnconfusedLogisticRegression):
                    inner.max_iter = STEPS_ALONG_WEIGHTS
                copy.set_params(**{f"{prefix}noisy_weight": weight})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # good enough to compare
                warnings.simplefilter("ignore", ConfusionWarning)  # the final fit warns
                fitted = self._fit(copy, view, labels)
            if hasattr(fitted, "predict_proba"):
                found.append(aligned_columns(fitted.predict_proba(rows), fitted, view.classes))
            else:
                found.append(np.eye(len(view.classes))[predicted_codes(fitted, rows, view.classes)])
        return np.array(found)


@dataclass
class Round:
    """Result of a round."""

    labels: IntArray
    estimate: ConfusionEstimate
    fitted: Any
    learner: Learner
    labels_by_fold: Callable[[], list[IntArray]]
    """Labels of all rows by the labeller of each fold, computed on the first call: labelling all
    rows in every fold can take far longer than learning."""


@dataclass(frozen=True)
class Rounds:
    """The data, its folds, and the candidates for labeller and learner."""

    data: PartlyLabelled
    splits: list[Split]
    """Of the labelled rows, as indices among all rows."""

    labelers: list[Labeler]
    learners: list[Learner]
    n_jobs: int | None

    @cached_property
    def _views(self) -> list[PartlyLabelled]:
        """The data as each fold sees it."""
        return [self.data.with_labels_of(train) for train, _ in self.splits]

    @cached_property
    def _tests(self) -> list[Rows]:
        return [_safe_indexing(self.data.X, test) for _, test in self.splits]

    @cached_property
    def _tested(self) -> tuple[IntArray, FloatArray | None]:
        """Truth and weight of all test rows, fold by fold."""
        rows, weight = np.concatenate([test for _, test in self.splits]), self.data.weight
        return self.data.truth[rows], None if weight is None else weight[rows]

    def first(self) -> tuple[Any, Round]:
        """Label with the labeller that has the lowest cross-validated error, and learn."""
        data = self.data
        folds = list(zip(self._views, self._tests, strict=True))
        tasks = [(labeler, *fold) for labeler in self.labelers for fold in folds]
        fits = self._each(_fit_and_label, tasks)
        by_labeler = [fits[at : at + len(folds)] for at in range(0, len(fits), len(folds))]
        estimates = [self._count([labels for _, labels in of_one]) for of_one in by_labeler]
        best = int(np.argmax([np.trace(one.counts) for one in estimates]))
        labeler, models = self.labelers[best], [fitted for fitted, _ in by_labeler[best]]

        @cache
        def everywhere() -> list[IntArray]:
            return self._each(labeler.label, [(one, data.X, data.classes) for one in models])

        if len(folds) == 1:  # the labeller learns from the training rows only
            fitted, labels = models[0], everywhere()[0]
        else:
            fitted, labels = _fit_and_label(labeler, data, data.X)
        return fitted, self._learn(labels, estimates[best], everywhere, self.learners)

    def next(self, last: Round) -> Round:
        """Label with the learner of the last round, and learn again."""
        labels = predicted_codes(last.fitted, self.data.X, self.data.classes)
        folds = zip(self._views, last.labels_by_fold(), strict=True)
        everywhere = self._each(
            _learn_and_label, [(last.learner, *fold, last.estimate) for fold in folds]
        )
        tested = [one[test] for one, (_, test) in zip(everywhere, self.splits, strict=True)]
        candidates = [replace(last.learner, noisy_weight=None)]
        return self._learn(labels, self._count(tested), lambda: everywhere, candidates)

    def _learn(
        self,
        labels: IntArray,
        estimate: ConfusionEstimate,
        labels_by_fold: Callable[[], list[IntArray]],
        learners: list[Learner],
    ) -> Round:
        """Choose the learner, then the weight of noisy labels, by the log-loss of held-out labels.

        The learner's own search for the weight would be biased: the labeller was trained on the
        rows it holds out.
        """

        def losses(one: Learner, weights: Sequence[float | None]) -> list[float]:
            folds = zip(self._views, labels_by_fold(), self._tests, strict=True)
            tasks = [(weights, view, own, estimate, test) for view, own, test in folds]
            tables = np.concatenate(self._each(one.probabilities, tasks), axis=1)
            return [calibrated_log_loss(table, *self._tested) for table in tables]

        learner, all_known, through = learners[0], self.data.all_known, estimate
        if len(learners) > 1:
            at = 0.0 if all_known else WEIGHT_FOR_COMPARING
            compared = [losses(one, [at if one.needs_weight else None])[0] for one in learners]
            learner = learners[int(np.argmin(compared))]
        if learner.needs_weight and not all_known:
            best = int(np.argmin(losses(learner, NOISY_WEIGHTS)))
            learner = replace(learner, noisy_weight=NOISY_WEIGHTS[best])
        if learner.use_known_labels and all_known:
            # No label goes through C, which may be singular.
            through = ConfusionEstimate.from_counts(np.eye(len(estimate.classes)), estimate.classes)
        fitted = learner.fit(self.data, labels, through)
        return Round(labels, estimate, fitted, learner, labels_by_fold)

    def _count(self, tested: list[IntArray]) -> ConfusionEstimate:
        """Count the mistakes on the test rows."""
        (truth, weight), classes = self._tested, self.data.classes
        counts = count_pairs(truth, np.concatenate(tested), len(classes), weight)
        return ConfusionEstimate(pooled_matrix(counts, PSEUDOCOUNT), counts, classes)

    def _each(self, function: Callable[..., Any], tasks: list[tuple[Any, ...]]) -> list[Any]:
        done: list[Any] = Parallel(n_jobs=self.n_jobs)(delayed(function)(*task) for task in tasks)
        return done


def _fit_and_label(labeler: Labeler, view: PartlyLabelled, rows: Rows) -> tuple[Any, IntArray]:
    fitted = labeler.fit(view)
    return fitted, labeler.label(fitted, rows, view.classes)


def _learn_and_label(
    learner: Learner, view: PartlyLabelled, labels: IntArray, estimate: ConfusionEstimate
) -> IntArray:
    with warnings.catch_warnings(action="ignore", category=ConfusionWarning):  # a later fit warns
        fitted = learner.fit(view, labels, estimate)
    return predicted_codes(fitted, view.X, view.classes)


def calibrated_log_loss(
    probability: FloatArray, truth: IntArray, weight: FloatArray | None
) -> float:
    """Return the mean log-loss at the best temperature.

    Confidence can be corrected by one number; which classes a model tells apart cannot. A learner
    of pseudo-labels is overconfident, the more so the more they count: that must not decide how
    much they count.
    """
    known = np.eye(probability.shape[1])[truth]
    fair = sharpened(probability, known, weight=weight)
    return -float(np.average(log_chances(fair, known), weights=weight))
