"""Which confusion matrix a report goes by, and where it comes from."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from unconfused._matrix import aligned_counts
from unconfused._text.words import count
from unconfused._text.wrong_labels import SOURCES, Basis, WrongLabels, joint_table, wrong_labels
from unconfused._typing import FloatArray, Labels
from unconfused.confusion.estimate import ConfusionEstimate, count_pairs, is_guess
from unconfused.confusion.noisy import from_noisy
from unconfused.estimators._noisy import passed_confusion
from unconfused.estimators.annotators.crowd import answers_of, evidence_of

if TYPE_CHECKING:
    from unconfused._report.case import Case

ROWS_TO_GUESS_FROM = 10_000
"""More rows would make a guess slower, not better."""


@dataclass(frozen=True)
class ConfusionSource:
    """C with what it rests on: the counts behind it, and how many labels are wrong by it."""

    kind: Basis
    matrix: FloatArray
    counts: FloatArray | None
    words: str
    wrong: WrongLabels
    quality: str = ""

    @cached_property
    def judging(self) -> FloatArray:
        """The matrix to judge rows by: a pair never counted is unlikely, not impossible.

        One even answer per class is added to the counts; a matrix given as known stays.
        """
        if self.counts is None:
            return self.matrix
        size = self.counts.sum(axis=1, keepdims=True)
        return np.asarray((self.matrix * size + 1.0 / len(self.matrix)) / (size + 1.0))

    def interval(self) -> tuple[FloatArray, FloatArray] | None:
        """Return the ends of 95 % credible intervals, None for a matrix that was not counted."""
        if self.counts is None:
            return None
        return ConfusionEstimate(self.matrix, self.counts, np.arange(len(self.matrix))).interval()

    def basis_in_words(self, case: Case) -> str:
        """Say what the share of wrong labels is based on."""
        where = ""
        if self.kind in ("given", "estimated"):
            where = "the confusion matrix given with the model"
        elif self.kind == "trusted":
            where = checked_in_words(case.truth, case.observed, case.trusted & case.labelled)
        elif case.votes is not None:
            annotators, answers = case.votes.n_annotators, len(case.votes)
            where = f"{count(annotators, 'annotator')} in {count(answers, 'answer')}"
        return SOURCES[self.kind].format(where=where, option="")


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


def _taken_as_exact(case: Case, matrix: FloatArray, kind: Basis, words: str) -> ConfusionSource:
    wrong = wrong_labels(joint_table(matrix, case.final.class_prior_), kind)
    return ConfusionSource(kind, matrix, None, words, wrong)


def _from_trusted(case: Case, matrix: FloatArray) -> ConfusionSource:
    counts = count_pairs(case.truth, case.observed, case.n_classes)
    counted = ConfusionEstimate.from_counts(counts, case.classes).matrix
    words = f"Counted on the {int(counts.sum()):,} rows whose truth and label are both known."
    if np.array_equal(matrix, np.eye(case.n_classes)):
        if not np.array_equal(matrix, counted):
            words += " The fit made no use of it: it took the other labels, if any, as right."
        matrix = counted
    elif np.abs(counted - matrix).max() > 0.005:
        words += " The fit then adjusted it to the other rows, so an entry may lie outside its "
        words += "interval, which covers the counting alone."
    quality = ConfusionEstimate(matrix, counts, case.classes).verdict
    wrong = wrong_labels(counts, "trusted")
    return ConfusionSource("trusted", matrix, counts, words, wrong, quality)


def _from_argument(case: Case, matrix: FloatArray) -> ConfusionSource:
    given = passed_confusion(case.final)
    counts = aligned_counts(given, case.classes)
    if counts is None or not isinstance(given, ConfusionEstimate):
        words = "Given with the model, without the counts behind it; the report takes it as exact."
        return _taken_as_exact(case, matrix, "given", words)
    kind: Basis = "guessed" if is_guess(given) else "estimated"
    words = f"An estimate given with the model, from {counts.sum():,.0f} counts."
    if kind == "guessed":
        words = "Estimated from the features and the labels alone; intervals take the guessed "
        words += "truth as known."
    quality = ConfusionEstimate(matrix, counts, case.classes).verdict
    wrong = _renumbered(given.wrong_labels(kind), given.classes, case.classes)
    return ConfusionSource(kind, matrix, counts, words, wrong, f"{quality} {given.caveat}".strip())


def _renumbered(found: WrongLabels, names: Labels, classes: Labels) -> WrongLabels:
    """Name the mix-up by places among the sorted classes."""
    if found.pair is None:
        return found
    places = {name: place for place, name in enumerate(classes.tolist())}
    true, label = (places[names.tolist()[code]] for code in found.pair)
    return replace(found, pair=(true, label))


def _from_votes(case: Case, matrix: FloatArray) -> ConfusionSource:
    assert case.votes is not None
    crowd, matrices = answers_of(case.final, case.votes, case.truth)
    joint = case.final.predict_proba(case.features) * evidence_of(crowd, matrices)[0]
    counts = crowd.counts(joint / joint.sum(axis=1, keepdims=True)).sum(axis=0)
    counts = counts[:, : case.n_classes]  # without silence
    words = (
        f"All {case.votes.n_annotators:,} annotators together, as the fit found them from "
        f"{len(case.votes):,} answers. The intervals take the estimated truth as known, and are "
        "too narrow."
    )
    return ConfusionSource("votes", matrix, counts, words, wrong_labels(counts, "votes"))


def _guess(case: Case, seed: int) -> ConfusionSource:
    """Guess C from the labels alone; keep the identity where even that is impossible."""
    rows, codes = np.flatnonzero(case.labelled & ~case.trusted), np.arange(case.n_classes)
    X, y = _safe_indexing(case.features, rows), case.observed[rows]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a guess need not be exact
            found = guess_confusion(X, y, codes, seed)
    except ValueError as error:
        words = f"Labels were taken as right, and a guess from them failed: {error}"
        identity = np.eye(case.n_classes)
        wrong = wrong_labels(identity, "assumed")
        return ConfusionSource("assumed", identity, None, words, wrong)
    words = (
        "Guessed from the features and the labels alone (confusion.from_noisy): the model was "
        "fitted as if every label were right. Intervals take the guessed truth as known."
    )
    wrong = found.wrong_labels("guessed")
    return ConfusionSource("guessed", found.matrix, found.counts, words, wrong, found.caveat)


def guess_confusion(
    X: Any, y: Labels, classes: Labels, seed: int, smoothing: float = 0.0
) -> ConfusionEstimate:
    """Estimate C from features and labels alone, on a sample if there are many rows."""
    if len(y) > ROWS_TO_GUESS_FROM:
        drawn = np.random.RandomState(seed).choice(len(y), ROWS_TO_GUESS_FROM, replace=False)
        X, y = _safe_indexing(X, np.sort(drawn)), y[np.sort(drawn)]
    given: dict[str, Any] = {"classes": classes, "missing_label": None, "random_state": seed}
    try:
        return from_noisy(X, y, smoothing=smoothing, **given)
    except ValueError:
        if smoothing > 0:
            raise
        # A class without a single confident row: smooth rather than fail.
        return from_noisy(X, y, smoothing=1.0, **given)
