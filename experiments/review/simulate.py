"""A reviewer who is always right checks rows in batches, chosen in one of four ways."""

from __future__ import annotations

import warnings
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression

from experiments.league.data import CROWD, DISTANT, load
from experiments.league.noises import seen_labels
from experiments.store import Record, Store
from unconfused import UnconfusedLogisticRegression
from unconfused._labels import MISSING
from unconfused._typing import FloatArray, IntArray
from unconfused.review import (
    CheckedRows,
    LeftOut,
    fit_checked,
    judge_left_out,
    next_to_check,
    wrong_left,
)
from unconfused.review.fit import confusion_of_checked

FIELDS = ("data", "noise", "strategy", "seed")

STRATEGIES = ("mix", "random", "suspicion", "cleanlab")
"""Ours, by chance, 1 minus the out-of-fold probability of the label, and cleanlab's order."""

CHOSEN = "mix without random rows"
"""Ours with `random_share=0`: what the random rows cost."""

SHARES = (0.0, 0.03, 0.06, 0.1, 0.2, 0.3)
"""Shares of the rows after which the model is fitted, and the next rows are chosen."""

SAMPLES, REPEATS = (10, 40), 100
"""Sizes of random samples on which intervals for the wrong labels left are tried, and how many."""

TRIED_AT = 0.1
"""Share of the rows checked by then."""

PENALTY = 3e-4
"""Penalty of all fits, times the mean squared distance of a row from the mean: the library's usual
one. Chosen for every fit, it would make a run ten times as long."""

MOST_ROWS = 800
"""Training rows of a simulated review, at most, to keep it short."""

CASES = [
    ("digits", "symmetric 0.2"),
    ("digits", "pair flip 0.45"),
    ("digits", "random 0.6"),
    ("digits", "rough labels 0.3"),
    ("reuters", "pair flip 0.3"),
    ("reuters", "random 0.6"),
    ("reuters", "rough labels 0.3"),
    ("music", CROWD),
    ("letter", "symmetric 0.2"),
    ("letter", "pair flip 0.3"),
    ("medical", DISTANT),
    ("medical", CROWD),
    ("youtube", CROWD),
]


@dataclass(frozen=True)
class Case:
    """One simulated review."""

    data: str
    noise: str
    strategy: str
    seed: int


def cases(store: Store, names: list[str], n_seeds: int) -> list[Case]:
    """Return the reviews that are left to simulate."""
    wanted = [
        Case(data, noise, strategy, seed)
        for seed in range(n_seeds)
        for data, noise in CASES
        if data in names
        for strategy in (*STRATEGIES, CHOSEN)
    ]
    return [
        one for one in wanted if (one.data, one.noise, one.strategy, str(one.seed)) not in store
    ]


