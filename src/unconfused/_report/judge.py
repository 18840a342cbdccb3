"""How likely each label is wrong, by models that have not seen the row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import softmax
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from unconfused._matrix_labels import is_guess
from unconfused._pipelines import final_step
from unconfused._typing import FloatArray, IntArray
from unconfused.confusion._dawid_skene import Crowd
from unconfused.confusion.cross_validated import Split, stratified_folds
from unconfused.confusion.estimation.calibration import (
    best_power,
    judged_labels,
    posterior_given,
    sharpen,
    stacked,
)
from unconfused.confusion.estimation.class_probabilities import evidence_of as evidence_of_labels
from unconfused.confusion.estimation.label_quality import matrix_helps
from unconfused.estimators._card import passed_confusion
from unconfused.estimators.annotators.crowd import annotator_matrices, evidence_of, join_silence

if TYPE_CHECKING:
    from unconfused._report.case import Case
    from unconfused._report.source import ConfusionSource

FOLDS = 5

JUDGED_ROWS = 2**16
"""Rows scored at a time."""

STEPS = 5
"""EM iterations after votes were left out."""

LARGEST_POWER = 4.0
"""Powers of votes lie between this and its inverse."""

ENOUGH_VOTES, MOST_VOTES = 100, 50_000
"""Votes from which powers are chosen, and the held-out ones they are chosen on."""


@dataclass(frozen=True)
class Judgement:
    """The probability of every true class on every row, before and after seeing the label.

    Attributes
    ----------
    case : the rows
    probability : P(true class | row), (n, Q), as the models say it
    power : exponent that calibrates these on the labels: above 1 if the models are underconfident
    posterior : P(true class | row, label), (n, Q); certain where the truth is known
    believed : P(label | row), (n, Q), by models that take the labels as right: set, to rank rows
        by, if the matrix is a guess and these predict held-out labels as well as models through it
    """

    case: Case
    probability: FloatArray
    power: float
    posterior: FloatArray
    believed: FloatArray | None = None

    @property
    def suspicion(self) -> FloatArray:
        """What rows are ranked by: `wrong`, or 1 - P(label | row) where that ranks better."""
        return self._judged[0]

    @cached_property
    def wrong(self) -> FloatArray:
        """Probability that the label is wrong; 0 where there is none."""
        return judged_labels(self.posterior, self.case.observed)[0]

    @property
    def chances(self) -> FloatArray:
        """The table behind the ranking, (n, Q)."""
        return self.posterior if self.believed is None else self.believed

    @cached_property
    def _judged(self) -> tuple[FloatArray, IntArray]:
        return judged_labels(self.chances, self.case.observed)

    @property
    def suggested(self) -> IntArray:
        """The likeliest class of every row, by the same table."""
        return self._judged[1]

    @property
    def wrong_share(self) -> float:
        """Share of the labels expected to be wrong, those known to be wrong included."""
        return float(self.wrong.sum() / max(1, int(self.case.labelled.sum())))

    @cached_property
    def pairs(self) -> FloatArray:
        """Rows to expect by true class and label, (Q, Q)."""
        labels = np.arange(self.case.n_classes)
        return np.asarray(self.posterior.T @ (self.case.observed[:, np.newaxis] == labels))


def judge_rows(case: Case, source: ConfusionSource, seed: int) -> Judgement:
    """Ask about every row a model fitted without it."""
    if case.is_wrapper:
        known = _judged_by_its_folds(case, source.judging)
        if known is not None:
            return known
    splits = _folds(case, seed)
    probability = _out_of_fold(case, source.judging, splits, seed)
    through = source.judging if case.votes is None else case.final.annotator_confusion_
    judged = bring_labels_in(case, probability, through)
    guessed = source.kind == "guessed" or is_guess(passed_confusion(case.final))
    rows = np.flatnonzero(case.labelled & ~case.trusted)
    if not (guessed and case.votes is None and len(rows)):
        return judged
    asked = isinstance(case.final.confusion, str)  # to choose whether to learn through the guess
    if asked and hasattr(case.final, "guessed_confusion_"):
        return judged
    believed = _out_of_fold(case, np.eye(case.n_classes), splits, seed)
    fair, evidence = sharpen(probability, judged.power), _evidence(case, source.judging)
    if not asked and matrix_helps(fair, evidence, believed, case.observed, rows):
        return judged
    return replace(judged, believed=believed)


def _out_of_fold(case: Case, matrix: FloatArray, splits: list[Split], seed: int) -> FloatArray:
    """Return P(true class | row) by models through a matrix, fitted on the training parts."""
    judge = case.with_final(case.judge(matrix))
    probability = np.empty((len(case.observed), case.n_classes))
    rng = np.random.RandomState(seed)
    for train, test in splits:
        fitted = case.fit(clone(judge), case.X, case.some_rows(train, rng))
        for some in np.array_split(test, -(-len(test) // JUDGED_ROWS)):
            probability[some] = fitted.predict_proba(_safe_indexing(case.X, some))
    return probability


def _judged_by_its_folds(case: Case, matrix: FloatArray) -> Judgement | None:
    """Judge by the folds of the model's own fit, or of a new one; None if there are none.

    To leave out rows once more would multiply dozens of fits.
    """
    found = case.known_folds()
    if found is None:
        judge = case.with_final(case.judge(matrix))
        fitted = case.fit(judge, case.X, np.arange(len(case.observed)))
        found = vars(final_step(fitted)[0]).get("_cross_fitted")
    if found is None:
        return None
    return Judgement(case, found.probability, 1.0, found.posterior)


def bring_labels_in(case: Case, probability: FloatArray, matrices: FloatArray) -> Judgement:
    """Calibrate probabilities of unseen rows on the labels, then compute posteriors given these.

    They go through C, or with votes through the matrix of each annotator, (A, Q, Q).
    """
    evidence = _evidence(case, matrices)
    if case.votes is not None:
        known = case.final.annotator_confusion_
        power, evidence_power = vote_powers(case.crowd, probability, known)
        evidence = evidence**evidence_power
    else:
        power = best_power(probability, evidence)
    posterior = posterior_given(sharpen(probability, power), evidence)
    return Judgement(case, probability, power, posterior)


def _evidence(case: Case, matrices: FloatArray) -> FloatArray:
    """Return the chance of what was seen on each row given each true class, (n, Q)."""
    if case.votes is not None:
        silence = getattr(case.final, "annotator_silence_", None)
        return evidence_of(case.crowd, join_silence(matrices, silence))[0]
    evidence = evidence_of_labels(matrices, case.observed)
    evidence[case.trusted] = np.eye(case.n_classes)[case.truth[case.trusted]]
    return evidence


def _folds(case: Case, seed: int) -> list[Split]:
    # Trusted rows are spread over the folds: a class may have few, and a fold should not take all.
    best_known = np.where(case.trusted, case.truth + case.n_classes, case.observed)
    n_folds = min(FOLDS, len(best_known))
    if n_folds < 2:
        raise ValueError("A report needs at least two rows, to judge each by the others.")
    return stratified_folds(best_known, n_folds, seed)


def vote_powers(crowd: Crowd, probability: FloatArray, matrices: FloatArray) -> tuple[float, float]:
    """Return powers for the model's probabilities and for the evidence of the votes.

    Dawid and Skene's model takes votes for independent given the true class. They are not: some
    rows are hard for everyone, so a few agreeing votes prove less than the model says, and it finds
    too few wrong answers. Votes are therefore left out, the matrices counted again without them,
    and the two powers chosen that predict the votes left out best.
    """
    votes = crowd.indicators.tocoo()
    unknown = crowd.truth[votes.row] < 0
    if unknown.sum() < ENOUGH_VOTES or crowd.n_labels > crowd.n_classes:  # silence is an answer
        return 1.0, 1.0
    rng = np.random.RandomState(0)
    fold = np.where(unknown, rng.randint(FOLDS, size=votes.nnz), -1)
    logs, ones = np.log(np.maximum(probability, 1e-12)), np.ones(crowd.n_classes)
    parts = []
    for one in range(FOLDS):
        kept = fold != one
        cells = (votes.data[kept], (votes.row[kept], votes.col[kept]))
        seen = replace(crowd, indicators=csr_matrix(cells, shape=votes.shape))
        found = matrices
        for _ in range(STEPS):
            posterior = softmax(logs + seen.log_joint(found, ones), axis=1)
            found = annotator_matrices(seen, seen.fix_truth(posterior))
        left = rng.permutation(np.flatnonzero(~kept))[: MOST_VOTES // FOLDS]
        row, (who, what) = votes.row[left], np.divmod(votes.col[left], crowd.n_labels)
        parts.append((logs[row], seen.log_joint(found, ones)[row], found[who, :, what]))
    own, others, chance = (np.concatenate(some) for some in zip(*parts, strict=True))
    powers = stacked(np.array([own, others]), chance, np.ones(len(own)), np.ones(2))
    model, evidence = np.clip(powers, 1 / LARGEST_POWER, LARGEST_POWER).tolist()
    return model, evidence
