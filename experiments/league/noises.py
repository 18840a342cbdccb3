"""The noises of the league: what is seen instead of the truth, and the matrix behind it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.linear_model import LogisticRegression

from experiments.league.data import DataSet
from unconfused import noise
from unconfused._typing import FloatArray, IntArray

ByMatrix = Callable[[int, int], FloatArray]

MATRICES: dict[str, ByMatrix] = {
    "symmetric 0.2": lambda q, seed: noise.symmetric(q, 0.2),
    "symmetric 0.5": lambda q, seed: noise.symmetric(q, 0.5),
    "symmetric 0.7": lambda q, seed: noise.symmetric(q, 0.7),
    "pair flip 0.3": lambda q, seed: noise.pairwise(q, 0.3),
    "pair flip 0.45": lambda q, seed: noise.pairwise(q, 0.45),
    "random 0.3": lambda q, seed: noise.random_confusion(q, strength=0.3, random_state=seed),
    "random 0.6": lambda q, seed: noise.random_confusion(q, strength=0.6, random_state=seed),
}
"""Noise that depends on the true class alone."""

ROUGH: dict[str, float] = {"rough labels 0.3": 0.3, "rough labels 0.5": 0.5}
"""Labels by a classifier that few rows were enough to train: its mistakes depend on the row."""

FEATURE_SHARES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7)
"""Shares of the features that a classifier may look at to be rough enough, fewest first."""

NOISES = (*MATRICES, *ROUGH)
CLASS_CONDITIONAL = tuple(MATRICES)


def seen_labels(data: DataSet, name: str, seed: int) -> IntArray:
    """Return the labels one would be given instead of the truth."""
    if name in MATRICES:
        matrix = MATRICES[name](data.n_classes, seed)
        return np.asarray(noise.corrupt_labels(data.truth, matrix, random_state=seed))
    if name in ROUGH:
        return rough_labels(data, ROUGH[name], seed)
    if name in data.labels:
        return data.labels[name]
    return majority(data.votes, data.n_classes, seed)


def matrix_behind(data: DataSet, name: str, seen: IntArray, seed: int) -> FloatArray:
    """Return the matrix of an injected noise: as drawn from, or as it came out."""
    if name in MATRICES:
        return MATRICES[name](data.n_classes, seed)
    counts = np.zeros((data.n_classes, data.n_classes))
    np.add.at(counts, (data.truth, seen), 1.0)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def majority(votes: IntArray, n_classes: int, seed: int) -> IntArray:
    """Return the answer most people gave, ties broken by lot."""
    tally = (votes[:, :, np.newaxis] == np.arange(n_classes)).sum(axis=1)
    lots = np.random.RandomState(seed).random_sample(tally.shape)
    return np.asarray((tally + 0.5 * lots).argmax(axis=1))


def rough_labels(data: DataSet, rate: float, seed: int) -> IntArray:
    """Label all rows with a logistic regression on few of them, wrong on about `rate`.

    How few rows of each class, and where one is still too many, how few of the features, is what
    makes its error come nearest to the rate.
    """
    rng = np.random.RandomState(seed)
    order = rng.permutation(len(data.truth))
    of_class = [order[data.truth[order] == q] for q in range(data.n_classes)]
    columns = rng.permutation(data.X.shape[1])
    best, nearest = data.truth, np.inf
    tries = [(1, share) for share in FEATURE_SHARES] + [(n_each, 1.0) for n_each in range(1, 40)]
    for n_each, share in tries:
        rows = np.concatenate([mine[:n_each] for mine in of_class])
        some = np.sort(columns[: max(1, round(share * len(columns)))])
        rough = LogisticRegression(max_iter=300).fit(data.X[rows][:, some], data.truth[rows])
        labels = rough.predict(data.X[:, some])
        wrong = float(np.mean(labels != data.truth))
        if abs(wrong - rate) < nearest:
            best, nearest = labels, abs(wrong - rate)
        if wrong < rate - 0.05:
            break
    return np.asarray(best)