def simulate(case: Case) -> list[Record]:
    """Check rows in batches, and measure at each stop."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [_simulate(case)]


def _simulate(case: Case) -> Record:
    review, X_test, truth_test = deepcopy(begin(case.data, case.noise, case.seed))
    n_rows = len(review.y)
    stops: list[tuple[int, int, float]] = []
    intervals: list[Any] = []
    for share in SHARES:
        budget = round(share * n_rows) - review.n_checked
        if budget > 0:
            review.check(case.strategy, budget)
        accuracy = float(review.model.score(X_test, truth_test))
        stops.append((review.n_checked, review.n_mended, accuracy))
        if share == TRIED_AT and case.strategy == "mix":
            intervals = review.intervals()
    return {
        "data": case.data, "noise": case.noise, "strategy": case.strategy, "seed": case.seed,
        "n_rows": n_rows, "n_wrong": int((review.y != review.truth).sum()),
        "checked": [stop[0] for stop in stops], "mended": [stop[1] for stop in stops],
        "accuracy": [round(stop[2], 5) for stop in stops], "intervals": intervals,
        "confusion": review.confusion_errors() if case.strategy == "mix" else [],
    }  # fmt: skip


@lru_cache(maxsize=1)
def begin(name: str, noise: str, seed: int) -> tuple[Review, Any, IntArray]:
    """Return a review with nothing checked, and the test set; strategies begin alike."""
    data = load(name, seed)
    rng = np.random.RandomState(seed)
    rows = np.flatnonzero(data.truth >= 0)
    if len(rows) > MOST_ROWS:
        rows = np.sort(rng.choice(rows, MOST_ROWS, replace=False))
    X, X_test = in_row_space(data.X[rows], data.X_test)
    truth, y = data.truth[rows], seen_labels(data, noise, seed)[rows]
    review = Review(X, y, truth, data.n_classes, seed)
    review.model  # noqa: B018 - fitted once for all strategies
    return review, X_test, data.truth_test


def in_row_space(X: Any, X_test: Any) -> tuple[Any, Any]:
    """Rotate wide rows into the space that the training rows span: the same models, sooner.

    A penalized linear model has no weight outside of it.
    """
    if X.shape[1] <= X.shape[0]:
        return X, X_test
    gram = X @ X.T
    squares, axes = np.linalg.eigh(gram.toarray() if issparse(gram) else gram)
    kept = squares > 1e-9 * squares[-1]
    axes = axes[:, kept] / np.sqrt(squares[kept])
    return np.asarray(gram @ axes), np.asarray(X_test @ X.T @ axes)


class Review:
    """Rows, their labels, and what was checked so far."""

    def __init__(self, X: Any, y: IntArray, truth: IntArray, n_classes: int, seed: int) -> None:
        self.X, self.y, self.truth, self.seed = X, y, truth, seed
        self.n_classes = n_classes
        n_rows = len(y)
        self.y_true = np.full(n_rows, None, dtype=object)
        self.probability = np.full(n_rows, np.nan)
        self.drawn_by = np.full(n_rows, "", dtype=object)
        mean = np.asarray(X.mean(axis=0)).ravel()
        squares = X.multiply(X).sum() if hasattr(X, "multiply") else float((X**2).sum())
        unit = float(squares) / n_rows - float(mean @ mean)
        self.learner = UnconfusedLogisticRegression(
            l2=PENALTY * unit, noisy_weight=1.0, relabel=0, refine=False,
            classes=np.arange(n_classes), missing_label=None, random_state=seed,
        )  # fmt: skip
        self.strength = 1.0 / (PENALTY * unit * n_rows)

    @property
    def known(self) -> Any:
        """Mask of the rows that were checked."""
        return np.array([one is not None for one in self.y_true.tolist()], dtype=bool)

    @property
    def n_checked(self) -> int:
        """Number of rows checked."""
        return int(self.known.sum())

    @property
    def n_mended(self) -> int:
        """Number of wrong labels found."""
        return int((self.known & (self.y != self.truth)).sum())

    @property
    def checked(self) -> CheckedRows:
        """The verdicts so far."""
        return CheckedRows(self.y_true, self.probability, self.drawn_by)

    @cached_property
    def left_out(self) -> LeftOut:
        """Judgements of all labels by models without the row."""
        plain = LogisticRegression(C=self.strength, max_iter=300)
        return judge_left_out(
            self.X, self.y, self.checked, estimator=plain,
            classes=np.arange(self.n_classes), random_state=self.seed,
        )  # fmt: skip

    @cached_property
    def model(self) -> Any:
        """The common learner, fitted to what is known."""
        return fit_checked(self.learner, self.X, self.y, self.checked, left_out=self.left_out)

    def confusion_errors(self) -> list[float]:
        """Return how far C is off with verdicts on chosen rows counted for their row, and without.

        The mean total variation distance of its rows from the shares among all labels.
        """
        found, truth = self.left_out, np.eye(self.n_classes)[self.truth]
        joint = truth.T @ np.eye(self.n_classes)[self.y]
        uncounted = np.where(self.checked.representative, found.truth, MISSING)
        errors = []
        for judged in (found, replace(found, truth=uncounted)):
            C = confusion_of_checked(
                self.X, self.y, self.checked, classes=found.classes, left_out=judged
            ).matrix
            error = np.abs(joint - joint.sum(axis=1, keepdims=True) * C).sum() / (2 * len(self.y))
            errors.append(round(float(error), 4))
        return errors

    def intervals(self) -> list[Any]:
        """Return how often intervals cover the share of wrong labels left, width and error.

        For each size of a random sample beside the rows checked: with the model, and counts alone.
        """
        n_rows, wrong, told = len(self.y), self.left_out.wrong, []
        rng = np.random.RandomState(self.seed)
        for size in SAMPLES:
            lines = []
            for _ in range(REPEATS):
                rows = rng.choice(n_rows, size, replace=False)
                y_true, chance = self.y_true.copy(), np.full(n_rows, np.nan)
                y_true[rows], chance[rows] = self.truth[rows], size / n_rows
                some = CheckedRows(y_true, chance, np.full(n_rows, "random", dtype=object))
                real = np.mean((self.y != self.truth) & ~some.known)
                both = wrong_left(some, self.y, wrong), wrong_left(some, self.y)
                lines.append([
                    (one.low <= real <= one.high, one.high - one.low, one.share - real)
                    for one in both if one.low is not None and one.high is not None
                ])  # fmt: skip
            told.append(np.mean(lines, axis=0).round(4).tolist())
        return told

    def check(self, strategy: str, budget: int) -> None:
        """Choose rows and learn their truth."""
        if strategy in ("mix", "random", CHOSEN):
            by: Any = "random" if strategy == "random" else "mix"
            given = {"random_share": 0.0} if strategy == CHOSEN else {}
            found = next_to_check(
                self.model, self.X, self.y, budget, by=by, checked=self.checked,
                posterior=self.left_out.ranking, random_state=1000 * self.seed + self.n_checked,
                **given,
            )  # fmt: skip
            self._keep(found.row, found.drawn_by, found.probability)
            return
        quality = self._quality(strategy)
        rows = np.flatnonzero(~self.known)
        rows = rows[np.argsort(quality[rows], kind="stable")[:budget]]
        self._keep(rows, np.full(len(rows), strategy, dtype=object), np.full(len(rows), np.nan))

    def _keep(self, rows: IntArray, how: Any, probability: FloatArray) -> None:
        self.y_true[rows] = self.truth[rows]
        self.drawn_by[rows], self.probability[rows] = how, probability
        for stale in ("left_out", "model"):  # to be made again with the verdicts
            self.__dict__.pop(stale, None)

    def _quality(self, strategy: str) -> FloatArray:
        """Return scores of labels, the lowest to be checked first."""
        best = np.where(self.known, self.truth, self.y)
        chances = self.left_out.probability
        own = chances[np.arange(len(best)), best]
        if strategy == "suspicion":
            return np.asarray(own)
        from cleanlab.filter import find_label_issues

        issues = find_label_issues(best, chances, return_indices_ranked_by="self_confidence")
        score = 1.0 + own  # what it does not call an issue comes after, by self-confidence
        score[issues] = np.arange(len(issues)) / max(1, len(issues))
        return np.asarray(score)
