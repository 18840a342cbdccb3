"""How likely each label is wrong, by models that have not seen the row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from unconfused._pipelines import final_step
from unconfused._report.analysis.case import Case
from unconfused._report.analysis.confusion_source import ConfusionSource
from unconfused._typing import FloatArray, IntArray
from unconfused.confusion.cross_validated import Split, stratified_folds
from unconfused.confusion.estimate import ConfusionEstimate, is_guess
from unconfused.confusion.estimation.label_quality import matrix_helps
from unconfused.confusion.estimation.sharpness import best_power, posterior_given, sharpen
from unconfused.estimators import (
    UMAClassifier,
    UnconfusedClassifier,
    UnconfusedLogisticRegression,
)
from unconfused.estimators._noisy import passed_confusion
from unconfused.estimators.annotators.crowd import evidence_of, join_silence
from unconfused.estimators.wrapping.soft_rounds import CrossFitted

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

    believed: FloatArray | None = None
    """P(label | row), (n, Q), by models that believe the labels: set where the matrix is a guess
    and these predict held-out labels as well as models through it. They rank rows better then."""

    @cached_property
    def suspicion(self) -> FloatArray:
        """What rows are ranked by: `wrong`, or 1 - P(label | row) where that ranks better."""
        if self.believed is None:
            return self.wrong
        own = self.believed[np.arange(len(self.case.observed)), self.case.observed]
        return np.where(self.case.labelled, np.clip(1.0 - own, 0.0, 1.0), 0.0)

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


def evidence_for(
    case: Case, matrix: FloatArray, annotator_matrices: FloatArray | None = None
) -> FloatArray:
    """Return the chance of what was seen on each row given each true class, (n, Q)."""
    if case.votes is not None:
        if annotator_matrices is None:
            annotator_matrices = case.final.annotator_confusion_
        silence = getattr(case.final, "annotator_silence_", None)
        return evidence_of(case.crowd, join_silence(annotator_matrices, silence))[0]
    evidence = np.ones((len(case.observed), case.n_classes))
    evidence[case.labelled] = matrix[:, case.observed[case.labelled]].T
    evidence[case.trusted] = np.eye(case.n_classes)[case.truth[case.trusted]]
    return evidence


def make_judge(case: Case, matrix: Any) -> Any:
    """Return an unfitted learner with probabilities through this matrix; it takes codes."""
    codes: dict[str, Any] = {"classes": np.arange(case.n_classes), "missing_label": -1}
    if isinstance(case.final, UMAClassifier):
        learner = UnconfusedLogisticRegression(
            matrix, refine=False, fit_intercept=case.final.fit_intercept, **codes
        )
        return learner.set_params(n_jobs=case.final.n_jobs, noisy_weight=1.0)
    if isinstance(case.final, UnconfusedClassifier):
        learner = clone(case.final).set_params(verbose=0, **codes)
        return learner if case.votes is not None else learner.set_params(confusion=matrix)
    learner = clone(case.final).set_params(warm_start=False, verbose=0)
    if isinstance(case.final.relabel, str):
        learner.set_params(relabel=int(case.final.relabel_))
    if case.votes is not None:
        return learner.set_params(**codes)
    # Matrix, weight and penalty stay as the fit found them: they are a few numbers for all rows.
    weight = case.final.noisy_weight_
    learner.set_params(l2=getattr(case.final, "l2_", case.final.l2))
    passed = passed_confusion(case.final)
    if is_guess(passed):
        matrix = ConfusionEstimate(matrix, matrix, codes["classes"], caveat=passed.caveat)
    return learner.set_params(confusion=matrix, refine=False, noisy_weight=weight, **codes)


def judge_rows(case: Case, source: ConfusionSource, seed: int, cross_fit: bool) -> Judgement:
    """Ask about every row a model fitted without it (or, if not `cross_fit`, with it)."""
    if cross_fit and isinstance(case.final, UnconfusedClassifier):
        known = _judged_by_its_folds(case, source.judging)
        if known is not None:
            return known
    everything = np.arange(len(case.observed))
    splits = _folds(case, seed) if cross_fit else [(everything, everything)]
    probability = _out_of_fold(case, source.judging, splits, seed)
    judged = bring_labels_in(case, probability, source.judging)
    guessed = source.kind == "guessed" or is_guess(passed_confusion(case.final))
    rows = np.flatnonzero(case.labelled & ~case.trusted)
    if not (guessed and cross_fit and case.votes is None and len(rows)):
        return judged
    believed = _out_of_fold(case, np.eye(case.n_classes), splits, seed)
    fair, evidence = sharpen(probability, judged.power), evidence_for(case, source.judging)
    if matrix_helps(fair, evidence, believed, case.observed, rows):
        return judged
    return replace(judged, believed=believed)


def _out_of_fold(case: Case, matrix: FloatArray, splits: list[Split], seed: int) -> FloatArray:
    """Return P(true class | row) by models through a matrix, fitted on the training parts."""
    judge = case.with_final(make_judge(case, matrix))
    probability = np.empty((len(case.observed), case.n_classes))
    rng = np.random.RandomState(seed)
    for train, test in splits:
        train = some_rows(train, case, rng)
        truth = {f"{case.prefix}{k}": v for k, v in case.truth_for_fit(train).items()}
        fitted = clone(judge).fit(_safe_indexing(case.X, train), case.targets(train), **truth)
        for some in np.array_split(test, -(-len(test) // JUDGED_ROWS)):
            probability[some] = fitted.predict_proba(_safe_indexing(case.X, some))
    return probability


def _judged_by_its_folds(case: Case, matrix: FloatArray) -> Judgement | None:
    """Return what the folds of a fit say, of the model itself or fitted anew; None without folds.

    To leave out rows once more would multiply dozens of fits.
    """
    found = known_folds(case)
    if found is None:
        everything = np.arange(len(case.observed))
        truth = {f"{case.prefix}{k}": v for k, v in case.truth_for_fit(everything).items()}
        judge = case.with_final(make_judge(case, matrix))
        fitted = judge.fit(case.X, case.targets(everything), **truth)
        found = vars(final_step(fitted)[0]).get("_cross_fitted")
    if found is None:
        return None
    return Judgement(case, found.probability, 1.0, found.posterior)


def known_folds(case: Case) -> CrossFitted | None:
    """Return what the folds of a fit to these very rows say, if the model knows it."""
    found: CrossFitted | None = vars(case.final).get("_cross_fitted")
    codes = np.where(case.trusted, case.n_classes + case.truth, case.observed)
    return found if case.votes is None and found is not None and found.of(codes) else None


def some_rows(rows: IntArray, case: Case, rng: np.random.RandomState) -> IntArray:
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
    if case.votes is not None:
        from unconfused._report.analysis.vote_powers import vote_powers

        power, evidence_power = vote_powers(
            case.crowd, probability, case.final.annotator_confusion_
        )
        evidence = evidence**evidence_power
    else:
        power = best_power(probability, evidence)
    posterior = posterior_given(sharpen(probability, power), evidence)
    return Judgement(case, probability, power, posterior)


def _folds(case: Case, seed: int) -> list[Split]:
    # Trusted rows are spread over the folds: a class may have few, and a fold should not take all.
    best_known = np.where(case.trusted, case.truth + case.n_classes, case.observed)
    n_folds = min(FOLDS, len(best_known))
    if n_folds < 2:
        raise ValueError("A report needs at least two rows, to judge each by the others.")
    return stratified_folds(best_known, n_folds, seed)
