"""The data sets of the league: features made once, split into training and test rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from unconfused import datasets
from unconfused._typing import IntArray, Rows
from unconfused.kernels import kernel_projection

LETTER_TRAIN = 15_000


@dataclass(frozen=True)
class DataSet:
    """Rows with their true classes as codes 0 .. Q - 1."""

    X: Rows
    truth: IntArray
    X_test: Rows
    truth_test: IntArray
    n_classes: int
    raw: Rows
    raw_test: Rows
    """The features before any projection, for methods with a kernel of their own."""

    votes: Any = None
    """People's answers, one column per annotator, -1 where there is none."""


@dataclass(frozen=True)
class Source:
    """A data set of the league by name."""

    title: str
    load: Callable[[int], DataSet]
    n_seeds: int
    n_quick: int


def _coded(X: Rows, y: Any, X_test: Rows, y_test: Any, votes: Any = None) -> DataSet:
    """Turn classes into codes."""
    classes = np.unique(y)
    place = {name: code for code, name in enumerate(classes.tolist())}
    if votes is not None:
        codes = np.array([[place.get(vote, -1) for vote in row] for row in votes.tolist()])
        votes = codes.astype(np.intp)
    truth, truth_test = (np.searchsorted(classes, labels) for labels in (y, y_test))
    return DataSet(X, truth, X_test, truth_test, len(classes), X, X_test, votes)


def _projected(data: DataSet, n_features: int, seed: int) -> DataSet:
    """Project the rows by Nystroem's approximation, however few they are."""
    projection = kernel_projection(n_features, exact_limit=0, random_state=seed).fit(data.X)
    return replace(data, X=projection.transform(data.X), X_test=projection.transform(data.X_test))


def _digits(seed: int) -> DataSet:
    """Load UCI's split by writers; the seed changes nothing."""
    X, y = datasets.fetch_optdigits(return_X_y=True)
    X_test, y_test = datasets.fetch_optdigits(subset="test", return_X_y=True)
    return _coded(X / 16, y, X_test / 16, y_test)


def _letter(seed: int) -> DataSet:
    """Split the letters at random."""
    X, y = datasets.fetch_letter(return_X_y=True)
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=LETTER_TRAIN, stratify=y, random_state=seed
    )
    scaler = StandardScaler().fit(X)
    return _coded(scaler.transform(X), y, scaler.transform(X_test), y_test)


def _reuters(seed: int) -> DataSet:
    """Load the nine largest topics, split as published; the seed changes nothing.

    Words that no training row has are left out: all methods give them the weight 0.
    """
    X, y = datasets.fetch_reuters(n_largest=9, return_X_y=True)
    X_test, y_test = datasets.fetch_reuters(subset="test", n_largest=9, return_X_y=True)
    shown, words = np.isin(y_test, np.unique(y)), np.unique(X.indices)
    return _coded(X[:, words], y, X_test[shown][:, words], y_test[shown])


def _music(seed: int) -> DataSet:
    """Load songs and people's answers; the seed changes nothing."""
    music = datasets.fetch_music_genre()
    X_test, y_test = datasets.fetch_music_genre(subset="test", return_X_y=True)
    scaler = StandardScaler().fit(music.data)
    X = scaler.transform(music.data)
    return _coded(X, music.target, scaler.transform(X_test), y_test, music.votes)


SOURCES: dict[str, Source] = {
    "digits64": Source("Digits, 64 features", _digits, 10, 2),
    "digits300": Source(
        "Digits, 300 Nystroem", lambda seed: _projected(_digits(seed), 300, seed), 10, 1
    ),
    "letter": Source(
        "Letter, 600 Nystroem", lambda seed: _projected(_letter(seed), 600, seed), 3, 1
    ),
    "reuters": Source("Reuters, sparse", _reuters, 3, 1),
    "music": Source("Music genre, a crowd", _music, 10, 2),
}


@lru_cache(maxsize=2)
def load(name: str, seed: int) -> DataSet:
    """Return a data set; the last two are remembered."""
    return SOURCES[name].load(seed)
