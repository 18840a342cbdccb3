"""The protocol of Section 4.2: a rough classifier labels all rows, and UMA learns through it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from experiments.paper.data import Problem
from experiments.paper.settings import TOL, TURNS, n_updates, plain_uma
from unconfused import UMAClassifier, confusion
from unconfused._matrix import ConfusionWarning
from unconfused._typing import FloatArray, IntArray, Rows

MOST_DRAWS = 1000
"""How often S_conf is drawn again before its size is called too small."""

WORST_CONDITION = 1e6
"""A matrix beyond this condition number counts as one that cannot be inverted."""


@dataclass(frozen=True)
class Scene:
    """What is known in one run: some labels, and the rough classifier's opinion of every row."""

    problem: Problem
    labelled: IntArray
    """Rows that the rough classifier learnt from, m of each class."""

    conf: IntArray
    """Rows of the largest S_conf in random order; smaller ones are its beginnings."""

    observed: IntArray
    """The rough classifier's label of every training row."""

    def confusion(self, size: int) -> FloatArray:
        """Return the confusion matrix counted on the first rows of S_conf."""
        return counted(self.problem, self.observed, self.conf[:size])

    def partly_labelled(self, rows: IntArray) -> IntArray:
        """Return the truth of these rows, and -1 for all others."""
        y = np.full(len(self.problem.truth), -1)
        y[rows] = self.problem.truth[rows]
        return y

    @property
    def known(self) -> IntArray:
        """Return all rows with a known label: the rough classifier's, and S_conf."""
        return np.union1d(self.labelled, self.conf)

    @property
    def noise(self) -> float:
        """Return the share of the rough classifier's labels that are wrong."""
        return float(np.mean(self.observed != self.problem.truth))


def fit_uma(
    matrix: FloatArray | None,
    X: Rows,
    y: IntArray,
    n_classes: int,
    turns: int = TURNS,
    max_iter: int | None = None,
    go_on_from: UMAClassifier | None = None,
) -> UMAClassifier:
    """Fit UMA as the paper runs it; without a matrix it is a Perceptron."""
    model = go_on_from or plain_uma(
        matrix,
        tol=TOL,
        fit_intercept=False,
        classes=np.arange(n_classes),
        n_jobs=1,
        warm_start=True,
    )
    model.set_params(max_iter=max_iter or n_updates(n_classes, turns))
    with warnings.catch_warnings():
        # That a matrix is none too good is what some experiments are about.
        warnings.simplefilter("ignore", ConfusionWarning)
        return model.fit(X, y)


def set_scene(
    problem: Problem, n_labelled: int, sizes: Sequence[int], seed: int, turns: int = TURNS
) -> Scene:
    """Draw the labelled rows, label all rows, draw S_conf.

    S_conf is uniform over the training rows. It is drawn again where its smallest beginning has no
    row of some class, or counts a matrix without inverse: neither can be learnt through.
    """
    rng = np.random.RandomState(seed)
    truth = problem.truth
    labelled = np.concatenate(
        [
            rng.choice(np.flatnonzero(truth == one), n_labelled, replace=False)
            for one in range(problem.n_classes)
        ]
    )
    rough = fit_uma(None, problem.X[labelled], truth[labelled], problem.n_classes, turns)
    observed = np.asarray(rough.predict(problem.X))
    for _ in range(MOST_DRAWS):
        conf = rng.choice(len(truth), max(sizes), replace=False)
        if all(_invertible(problem, observed, conf[:size]) for size in sizes):
            return Scene(problem, labelled, conf, observed)
    raise ValueError(f"No S_conf of {min(sizes)} rows gives a confusion matrix with an inverse.")


def counted(problem: Problem, observed: IntArray, rows: IntArray) -> FloatArray:
    """Count on these rows how the rough classifier labels each true class."""
    return confusion.from_trusted(
        problem.truth[rows], observed[rows], classes=np.arange(problem.n_classes)
    ).matrix


def _invertible(problem: Problem, observed: IntArray, rows: IntArray) -> bool:
    if len(np.unique(problem.truth[rows])) < problem.n_classes:
        return False
    return bool(np.linalg.cond(counted(problem, observed, rows)) < WORST_CONDITION)


def sizes_of(problem: Problem, shares: Sequence[float]) -> list[int]:
    """Return parts of the training rows as numbers of rows."""
    return [round(share * len(problem.truth)) for share in shares]


def quietly(fit: Any) -> Any:
    """Call a fit whose limit of steps is part of its setting, or that may miss some rows."""
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit()
