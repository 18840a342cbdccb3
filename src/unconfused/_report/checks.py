"""Calibration of the probabilities, and how the answer changes with other matrices."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from unconfused._matrix import ConfusionWarning
from unconfused._report.data import Reliability, Scenario, Sensitivity
from unconfused._report.judge import bring_labels_in
from unconfused._text import percent
from unconfused._typing import BoolArray, FloatArray, IntArray
from unconfused.confusion.estimation.calibration import sharpen
from unconfused.metrics._reliability import reliability_curve
from unconfused.noise._matrices import scale_noise

if TYPE_CHECKING:
    from unconfused._report.case import Case
    from unconfused._report.judge import Judgement
    from unconfused._report.source import ConfusionSource

ENOUGH_TRUTHS = 20
"""Minimum number of rows with a known truth for a curve against the truth."""

MOST_COMPARED = 20_000
"""Maximum number of rows, or answers, behind a curve."""

FAIRLY, SURELY = 0.03, 2.0
"""Probabilities within this distance, or number of standard errors, are called right."""

MOST_ROWS = 7500
"""Rows to fit again on with other matrices: differences show on a few thousand."""

ASKED = 3
"""Every third of them is predicted, by models fitted to the others."""

DRAWS = 3
"""Matrices drawn from the posterior of the counts."""

Named = tuple[str, FloatArray]


def reliability_of(source: ConfusionSource, judged: Judgement, seed: int) -> Reliability | None:
    """Compare with the truth where enough of it is known, and else with the labels through C."""
    case, final = judged.case, judged.case.final
    # The folds' fits are given its settings, except with votes, and do not calibrate themselves.
    calibrated = hasattr(final, "choice_") or getattr(final, "relabel_", 0) > 0
    fair = sharpen(judged.probability, judged.power if calibrated and case.votes is None else 1.0)
    known = np.flatnonzero(case.trusted)
    against = "truth" if len(known) >= ENOUGH_TRUTHS else "labels"
    if against == "truth":
        chances, came = fair[known], case.truth[known]
    elif case.votes is not None:  # the chance of every answer an annotator could give
        votes, some = case.votes, _some(np.arange(len(case.votes)), seed)
        matrices = case.final.annotator_confusion_[votes.annotator[some]]
        chances = np.einsum("vq,vqk->vk", fair[votes.item[some]], matrices)
        came = votes.label[some]
    else:
        rows = _some(np.flatnonzero(case.labelled & ~case.trusted), seed)
        chances, came = fair[rows] @ source.judging, case.observed[rows]
    if not len(came):
        return None
    sure, right = chances.max(axis=1), chances.argmax(axis=1) == came
    # Over all classes the many that are next to impossible would hide the one that matters.
    likeliest = np.column_stack([1.0 - sure, sure])
    gap = reliability_curve(likeliest, right.astype(np.intp)).gap
    return Reliability(
        _compared_in_words(case, against, len(came)),
        _answer(sure, right, gap, "class" if against == "truth" else "label"),
        against,
        reliability_curve(chances, came),
        gap,
    )


def _answer(sure: FloatArray, right: BoolArray, gap: float, what: str) -> str:
    """Say whether probabilities are calibrated, by the likeliest class of every row."""
    said, came = float(sure.mean()), float(right.mean())
    error = float((right - sure).std() / np.sqrt(len(sure)))
    numbers = (
        f"The likeliest {what} has a probability of {percent(said)} on average, and is right in "
        f"{percent(came)} of {len(sure):,} cases."
    )
    off = came - said
    if abs(off) > max(FAIRLY, SURELY * error):
        return f"No, they are too {'low' if off > 0 else 'high'}. {numbers}"
    if gap > max(2 * FAIRLY, SURELY * error):
        return f"On average, but not over the whole range: see the curve. {numbers}"
    return f"Yes. {numbers}"


def _compared_in_words(case: Case, against: str, n_compared: int) -> str:
    unit = "answers" if case.votes is not None else "labels"
    words = (
        f"Checked against {n_compared:,} rows whose true class is known: of all predictions with a "
        "probability of 30 %, about 30 % should be right. "
        if against == "truth"
        else f"Checked against {n_compared:,} noisy {unit}, because too few true classes are "
        "known: the model's probabilities, multiplied by the confusion matrix, should match how "
        f"often each of the {unit} occurs. Errors of the model and of the matrix that cancel each "
        "other do not show. "
    )
    words += "All probabilities are out-of-fold."
    if case.is_uma:
        words += " UMA has no probabilities, so those of a logistic regression through the same "
        words += "matrix are shown."
    return words


def _some(places: IntArray, seed: int) -> IntArray:
    if len(places) <= MOST_COMPARED:
        return places
    return np.random.RandomState(seed).choice(places, MOST_COMPARED, replace=False)


def other_matrices(source: ConfusionSource, seed: int) -> Iterator[Named]:
    """Return other plausible matrices by name."""
    yield "20 % fewer mistakes", scale_noise(source.judging, 0.8)
    yield "20 % more mistakes", scale_noise(source.judging, 1.2)
    if source.kind == "guessed":
        # Not quite the identity: labels that can never be wrong would leave no posterior.
        yield "nearly all labels correct", scale_noise(source.judging, 0.05)
    elif source.counts is not None:
        rng = np.random.RandomState(seed)
        # One even answer per class: more would put mistakes where none were seen. Around the matrix
        # in use, as a refined one differs from the counts by more than chance.
        counts = source.counts + 1.0 / len(source.counts)
        refined = source.judging - counts / counts.sum(axis=1, keepdims=True)
        for draw in range(1, DRAWS + 1):
            drawn = np.clip(refined + [rng.dirichlet(row) for row in counts], 0.0, None)
            name = f"matrix drawn from the counts ({draw})"
            yield name, drawn / drawn.sum(axis=1, keepdims=True)


def measure_sensitivity(
    case: Case, source: ConfusionSource, judged: Judgement, seed: int
) -> Sensitivity | None:
    """Fit or, if that takes long, only reweight through other matrices; None without a matrix."""
    # In random order, so that every third row is a fair sample.
    rows = np.random.RandomState(seed).permutation(len(case.observed))[:MOST_ROWS]
    if source.kind == "assumed" or len(rows) < ASKED:
        return None
    learner = replace(case, model=case.final, X=case.features)
    if case.votes is not None or case.is_wrapper:
        return _weighed_again(learner.take(rows), source, judged.probability[rows], seed)
    asked = np.arange(len(rows)) % ASKED == 0
    return _fitted_again(learner.take(rows[~asked]), learner.take(rows[asked]), source, seed)


def _compare(
    answer: Callable[[FloatArray], tuple[IntArray, float]],
    usual: FloatArray,
    others: Iterable[Named],
) -> tuple[float, list[Scenario]]:
    """Return the share of wrong labels, and what each other matrix changes."""
    with warnings.catch_warnings():
        # What the matrix in use is worth is said elsewhere; of others it is no news.
        warnings.simplefilter("ignore", ConfusionWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        predicted, baseline = answer(usual)
        scenarios = []
        for name, supposed in others:
            other, wrong = answer(supposed)
            scenarios.append(Scenario(name, float((other != predicted).mean()), wrong))
    return baseline, scenarios


def _fitted_again(train: Case, asked: Case, source: ConfusionSource, seed: int) -> Sensitivity:
    everything = np.arange(len(train.observed))

    def answer(matrix: FloatArray) -> tuple[IntArray, float]:
        # Each from the start, as warm starts would stop at unequal depths, and without relabelling,
        # as rounds accepted for one matrix and rejected for another would count as its effect.
        learner = train.judge(matrix).set_params(relabel=0)
        judge = train.fit(learner, train.X, everything)
        probability = judge.predict_proba(asked.X)
        wrong = bring_labels_in(asked, probability, matrix).wrong_share
        return probability.argmax(axis=1), wrong

    baseline, scenarios = _compare(answer, source.judging, other_matrices(source, seed))
    words = (
        f"The model was fitted again on {len(train.observed):,} rows, with other matrices in place "
        f"of the one above, and applied to {len(asked.observed):,} others."
    )
    # The changes are what is measured here; the share itself is that of the whole report.
    found = source.wrong.share
    moved = [replace(one, wrong=found + one.wrong - baseline) for one in scenarios]
    return Sensitivity(words, found, moved)


def _weighed_again(
    case: Case, source: ConfusionSource, probability: FloatArray, seed: int
) -> Sensitivity:
    """Keep the out-of-fold probabilities; apply Bayes' rule through other matrices."""

    def answer(matrices: FloatArray) -> tuple[IntArray, float]:
        judged = bring_labels_in(case, probability, matrices)
        return judged.posterior.argmax(axis=1), judged.wrong_share

    def annotators(factor: float) -> FloatArray:
        matrices = case.final.annotator_confusion_
        return np.maximum([scale_noise(one, factor) for one in matrices], 1e-6)

    if case.votes is None:
        baseline, scenarios = _compare(answer, source.judging, other_matrices(source, seed))
        words = "other matrices took the place of the one above in Bayes' rule; the classifier was"
    else:
        others = [("20 % fewer mistakes", annotators(0.8)), ("20 % more mistakes", annotators(1.2))]
        baseline, scenarios = _compare(answer, annotators(1.0), others)
        words = "the answers were combined again as if every annotator made more mistakes, or "
        words += "fewer; the model itself was"
    words = (
        f"On {len(probability):,} rows {words} not fitted again. A row counts as changed if its "
        "most likely class changes."
    )
    return Sensitivity(words, baseline, scenarios)
