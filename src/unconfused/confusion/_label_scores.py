"""Score labels out of fold: the probability that the label of each row is wrong."""

from __future__ import annotations

import warnings
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from unconfused._arguments import random_state as make_random_state
from unconfused._labels import MISSING, EncodedLabels, encode_labels
from unconfused._matrix import GuessedConfusionWarning
from unconfused._matrix_labels import is_guess
from unconfused._pipelines import (
    aligned_columns,
    decoded,
    final_step,
    parameters,
    takes_in_fit,
    with_parameters,
)
from unconfused._typing import FloatArray, IntArray, Labels, Rows, Seed
from unconfused.confusion.cross_validated import Split, class_probabilities, make_folds, out_of_fold
from unconfused.confusion.estimation.calibration import posterior_given, sharpened
from unconfused.confusion.estimation.label_quality import (
    Criterion,
    LabelScores,
    judge_labels,
    matrix_helps,
)


class LabelScorer:
    """Scores of labels by models that were not trained on the row.

    Every row has a label or a known truth. Without a `criterion` labels are ranked by the
    posterior, unless C is a guess that does not make held-out labels clearly likelier. Scores are
    averaged over sets of folds; None is for a model trained on all rows.
    """

    def __init__(
        self,
        estimator: Any,
        X: Rows,
        labels: EncodedLabels,
        criterion: Criterion | None,
        folds: list[list[Split]] | None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator, self.X, self.labels, self.criterion = estimator, X, labels, criterion
        self.folds, self.n_jobs = folds, n_jobs
        final, prefix = final_step(estimator)
        self.has_posterior = criterion != "self_confidence" and hasattr(final, "label_posterior")
        if not self.has_posterior and not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"{type(estimator).__name__} has neither label_posterior nor predict_proba, which "
                "scoring labels needs."
            )
        trusted = labels.truth != MISSING
        self.ranked = np.flatnonzero(~trusted)
        self.best_known = labels.classes[np.where(trusted, labels.truth, labels.observed)]
        self.targets, self.params = self.best_known, dict[str, Labels]()
        self.takes_truth = bool(trusted.any()) and takes_in_fit(estimator, "y_true")
        if self.takes_truth:
            self.params = {f"{prefix}y_true": decoded(labels.truth, labels.classes)}
            self.targets = decoded(labels.observed, labels.classes)

    def score(self, any_folds: bool) -> LabelScores:
        """Score the labels; rows that no fold tests have scores of 0.

        `any_folds` says whether other folds of this number do as well, such as those of an
        automatic fit.
        """
        model = self.estimator
        final: Any = None
        if _makes_choices(final_step(model)[0]):
            with warnings.catch_warnings(action="ignore", category=GuessedConfusionWarning):
                fitted = clone(model).fit(self.X, self.targets, **self.params)
            model, final = _with_choices(model, fitted), final_step(fitted)[0]
        if not self.has_posterior or self._takes_labels_as_clean(final):
            return self._without_matrix(model)
        own = None
        if self.folds is not None and hasattr(final, "cross_fitted_posterior_"):
            own = aligned_columns(final.cross_fitted_posterior_, final, self.labels.classes)
            # A fit without relabelling has posteriors of one set of folds: several rank better.
            # With truths a fit is the average of several models, and one with the chosen settings
            # is not: the posteriors of both together rank better than either.
            alone = any_folds or bool(getattr(final, "relabel_", 1))
            averaged = self.takes_truth and hasattr(final, "relabel_")
            if alone and not averaged and not self._must_compare:
                return LabelScores(own, "posterior")
        found = self._through_matrix(model)
        if own is None or found.criterion != "posterior":
            return found
        return LabelScores((own + found.table) / 2, "posterior")

    @property
    def _must_compare(self) -> bool:
        """Return whether the matrix is a guess that must be tested on held-out labels.

        A fit that makes the guess itself has tested it.
        """
        given = getattr(final_step(self.estimator)[0], "confusion", None)
        return self.criterion is None and not self.takes_truth and is_guess(given)

    def _through_matrix(self, model: Any) -> LabelScores:
        """Score by the posterior, unless C is a guess that predicts labels no better."""
        read = partial(_probabilities_and_evidence, labels=self.labels)
        probability, evidence = np.hsplit(self._out_of_fold(model, read), 2)
        calibrated = sharpened(probability, evidence, self.ranked)
        if self._must_compare:
            plain = self._probability(with_parameters(model, confusion=None), believe=True)
            if not matrix_helps(calibrated, evidence, plain, self.labels.observed, self.ranked):
                return LabelScores(plain, "self_confidence")
        return LabelScores(posterior_given(calibrated, evidence), "posterior")

    def _without_matrix(self, model: Any) -> LabelScores:
        """Score by a model that takes labels as clean, and a matrix guessed from it."""
        if self.criterion == "self_confidence":  # the model's own probabilities, with or without C
            return LabelScores(self._probability(model), self.criterion)
        if hasattr(final_step(model)[0], "confusion"):
            model = with_parameters(model, confusion=None)
        probability = self._probability(model, believe=True)
        return judge_labels(probability, self.labels.observed, self.ranked, self.criterion)

    def _probability(self, model: Any, believe: bool = False) -> FloatArray:
        read = partial(class_probabilities, classes=self.labels.classes)
        return self._out_of_fold(model, read, believe)

    def _out_of_fold(self, model: Any, read: Any, believe: bool = False) -> FloatArray:
        """Return what `read` finds, averaged over sets of folds.

        With `believe`, models are fitted to the best known label of every row, without `y_true`.
        """
        y, params = (self.best_known, {}) if believe else (self.targets, self.params)
        if self.folds is None:
            return np.asarray(
                read(clone(model).fit(self.X, y, **params), self.X, np.arange(len(y)))
            )
        tables = [
            out_of_fold(model, self.X, y, splits, read, params=params, n_jobs=self.n_jobs)
            for splits in self.folds
        ]
        return np.asarray(np.mean(tables, axis=0))

    def _takes_labels_as_clean(self, final: Any) -> bool:
        """Return whether there is no matrix for a posterior."""
        given = getattr(final_step(self.estimator)[0], "confusion", self)
        if given is None and not self.takes_truth:
            return True
        matrix = getattr(final, "confusion_", None)  # the fit may have preferred the identity
        return matrix is not None and bool(np.array_equal(matrix, np.eye(len(matrix))))


