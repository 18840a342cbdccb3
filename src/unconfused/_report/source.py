"""Which confusion matrix a report uses, and where it comes from."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from unconfused._labels import count_pairs
from unconfused._matrix_labels import (
    align_confusion,
    aligned_counts,
    differs_from,
    is_guess,
    places_of,
)
from unconfused._text import count
from unconfused._text.wrong_labels import SOURCES, Basis, WrongLabels, joint_table, wrong_labels
from unconfused._typing import FloatArray, Labels
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.confusion.noisy import from_noisy
from unconfused.estimators._card import passed_confusion
from unconfused.estimators.annotators.crowd import answers_of, evidence_of

if TYPE_CHECKING:
    from unconfused._report.case import Case

ROWS_TO_GUESS_FROM = 10_000
"""More rows would make a guess slower, not better."""


@dataclass(frozen=True)
class ConfusionSource:
    """C, where it comes from, and how many labels are wrong by it.

    Attributes
    ----------
    kind : what it is based on
    judging : the matrix to compute posteriors with: the one the model was fitted through, in which
        a pair that was never counted is unlikely, not impossible
    wrong : the share of wrong labels, and the most frequent mix-up
    basis : what `wrong` is based on, in words
    words : where the matrix comes from, and whether it is good enough
    estimate : C as shown, with the counts behind it; None if `judging` is taken as exact
    """

    kind: Basis
    judging: FloatArray
    wrong: WrongLabels
    basis: str
    words: str
    estimate: ConfusionEstimate | None = None

    @property
    def matrix(self) -> FloatArray:
        """C as shown."""
        return self.judging if self.estimate is None else self.estimate.matrix

    @property
    def counts(self) -> FloatArray | None:
        """What C was counted on; None if it is taken as exact."""
        return None if self.estimate is None else self.estimate.counts


def checked_in_words(truth: Any, observed: Any, both: Any) -> str:
    """Say how many rows have a label and a truth, and how many of these labels are wrong."""
    wrong = int(np.sum(truth[both] != observed[both]))
    return f"{count(both.sum(), 'checked row')}, of which {wrong:,} carry a wrong label"


def find_source(case: Case, seed: int) -> ConfusionSource:
    """Say where the model's matrix came from; where it was only assumed, guess one."""
    matrix = np.asarray(case.final.confusion_, dtype=np.float64)
    if case.votes is not None:
        return _from_votes(case, matrix)
    if passed_confusion(case.final) is not None:
        return _from_argument(case, matrix)
    if (case.trusted & case.labelled).any():
        return _from_trusted(case, matrix)
    if np.array_equal(matrix, np.eye(case.n_classes)):
        return _guess(case, seed)
    words = "As found by the fit; what it was counted from was not passed to this report."
    return _taken_as_exact(case, matrix, "fitted", words)


def sampled_source(source: ConfusionSource, counts: FloatArray, classes: Labels) -> ConfusionSource:
    """Replace the model's matrix by that counted on a random sample of checked rows."""
    sample = _with_rows_of(source.matrix, counts, classes)
    words = (
        f"Counted on {count(counts.sum(), 'row')} drawn at random. The model was fitted through an "
        f"estimate that also uses the features and all other labels. {sample.verdict}"
    )
    return replace(
        source,
        kind="trusted",
        wrong=wrong_labels(counts, "trusted"),
        words=words,
        estimate=sample,
    )


def _with_rows_of(matrix: FloatArray, counts: FloatArray, classes: Labels) -> ConfusionEstimate:
    """Return C as counted, with the rows of another matrix for classes that were not."""
    counted = ConfusionEstimate.from_counts(counts, classes).matrix
    seen = counts.sum(axis=1, keepdims=True) > 0
    return ConfusionEstimate(np.where(seen, counted, matrix), counts, classes)


def _taken_as_exact(case: Case, matrix: FloatArray, kind: Basis, words: str) -> ConfusionSource:
    wrong = wrong_labels(joint_table(matrix, case.final.class_prior_), kind)
    return ConfusionSource(kind, matrix, wrong, _basis(kind, GIVEN), words)


GIVEN = "the confusion matrix given with the model"
REFINED = " The model used this matrix as refined with all rows."


def _basis(kind: Basis, where: str = "") -> str:
    return SOURCES[kind].format(where=where, option="")


def _counted(
    kind: Basis,
    estimate: ConfusionEstimate,
    fitted: FloatArray,
    wrong: WrongLabels,
    where: str,
    words: str,
) -> ConfusionSource:
    """Return a source with the counts behind it: one even answer per class is added to them."""
    size = estimate.counts.sum(axis=1, keepdims=True)
    judging = np.asarray((fitted * size + 1.0 / len(fitted)) / (size + 1.0))
    return ConfusionSource(kind, judging, wrong, _basis(kind, where), words, estimate)


