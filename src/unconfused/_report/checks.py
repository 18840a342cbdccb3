"""Calibration of the probabilities, and how the answer changes with other matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

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
"""Rows looked at through other matrices: differences show on a few thousand."""

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
    source: ConfusionSource, judged: Judgement, seed: int
) -> Sensitivity | None:
    """Apply Bayes' rule through other matrices to the same models; None without a matrix."""
    if source.kind == "assumed":
        return None
    rows = np.random.RandomState(seed).permutation(len(judged.probability))[:MOST_ROWS]
    case, probability = judged.case.take(rows), judged.probability[rows]

    def answer(matrices: FloatArray) -> tuple[IntArray, float]:
        found = bring_labels_in(case, probability, matrices)
        return found.posterior.argmax(axis=1), found.wrong_share

    if case.votes is None:
        usual, others = source.judging, list(other_matrices(source, seed))
        what = "other matrices took the place of the one above in Bayes' rule"
    else:
        usual, fewer, more = (
            np.maximum([scale_noise(one, factor) for one in case.final.annotator_confusion_], 1e-6)
            for factor in (1.0, 0.8, 1.2)
        )
        others = [("20 % fewer mistakes", fewer), ("20 % more mistakes", more)]
        what = "answers were combined again as if annotators made fewer mistakes, or more"
    best, baseline = answer(usual)
    # The changes are what is measured here; the share of labels is that of the whole report.
    found = source.wrong.share if case.votes is None else baseline
    scenarios = []
    for name, supposed in others:
        other, wrong = answer(supposed)
        scenarios.append(Scenario(name, float((other != best).mean()), found + wrong - baseline))
    words = (
        f"On {len(rows):,} rows {what}; the model was not fitted again. A row counts as changed if "
        "its most likely class changes."
    )
    return Sensitivity(words, found, scenarios)
