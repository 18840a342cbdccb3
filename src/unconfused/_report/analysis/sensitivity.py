"""How much the answer would move if C is a little wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from unconfused._matrix import ConfusionWarning
from unconfused._report.analysis.case import Case
from unconfused._report.analysis.confusion_source import ConfusionSource
from unconfused._report.analysis.judge import Judgement, bring_labels_in, make_judge
from unconfused._report.data import Scenario, Sensitivity
from unconfused._typing import FloatArray, IntArray
from unconfused.estimators import UMAClassifier, UnconfusedClassifier

MOST_ROWS = 7500
"""Rows to measure this on: differences show on a few thousand."""

ASKED = 3
"""Every third of them is asked, by models fitted on the others."""

DRAWS = 3
"""Matrices drawn from what the counts leave open."""

Named = tuple[str, FloatArray]


def scale_noise(matrix: FloatArray, factor: float) -> FloatArray:
    """Make every mistake `factor` times as frequent; a row cannot err more than always.

    Examples
    --------
    >>> scale_noise(np.array([[0.9, 0.1], [0.5, 0.5]]), 1.2).round(2)
    array([[0.88, 0.12],
           [0.6 , 0.4 ]])
    """
    off = matrix * ~np.eye(len(matrix), dtype=bool)
    errors = off.sum(axis=1, keepdims=True)
    limited = np.minimum(factor, 1.0 / np.maximum(errors, 1e-300))
    scaled = off * limited
    return np.asarray(scaled + np.diag(1.0 - scaled.sum(axis=1)))


def other_matrices(source: ConfusionSource, seed: int) -> Iterator[Named]:
    """Name matrices that could be the right one as well."""
    yield "20 % fewer mistakes", scale_noise(source.judging, 0.8)
    yield "20 % more mistakes", scale_noise(source.judging, 1.2)
    if source.kind == "guessed":
        # Not quite the identity: labels that can never be wrong would leave no posterior.
        yield "nearly all labels correct", scale_noise(source.judging, 0.05)
    if source.counts is not None and source.kind != "guessed":
        rng = np.random.RandomState(seed)
        for draw in range(1, DRAWS + 1):
            # One even answer per class: more would put mistakes where none were seen.
            even = 1.0 / len(source.counts)
            rows = [rng.dirichlet(counts + even) for counts in source.counts]
            yield f"matrix drawn from the counts ({draw})", np.array(rows)


def measure_sensitivity(
    case: Case, source: ConfusionSource, judged: Judgement, seed: int
) -> Sensitivity | None:
    """Fit (or, with votes, weigh) again under other matrices; None where there is none to vary."""
    rows = _places(case, seed)
    if source.kind == "assumed" or len(rows) < ASKED:
        return None
    if case.votes is not None:
        return _reweighed(_sample(case, rows), judged.probability[rows])
    if isinstance(case.final, UnconfusedClassifier):
        return _through_others(_sample(case, rows), source, judged.probability[rows], seed)
    # In random order, so every third row is a fair sample.
    asked = np.arange(len(rows)) % ASKED == 0
    return _refitted(_sample(case, rows[~asked]), _sample(case, rows[asked]), source, seed)


def _compare(
    answer: Callable[[Any], tuple[IntArray, float]], usual: Any, others: Iterable[tuple[str, Any]]
) -> tuple[float, list[Scenario]]:
    """Return the share of wrong labels as it is, and what each other supposition changes."""
    with warnings.catch_warnings():
        # What the matrix in use is worth is said elsewhere; of others it is no news.
        warnings.simplefilter("ignore", ConfusionWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        predicted, baseline = answer(usual)
        scenarios = []
        for name, supposed in others:
            try:
                other, wrong = answer(supposed)
            except ValueError:  # UMA cannot undo this one
                continue
            scenarios.append(Scenario(name, float((other != predicted).mean()), wrong))
    return baseline, scenarios


def _refitted(train: Case, asked: Case, source: ConfusionSource, seed: int) -> Sensitivity:
    truth = train.truth_for_fit(np.arange(len(train.observed)))

    def answer(matrix: FloatArray) -> tuple[IntArray, float]:
        # Each from the start: going on from one another they would stop at unequal depths.
        judge = make_judge(train, matrix).fit(train.X, train.observed, **truth)
        probability = judge.predict_proba(asked.X)
        wrong = bring_labels_in(asked, probability, matrix).wrong_share
        if not isinstance(train.final, UMAClassifier):
            return probability.argmax(axis=1), wrong
        return _uma(train, matrix).fit(train.X, train.observed, **truth).predict(asked.X), wrong

    baseline, scenarios = _compare(answer, source.judging, other_matrices(source, seed))
    words = (
        f"The model was fitted again on {len(train.observed):,} rows, with other matrices in place "
        f"of the one above, and asked about {len(asked.observed):,} others."
    )
    # The changes are what is measured here; the share itself is that of the whole report.
    found = source.wrong.share
    moved = [replace(one, wrong=found + one.wrong - baseline) for one in scenarios]
    return Sensitivity(words, found, moved)


def _through_others(
    case: Case, source: ConfusionSource, probability: FloatArray, seed: int
) -> Sensitivity:
    """Keep what models of folds say, and see the labels through other matrices."""

    def answer(matrix: FloatArray) -> tuple[IntArray, float]:
        judged = bring_labels_in(case, probability, matrix)
        return judged.posterior.argmax(axis=1), judged.wrong_share

    baseline, scenarios = _compare(answer, source.judging, other_matrices(source, seed))
    words = (
        f"On {len(probability):,} rows the labels were seen through other matrices in place of the "
        "one above; the classifier was not fitted again. A row counts as changed if its likeliest "
        "class does."
    )
    return Sensitivity(words, baseline, scenarios)


def _uma(case: Case, matrix: FloatArray) -> Any:
    return clone(case.final).set_params(
        confusion=matrix,
        classes=np.arange(case.n_classes),
        missing_label=-1,
        warm_start=False,
        verbose=0,
    )


def _reweighed(case: Case, probability: FloatArray) -> Sensitivity:
    """Keep the model; let all annotators err more, or less."""
    matrices = case.final.annotator_confusion_

    def answer(factor: float) -> tuple[IntArray, float]:
        scaled = np.maximum([scale_noise(matrix, factor) for matrix in matrices], 1e-6)
        judged = bring_labels_in(case, probability, np.empty(0), scaled)
        return judged.posterior.argmax(axis=1), judged.wrong_share

    others = (("20 % fewer mistakes", 0.8), ("20 % more mistakes", 1.2))
    baseline, scenarios = _compare(answer, 1.0, others)
    words = (
        f"On {len(probability):,} rows the answers were weighed again, as if every annotator erred "
        "more, or less; the model itself was not fitted again. A row counts as changed if its "
        "likeliest class does."
    )
    return Sensitivity(words, baseline, scenarios)


def _places(case: Case, seed: int) -> IntArray:
    return np.random.RandomState(seed).permutation(len(case.observed))[:MOST_ROWS]


def _sample(case: Case, rows: IntArray) -> Case:
    """Take some rows, as the learner sees them."""
    return replace(
        case,
        model=case.final,
        X=_safe_indexing(case.features, rows),
        observed=case.observed[rows],
        truth=case.truth[rows],
        place=case.place[rows],
        votes=None if case.votes is None else case.votes.take_items(rows),
    )
