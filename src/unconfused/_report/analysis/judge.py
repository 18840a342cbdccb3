"""How likely each label is wrong, by models that have not seen the row."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import _safe_indexing

from unconfused._report.analysis.case import Case
from unconfused._report.analysis.confusion_source import ConfusionSource
from unconfused._report.analysis.evidence import evidence_for
from unconfused._typing import FloatArray, IntArray
from unconfused.confusion.estimate import ConfusionEstimate, is_guess
from unconfused.confusion.estimation.sharpness import best_power, posterior_given, sharpen
from unconfused.estimators import UMAClassifier, UnconfusedLogisticRegression

FOLDS = 5

MOST_TRAINED = 200_000
"""Rows, at most, that a model of a fold learns from: more would hardly judge better, and need not
fit into memory."""

JUDGED_ROWS = 2**16
"""Rows that are judged at a time."""


@dataclass(frozen=True)
class Judgement:
    """The probability of every true class on every row, before and after seeing the label."""

    case: Case
    probability: FloatArray
    """P(true class | row), (n, Q), as the models say it."""

    power: float
    """What these were raised to: above 1 if the models were less sure than the labels warrant."""

    posterior: FloatArray
    """P(true class | row, label), (n, Q); certain where the truth is known."""

    @cached_property
    def wrong(self) -> FloatArray:
        """Probability that the label is wrong; 0 where there is none."""
        case = self.case
        own = self.posterior[np.arange(len(case.observed)), case.observed]
        return np.where(case.labelled, np.clip(1.0 - own, 0.0, 1.0), 0.0)

    @property
    def wrong_share(self) -> float:
        """Share of the labels expected to be wrong, those known to be wrong included."""
        return float(self.wrong.sum() / max(1, int(self.case.labelled.sum())))

    @cached_property
    def pairs(self) -> FloatArray:
        """Rows to expect by true class and label, (Q, Q)."""
        counts = np.zeros((self.case.n_classes, self.case.n_classes))
        for label in range(self.case.n_classes):
            counts[:, label] = self.posterior[self.case.observed == label].sum(axis=0)
        return counts


def make_judge(case: Case, matrix: Any) -> Any:
    """Return an unfitted logistic regression through this matrix; labels are codes for it."""
    codes: dict[str, Any] = {"classes": np.arange(case.n_classes), "missing_label": -1}
    if isinstance(case.final, UMAClassifier):
        learner = UnconfusedLogisticRegression(
            matrix, refine=False, fit_intercept=case.final.fit_intercept, **codes
        )
        return learner.set_params(n_jobs=case.final.n_jobs, noisy_weight=1.0)
    learner = clone(case.final).set_params(warm_start=False, verbose=0)
    if case.votes is not None:
        return learner.set_params(**codes)
    # The matrix and the weight stay as the fit found them: they are a few numbers for all rows.
    weight = case.final.noisy_weight_
    if is_guess(case.final.confusion):
        caveat = case.final.confusion.caveat
        matrix = ConfusionEstimate(matrix, matrix, codes["classes"], caveat=caveat)
    return learner.set_params(confusion=matrix, refine=False, noisy_weight=weight, **codes)


def judge_rows(case: Case, source: ConfusionSource, seed: int, cross_fit: bool) -> Judgement:
    """Ask about every row a model fitted without it (or, if not `cross_fit`, with it)."""
    judge = case.with_final(make_judge(case, source.judging))
    everything = np.arange(len(case.observed))
    splits = _folds(case, seed) if cross_fit else iter([(everything, everything)])
    probability = np.empty((len(everything), case.n_classes))
    rng = np.random.RandomState(seed)
    for train, test in splits:
        train = _some(train, case, rng)
        truth = {f"{case.prefix}{k}": v for k, v in case.truth_for_fit(train).items()}
        fitted = clone(judge).fit(_safe_indexing(case.X, train), case.targets(train), **truth)
        for some in np.array_split(test, -(-len(test) // JUDGED_ROWS)):
            probability[some] = fitted.predict_proba(_safe_indexing(case.X, some))
    return bring_labels_in(case, probability, source.judging)


def _some(rows: IntArray, case: Case, rng: np.random.RandomState) -> IntArray:
    """Return not more rows than a model may learn from, those whose truth is known first."""
    if len(rows) <= MOST_TRAINED:
        return rows
    mixed = rng.permutation(rows)
    known_first = mixed[np.argsort(~case.trusted[mixed], kind="stable")]
    return np.sort(known_first[:MOST_TRAINED])


def bring_labels_in(
    case: Case,
    probability: FloatArray,
    matrix: FloatArray,
    annotator_matrices: FloatArray | None = None,
) -> Judgement:
    """Make probabilities as sure as the labels warrant, then bring the labels in."""
    evidence = evidence_for(case, matrix, annotator_matrices)
    power = best_power(probability, evidence)
    posterior = posterior_given(sharpen(probability, power), evidence)
    return Judgement(case, probability, power, posterior)


def _folds(case: Case, seed: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Split rows in folds that hold each class alike, as far as its rows go."""
    best_known = np.where(case.trusted, case.truth, case.observed)
    n_folds = min(FOLDS, len(best_known))
    if n_folds < 2:
        raise ValueError("A report needs at least two rows, to judge each by the others.")
    enough = np.bincount(best_known).max() >= n_folds
    folds = (StratifiedKFold if enough else KFold)(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        yield from folds.split(np.zeros(len(best_known)), best_known)