def ranking_folds(labels: EncodedLabels, cv: Any, n_repeats: int, seed: Seed) -> list[list[Split]]:
    """Split the rows to be ranked; rows with a known truth are in every training part."""
    rng = make_random_state(seed)
    unknown = labels.truth == MISSING
    ranked, trusted = np.flatnonzero(unknown), np.flatnonzero(~unknown)
    if not isinstance(cv, Integral):
        best_known = np.where(unknown, labels.observed, labels.truth)
        folds = make_folds(best_known, labels.classes, cv, rng)
        return [[(np.union1d(train, trusted), test[unknown[test]]) for train, test in folds]]
    codes, anchored = labels.observed[ranked], labels.truth[trusted]
    sets = [make_folds(codes, labels.classes, cv, rng, anchored) for _ in range(n_repeats)]
    return [
        [(np.union1d(ranked[train], trusted), ranked[test]) for train, test in folds]
        for folds in sets
    ]


def _makes_choices(final: Any) -> bool:
    """Return whether a fit chooses settings, or relabels rows in its own folds."""
    automatic = any(
        isinstance(value, str) and value == "auto" for value in parameters(final).values()
    )
    return hasattr(final, "label_posterior") and (automatic or bool(getattr(final, "relabel", 0)))


def _with_choices(estimator: Any, fitted: Any) -> Any:
    """Fix the settings that a fit to all rows chose, without relabelling."""
    given, done = parameters(estimator), final_step(fitted)[0]
    chosen: dict[str, Any] = {
        name: getattr(done, f"{name}_")
        for name, value in given.items()
        if isinstance(value, str) and isinstance(getattr(done, f"{name}_", None), Real)
    }
    if "relabel" in given:
        chosen["relabel"] = 0
    matrix = given.get("confusion")
    if is_guess(matrix) or (isinstance(matrix, str) and matrix == "auto"):
        chosen["confusion"] = getattr(done, "guessed_confusion_", None) or matrix
    return with_parameters(estimator, **chosen)


def _probabilities_and_evidence(
    fitted: Any, X: Rows, test: IntArray, *, labels: EncodedLabels
) -> FloatArray:
    """Return P(true class | x), then P(label | true class), (n, 2 Q).

    The latter is 1 for labels unknown to the model. A model without `confusion_` gives a posterior
    only, which then takes the place of the former.
    """
    classes, codes = labels.classes, labels.observed[test]
    final, _ = final_step(fitted)
    known = encode_labels(final.classes_, classes=classes, missing_label=None).observed
    rows = np.flatnonzero(np.isin(codes, known))
    table = aligned_columns(fitted.predict_proba(X), final, classes)
    evidence = np.ones(table.shape)
    if hasattr(final, "confusion_"):
        chances = np.zeros((len(classes), len(classes)))
        chances[np.ix_(known, known)] = final.confusion_
        evidence[rows] = chances[:, codes[rows]].T
    elif len(rows):
        inner = _safe_indexing(X, rows)
        inner = inner if final is fitted else fitted[:-1].transform(inner)
        posterior = final.label_posterior(inner, classes[codes[rows]])
        table[rows] = aligned_columns(posterior, final, classes)
    return np.hstack([table, evidence])
