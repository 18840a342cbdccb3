"""What a method is given: rows, seen labels, and whatever else it may know."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.utils import _safe_indexing

from experiments.league.data import CROWD, SOURCES, DataSet, load
from experiments.league.noises import NOISES, matrix_behind, seen_labels
from unconfused import confusion
from unconfused._typing import FloatArray, IntArray, Rows

KNOWLEDGE = ("clean", "known", "trusted", "none")
"""What is known: all truths (the ceiling), the matrix, some rows' truths, nothing."""

FEWEST_TRUSTED = 2
"""Trusted rows of each class, at least."""

MOST_ROWS_TO_TUNE = 4000
"""Settings are tried on no more rows than this: on the larger sets trying is most of the time."""

N_FOLDS = 3


@dataclass(frozen=True)
class Problem:
    """Rows to learn from.

    Parameters
    ----------
    X, seen : rows and their labels
    truth : the true class where the method may know it, -1 elsewhere
    matrix : the confusion matrix, if the method may know it
    n_classes, seed : number of classes; chance for the method
    raw : the rows before any projection
    votes : (n, annotators) answers, -1 where there is none
    """

    X: Rows
    seen: IntArray
    truth: IntArray
    matrix: FloatArray | None
    n_classes: int
    seed: int
    raw: Rows
    votes: IntArray | None = None

    @cached_property
    def penalties(self) -> dict[str, float]:
        """Penalties chosen so far, by method."""
        return {}

    @cached_property
    def kept(self) -> dict[str, Any]:
        """What one contestant has worked out and another needs too."""
        return {}

    @property
    def trusted(self) -> IntArray:
        """Rows whose truth is known."""
        return np.flatnonzero(self.truth >= 0)

    @property
    def best_known(self) -> IntArray:
        """The truth where known, the seen label elsewhere."""
        return np.where(self.truth >= 0, self.truth, self.seen)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.seen)

    def without_votes(self) -> Problem:
        """Return the problem with the labels alone."""
        return replace(self, votes=None)

    def take(self, rows: IntArray) -> Problem:
        """Return the problem with only these rows."""
        votes = None if self.votes is None else self.votes[rows]
        return replace(
            self,
            X=_safe_indexing(self.X, rows),
            seen=self.seen[rows],
            truth=self.truth[rows],
            raw=_safe_indexing(self.raw, rows),
            votes=votes,
        )

    @cached_property
    def guessed(self) -> confusion.ConfusionEstimate:
        """The matrix guessed from the seen labels alone."""
        return confusion.from_noisy(
            self.X, self.seen, classes=np.arange(self.n_classes), random_state=self.seed
        )

    @cached_property
    def tuning(self) -> list[Tuning]:
        """Folds to try settings on. Of many rows a part, drawn by class, stands for all."""
        # Trusted rows are spread over the folds as the others are.
        strata = self.best_known + self.n_classes * (self.truth >= 0)
        rows = np.arange(self.n_rows)
        if self.n_rows > MOST_ROWS_TO_TUNE:
            rows, _ = train_test_split(
                rows,
                train_size=MOST_ROWS_TO_TUNE,
                stratify=_none_rare(strata),
                random_state=self.seed,
            )
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=self.seed)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            splits = list(folds.split(rows, strata[rows]))
        judged = self.truth >= 0 if len(self.trusted) > 0 else np.ones(self.n_rows, dtype=bool)
        return [
            Tuning(
                self.take(np.sort(rows[rest])),
                rows[held][judged[rows[held]]],
                self.n_rows / len(rows),
            )
            for rest, held in splits
        ]


@dataclass(frozen=True)
class Tuning:
    """Rows to try settings on, and rows to judge them by."""

    rest: Problem
    held: IntArray
    """Rows held out: the trusted ones, if there are any."""

    strength: float
    """Times a penalty per row, so that on a part of the rows it is as strong, in all, as on all of
    them: the more rows there are, the weaker a penalty per row does best."""


def _none_rare(strata: IntArray) -> IntArray:
    """Return strata of two rows or more: those of one row are put together."""
    rare = np.bincount(strata)[strata] < 2
    strata = np.where(rare, strata.max() + 1, strata)
    if rare.sum() == 1:
        strata[rare] = strata[~rare][0]
    return strata


def choose_trusted(data: DataSet, share: float, seed: int) -> IntArray:
    """Draw the rows whose truth is known: uniformly, then more of classes with fewer than two."""
    rng = np.random.RandomState(10_000 + seed)
    candidates = np.flatnonzero(data.truth >= 0)
    n_chosen = min(len(candidates), round(share * len(data.truth)))
    chosen = rng.choice(candidates, n_chosen, replace=False)
    for q in range(data.n_classes):
        missing = FEWEST_TRUSTED - int(np.sum(data.truth[chosen] == q))
        if missing > 0:
            others = np.setdiff1d(np.flatnonzero(data.truth == q), chosen)
            more = rng.choice(others, min(len(others), missing), replace=False)
            chosen = np.concatenate([chosen, more])
    return np.sort(chosen)


def knowledge_of(noise_name: str) -> tuple[str, ...]:
    """Return what may be known: the matrix of people's mistakes may not."""
    return KNOWLEDGE[1:] if noise_name in NOISES else KNOWLEDGE[2:]


@lru_cache(maxsize=4)
def pose(name: str, noise_name: str, seed: int, knowledge: str) -> Problem:
    """Return the problem of a data set, a noise and a seed, for a kind of knowledge."""
    data = load(name, seed)
    nothing = np.full(len(data.truth), -1)
    if knowledge == "clean":
        clean = Problem(data.X, data.truth, nothing, None, data.n_classes, seed, data.raw)
        return clean.take(np.flatnonzero(data.truth >= 0))
    seen = seen_labels(data, noise_name, seed)
    votes = data.votes if noise_name == CROWD else None
    problem = Problem(data.X, seen, nothing, None, data.n_classes, seed, data.raw, votes)
    if knowledge == "known":
        return replace(problem, matrix=matrix_behind(data, noise_name, seen, seed))
    if knowledge == "trusted":
        return with_trusted(problem, data, choose_trusted(data, SOURCES[name].trusted_share, seed))
    return problem


def with_trusted(problem: Problem, data: DataSet, rows: IntArray) -> Problem:
    """Let the truth of some rows be known."""
    truth = np.full(problem.n_rows, -1)
    truth[rows] = data.truth[rows]
    return replace(problem, truth=truth)
