"""Out-of-fold evaluation of every row's label."""

from __future__ import annotations

import warnings
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from unconfused._labels import MISSING, EncodedLabels, encode_labels
from unconfused._matrix import GuessedConfusionWarning, LabelNoiseWarning
from unconfused._pipelines import final_step
from unconfused._random import random_state as make_random_state
from unconfused._typing import FloatArray, IntArray, Labels, Rows, Seed
from unconfused.confusion.cross_validated import (
    Split,
    aligned_columns,
    class_probabilities,
    in_row_order,
    make_folds,
    out_of_fold,
)
from unconfused.confusion.estimate import is_guess
from unconfused.confusion.estimation.label_quality import (
    Criterion,
    Judged,
    judge_labels,
    matrix_helps,
    sharpened,
)
from unconfused.confusion.estimation.sharpness import posterior_given


class RowJudge:
    """An estimator with its labels, and what is computed for each row.

    Parameters
    ----------
    estimator : a classifier with `label_posterior` or `predict_proba`
    labels : of all rows; each has a label or a truth
    criterion : what to rank by, None to choose
    """

    def __init__(self, estimator: Any, labels: EncodedLabels, criterion: Criterion | None) -> None:
        self.estimator, self.labels, self.criterion = estimator, labels, criterion
        final, prefix = final_step(estimator)
        self.has_posterior = criterion != "self_confidence" and hasattr(final, "label_posterior")
        if not self.has_posterior and not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"{type(estimator).__name__} has neither label_posterior nor predict_proba, so it "
                "cannot say how likely a label is wrong."
            )
        self.trusted = np.flatnonzero(labels.truth != MISSING)
        self.ranked = np.flatnonzero(labels.truth == MISSING)
        self.best_known = np.where(labels.truth != MISSING, labels.truth, labels.observed)
        self.targets, self.params = labels.classes[self.best_known], dict[str, Labels]()
        self.takes_truth = len(self.trusted) > 0 and has_fit_parameter(final, "y_true")
        if self.takes_truth:
            self.params = {f"{prefix}y_true": _decode(labels.truth, labels.classes)}
            self.targets = _decode(labels.observed, labels.classes)

    def judge(
        self, X: Rows, cv: Any, n_repeats: int, cross_fit: bool, seed: Seed, n_jobs: int | None
    ) -> Judged:
        """Return a table to rank the labels by."""
        self.X, self.n_jobs = X, n_jobs
        self.splits = self._splits(cv, n_repeats, seed) if cross_fit else None
        model: Any = self.estimator
        final: Any = None
        if _makes_choices(final_step(model)[0]):
            with warnings.catch_warnings():  # of labels that look wrong: that is what is asked
                warnings.simplefilter("ignore", LabelNoiseWarning)
                warnings.simplefilter("ignore", GuessedConfusionWarning)
                fitted = clone(model).fit(X, self.targets, **self.params)
            model, final = _with_choices(model, fitted), final_step(fitted)[0]
        if not self.has_posterior or self._believes_labels(final):
            return self._plain(model)
        # Without a round made, its posteriors are those of one set of folds: ours are of several.
        rounds = cross_fit and bool(getattr(final, "relabel_", 1))
        if not rounds or not hasattr(final, "cross_fitted_posterior_"):
            return self._through_matrix(model)
        if self._must_compare(model):
            found = self._through_matrix(model)
            if found.criterion == "self_confidence":
                return found
        table = aligned_columns(final.cross_fitted_posterior_, final, self.labels.classes)
        return Judged(table, "posterior")

    def _must_compare(self, model: Any) -> bool:
        """Return whether the matrix is a guess that must be tested on held-out labels."""
        return self.criterion is None and not self.takes_truth and _guesses(model)

    def _through_matrix(self, model: Any) -> Judged:
        """Judge through the model's matrix, unless that is a guess that predicts no better."""
        read = partial(_through, labels=self.labels)
        tables = [np.hsplit(table, 2) for table in self._asked(model, read, self.params)]
        probability = np.mean([table for table, _ in tables], axis=0)
        evidence = np.mean([table for _, table in tables], axis=0)
        fair = sharpened(probability, evidence, self.ranked)
        if self._must_compare(model):
            direct = self._probability(_without_matrix(model))
            if not matrix_helps(fair, evidence, direct, self.labels.observed, self.ranked):
                return Judged(direct, "self_confidence")
        return Judged(posterior_given(fair, evidence), "posterior")

    def _plain(self, model: Any) -> Judged:
        """Judge by a model of the labels as they are, and a matrix guessed from it."""
        if self.criterion == "self_confidence":  # whatever the model, its own probabilities
            return Judged(self._probability(model, self.params), self.criterion)
        if hasattr(final_step(model)[0], "confusion"):
            model = _without_matrix(model)
        probability = self._probability(model)
        return judge_labels(probability, self.labels.observed, self.ranked, self.criterion)

    def _probability(self, model: Any, params: dict[str, Labels] | None = None) -> FloatArray:
        read = partial(class_probabilities, classes=self.labels.classes)
        return np.asarray(np.mean(self._asked(model, read, params), axis=0))

    def _asked(self, model: Any, read: Any, params: dict[str, Labels] | None = None) -> list[Any]:
        """Return out-of-fold results, once per set of folds; those of trusted rows are 0."""
        targets = self.labels.classes[self.best_known] if params is None else self.targets
        if self.splits is None:
            fitted = clone(model).fit(self.X, targets, **(params or {}))
            return [read(fitted, self.X, np.arange(len(self.best_known)))]
        tables = []
        for splits in self.splits:
            parts = out_of_fold(
                model, self.X, targets, splits, read, params=params, n_jobs=self.n_jobs
            )
            # Trusted rows are in every training part: the models have seen them.
            some = in_row_order(parts, splits)
            table = np.zeros((len(self.best_known), some.shape[1]))
            table[self.ranked] = some
            tables.append(table)
        return tables

    def _splits(self, cv: Any, n_repeats: int, seed: Seed) -> list[list[Split]]:
        """Split the rows to be ranked; trusted rows are trained on in every fold."""
        rng = make_random_state(seed)
        if not isinstance(cv, Integral):
            keep = self.labels.truth == MISSING
            folds = make_folds(self.best_known, self.labels.classes, cv, rng)
            return [[(np.union1d(train, self.trusted), test[keep[test]]) for train, test in folds]]
        codes, anchored = self.labels.observed[self.ranked], self.labels.truth[self.trusted]
        sets = []
        for _ in range(n_repeats):
            folds = make_folds(codes, self.labels.classes, cv, rng, anchored=anchored)
            sets.append(
                [
                    (np.union1d(self.ranked[train], self.trusted), self.ranked[test])
                    for train, test in folds
                ]
            )
        return sets

    def _believes_labels(self, final: Any) -> bool:
        """Return whether there is no matrix that a posterior could be taken through."""
        given = getattr(final_step(self.estimator)[0], "confusion", self)
        if given is None and not self.takes_truth:
            return True
        matrix = getattr(final, "confusion_", None)  # of a fit that may prefer to believe labels
        return matrix is not None and bool(np.array_equal(matrix, np.eye(len(matrix))))


