"""Whether the model's chances can be believed, as far as this can be checked."""

from __future__ import annotations

import numpy as np

from unconfused._report.analysis.case import Case
from unconfused._report.analysis.confusion_source import ConfusionSource
from unconfused._report.analysis.judge import Judgement
from unconfused._report.data import Reliability
from unconfused._text.words import percent
from unconfused._typing import BoolArray, FloatArray, IntArray
from unconfused.estimators import UMAClassifier
from unconfused.metrics._reliability import reliability_curve

ENOUGH_TRUTHS = 20
"""Rows with a known truth from which a curve against the truth says anything."""

MOST_ROWS = 20_000

FAIRLY, SURELY = 0.03, 2.0
"""Probabilities within this distance, or number of standard errors, are called right."""


def reliability_of(
    source: ConfusionSource, judged: Judgement, seed: int, cross_fit: bool
) -> Reliability | None:
    """Compare with the truth where enough of it is known, and else with the labels through C."""
    case = judged.case
    known = np.flatnonzero(case.trusted)
    against = "truth" if len(known) >= ENOUGH_TRUTHS else "labels"
    if against == "truth":
        chances, came = judged.probability[known], case.truth[known]
    elif case.votes is not None:
        chances, came = _answers(judged, seed)
    else:
        rows = _some(np.flatnonzero(case.labelled & ~case.trusted), seed)
        chances, came = judged.probability[rows] @ source.judging, case.observed[rows]
    if not len(came):
        return None
    curve = reliability_curve(chances, came)
    likeliest = chances.argmax(axis=1)
    sure, right = chances.max(axis=1), likeliest == came
    return Reliability(
        _words(case, against, len(came), cross_fit),
        _answer(sure, right, "class" if against == "truth" else "label"),
        against,
        curve.predicted.tolist(),
        curve.observed.tolist(),
        curve.low.tolist(),
        curve.high.tolist(),
        curve.count.tolist(),
        _gap(sure, right),
    )


def _gap(sure: FloatArray, right: BoolArray) -> float:
    """Return how far the chance of the likeliest class is from how often it is right, by bins.

    Over all classes the many that are next to impossible would hide the one that matters.
    """
    return reliability_curve(np.column_stack([1.0 - sure, sure]), right.astype(np.intp)).gap


def _answer(sure: FloatArray, right: BoolArray, what: str) -> str:
    """Say whether the chances can be believed, by the likeliest class of every row."""
    said, came = float(sure.mean()), float(right.mean())
    error = float((right - sure).std() / np.sqrt(len(sure)))
    numbers = (
        f"The likeliest {what} has a probability of {percent(said)} on average, and is right in "
        f"{percent(came)} of {len(sure):,} cases."
    )
    off = came - said
    if abs(off) <= max(FAIRLY, SURELY * error):
        if _gap(sure, right) <= max(2 * FAIRLY, SURELY * error):
            return f"Yes. {numbers}"
        return f"On average, but not over the whole range: see the curve. {numbers}"
    if off > 0:
        return f"No, they are too low: predictions are right more often than they say. {numbers}"
    return f"No, they are too high: predictions are right less often than they say. {numbers}"


def _answers(judged: Judgement, seed: int) -> tuple[FloatArray, IntArray]:
    """Return the chance of every answer an annotator could give, and the one they gave."""
    votes = judged.case.votes
    assert votes is not None
    some = _some(np.arange(len(votes)), seed)
    matrices = judged.case.final.annotator_confusion_[votes.annotator[some]]
    return np.einsum("vq,vqk->vk", judged.probability[votes.item[some]], matrices), votes.label[
        some
    ]


def _words(case: Case, against: str, n_compared: int, cross_fit: bool) -> str:
    if against == "truth":
        what = (
            f"Checked against {n_compared:,} rows whose true class is known: of all classes given "
            "a probability of 30 %, about 30 % should be the true one."
        )
    else:
        unit = "answers" if case.votes is not None else "labels"
        what = (
            f"Checked against {n_compared:,} noisy {unit}, as too few true classes are known: the "
            "model's probabilities, multiplied by the confusion matrix, should match how often "
            f"each of the {unit} occurs. This checks model and matrix together; errors that cancel "
            "do not show."
        )
    fitted = (
        " All probabilities are out-of-fold."
        if cross_fit
        else " The model was fitted to these rows, so this is optimistic."
    )
    uma = (
        " UMA has no probabilities: these are those of a logistic regression through the same "
        "matrix."
        if isinstance(case.final, UMAClassifier)
        else ""
    )
    return what + fitted + uma


def _some(places: IntArray, seed: int) -> IntArray:
    if len(places) <= MOST_ROWS:
        return places
    return np.random.RandomState(seed).choice(places, MOST_ROWS, replace=False)