def _from_trusted(case: Case, matrix: FloatArray) -> ConfusionSource:
    counts = count_pairs(case.truth, case.observed, case.n_classes)
    estimate = _with_rows_of(matrix, counts, case.classes)
    words = f"Counted on the {int(counts.sum()):,} rows whose truth and label are both known."
    if np.array_equal(matrix, np.eye(case.n_classes)):
        if not np.array_equal(matrix, estimate.matrix):
            words += " The fit did not use it, but took the other labels, if any, as right."
        matrix = estimate.matrix
    elif differs_from(counts, matrix):  # the refined matrix explains errors of the model, too
        words += " The fit refined it with all rows, beyond what the counts allow: labels are "
        words += "judged by the counts."
        matrix = estimate.matrix
    elif np.abs(estimate.matrix - matrix).max() > 0.005:
        words += REFINED
    where = checked_in_words(case.truth, case.observed, case.trusted & case.labelled)
    wrong = wrong_labels(counts, "trusted")
    return _counted("trusted", estimate, matrix, wrong, where, f"{words} {estimate.verdict}")


def _from_argument(case: Case, matrix: FloatArray) -> ConfusionSource:
    given = passed_confusion(case.final)
    counts = aligned_counts(given, case.classes)
    if counts is None or not isinstance(given, ConfusionEstimate):
        words = "Given with the model, without the counts behind it; the report takes it as exact."
        return _taken_as_exact(case, matrix, "given", words)
    kind: Basis = "guessed" if is_guess(given) else "estimated"
    words = f"An estimate given with the model, from {counts.sum():,.0f} counts."
    if kind == "guessed":
        words = "Estimated from the features and the labels alone. Intervals treat the guessed "
        words += "truth as known, so they are too narrow."
    shown = align_confusion(given, case.classes)
    if np.abs(shown - matrix).max() > 0.005:
        words += REFINED
    estimate = ConfusionEstimate(shown, counts, case.classes, caveat=given.caveat)
    wrong = _renumbered(given.wrong_labels(kind), given.classes, case.classes)
    return _counted(kind, estimate, matrix, wrong, GIVEN, f"{words} {estimate.verdict}")


def _renumbered(found: WrongLabels, names: Labels, classes: Labels) -> WrongLabels:
    """Return places among the sorted classes."""
    order, pair = places_of(names, classes), found.pair
    joint = None if found.joint is None else found.joint[np.ix_(order, order)]
    if pair is not None:
        true, label = np.argsort(order)[[*pair]].tolist()
        pair = (true, label)
    return replace(found, pair=pair, joint=joint)


def _from_votes(case: Case, matrix: FloatArray) -> ConfusionSource:
    assert case.votes is not None
    crowd, matrices = answers_of(case.final, case.votes, case.truth)
    joint = case.final.predict_proba(case.features) * evidence_of(crowd, matrices)[0]
    counts = crowd.counts(joint / joint.sum(axis=1, keepdims=True)).sum(axis=0)
    counts = counts[:, : case.n_classes]  # without silence
    annotators, answers = case.votes.n_annotators, len(case.votes)
    words = (
        f"All {annotators:,} annotators together, as the fit found them from {answers:,} answers. "
        "The intervals treat the estimated truth as known, so they are too narrow."
    )
    where = f"{count(annotators, 'annotator')} in {count(answers, 'answer')}"
    estimate = ConfusionEstimate(matrix, counts, case.classes)
    wrong = wrong_labels(counts, "votes")
    return _counted("votes", estimate, matrix, wrong, where, words)


def _guess(case: Case, seed: int) -> ConfusionSource:
    """Guess C from the labels alone; keep the identity where even that is impossible."""
    rows = np.flatnonzero(case.labelled & ~case.trusted)
    X, y = _safe_indexing(case.features, rows), case.classes[case.observed[rows]]
    try:
        # A guess need not be exact.
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            found = guess_confusion(X, y, case.classes, seed)
    except ValueError as error:
        words = f"Labels were taken as right, and a guess from them failed: {error}"
        identity = np.eye(case.n_classes)
        wrong, basis = wrong_labels(identity, "assumed"), _basis("assumed")
        return ConfusionSource("assumed", identity, wrong, basis, words)
    words = (
        "Guessed from the features and the labels alone (confusion.from_noisy): the model was "
        "fitted as if every label were right. Intervals treat the guessed truth as known, so they "
        "are too narrow."
    )
    wrong = found.wrong_labels("guessed")
    return _counted("guessed", found, found.matrix, wrong, "", f"{words} {found.caveat}")


def guess_confusion(X: Any, y: Labels, classes: Labels, seed: int) -> ConfusionEstimate:
    """Estimate C from features and labels alone, on a sample if there are many rows."""
    if len(y) > ROWS_TO_GUESS_FROM:
        drawn = np.random.RandomState(seed).choice(len(y), ROWS_TO_GUESS_FROM, replace=False)
        X, y = _safe_indexing(X, np.sort(drawn)), y[np.sort(drawn)]
    given: dict[str, Any] = {"classes": classes, "missing_label": None, "random_state": seed}
    try:
        return from_noisy(X, y, **given)
    except ValueError:
        # A class without a single confident row: smooth rather than fail.
        return from_noisy(X, y, smoothing=1.0, **given)