def _settings(final: Any) -> dict[str, Any]:
    return dict(final.get_params(deep=False)) if hasattr(final, "get_params") else {}


def _makes_choices(final: Any) -> bool:
    """Return whether a fit chooses settings, or relabels rows in its own folds."""
    automatic = any(
        isinstance(value, str) and value == "auto" for value in _settings(final).values()
    )
    return hasattr(final, "label_posterior") and (automatic or bool(getattr(final, "relabel", 0)))


def _with_choices(estimator: Any, fitted: Any) -> Any:
    """Fix the numbers that a fit on all rows chose, and leave out rounds: they have own folds."""
    final, prefix = final_step(estimator)
    done, _ = final_step(fitted)
    chosen: dict[str, Any] = {
        name: getattr(done, f"{name}_")
        for name, value in _settings(final).items()
        if isinstance(value, str) and isinstance(getattr(done, f"{name}_", None), Real)
    }
    if hasattr(final, "relabel"):
        chosen["relabel"] = 0
    if _guesses(final):  # a guess is made once, and again only if one was passed
        chosen["confusion"] = getattr(done, "guessed_confusion_", None) or final.confusion
    return clone(estimator).set_params(**{f"{prefix}{name}": v for name, v in chosen.items()})


def _without_matrix(estimator: Any) -> Any:
    _, prefix = final_step(estimator)
    return clone(estimator).set_params(**{f"{prefix}confusion": None})


def _guesses(estimator: Any) -> bool:
    """Return whether the matrix was, or will be, guessed from the noisy labels."""
    given = getattr(final_step(estimator)[0], "confusion", None)
    return is_guess(given) or (isinstance(given, str) and given == "auto")


def _decode(codes: IntArray, classes: Labels) -> Labels:
    """Turn codes back into labels, None where missing."""
    if np.all(codes != MISSING):
        return np.asarray(classes[codes])
    labels = classes.astype(object)[codes]
    labels[codes == MISSING] = None
    return np.asarray(labels)


def _through(fitted: Any, X: Rows, test: IntArray, *, labels: EncodedLabels) -> FloatArray:
    """Return probabilities of the true classes, then the chance of the label given each, (n, 2 Q).

    The chances are 1 where the model never met the label, or where it only gives a posterior,
    which then takes the place of the probabilities.
    """
    classes, codes = labels.classes, labels.observed[test]
    final, _ = final_step(fitted)
    met = encode_labels(final.classes_, classes=classes, missing_label=None).observed
    rows = np.flatnonzero(np.isin(codes, met))
    table = aligned_columns(fitted.predict_proba(X), final, classes)
    evidence = np.ones(table.shape)
    if hasattr(final, "confusion_"):
        chances = np.zeros((len(classes), len(classes)))
        chances[np.ix_(met, met)] = final.confusion_
        evidence[rows] = chances[:, codes[rows]].T
    elif len(rows):
        inner = _safe_indexing(X, rows)
        inner = inner if final is fitted else fitted[:-1].transform(inner)
        asked = final.label_posterior(inner, classes[codes[rows]])
        table[rows] = aligned_columns(asked, final, classes)
    return np.hstack([table, evidence])
