"""The data sets of the league: features made once, split into training and test rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
    classes = np.unique(y)
    place = {name: code for code, name in enumerate(classes.tolist())}
    if votes is not None:
        codes = np.array([[place.get(vote, -1) for vote in row] for row in votes.tolist()])
        votes = codes.astype(np.intp)
    return DataSet(
        X,
        np.searchsorted(classes, y),
        X_test,
        np.searchsorted(classes, y_test),
        len(classes),
        votes,
    )


def _digits(n_features: int | None, seed: int) -> DataSet:
    """Load UCI's split by writers; the seed draws the rows of the projection only."""
    X, y = datasets.fetch_optdigits(return_X_y=True)
    X_test, y_test = datasets.fetch_optdigits(subset="test", return_X_y=True)
    X, X_test = X / 16, X_test / 16
    if n_features is not None:
        X, X_test = _projected(n_features, X, X_test, seed)
    return _coded(X, y, X_test, y_test)


def _letter(seed: int) -> DataSet:
    """Split the letters at random, and project them."""
    X, y = datasets.fetch_letter(return_X_y=True)
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=LETTER_TRAIN, stratify=y, random_state=seed
    )
    scaler = StandardScaler().fit(X)
    X, X_test = _projected(600, scaler.transform(X), scaler.transform(X_test), seed)
    return _coded(X, y, X_test, y_test)


def _projected(n_features: int, X: Rows, X_test: Rows, seed: int) -> tuple[Rows, Rows]:
    # exact_limit=0: by Nystroem's approximation however few the rows, as the issue of speed needs.
    projection = kernel_projection(n_features, exact_limit=0, random_state=seed).fit(X)
    return projection.transform(X), projection.transform(X_test)


def _reuters(seed: int) -> DataSet:
    """Load the nine largest topics, split by date as published; the seed changes nothing."""
    X, y = datasets.fetch_reuters(n_largest=9, return_X_y=True)
    X_test, y_test = datasets.fetch_reuters(subset="test", n_largest=9, return_X_y=True)
    shown = np.isin(y_test, np.unique(y))
    return _coded(X, y, X_test[shown], y_test[shown])


def _music(seed: int) -> DataSet:
    """Load songs and people's answers; the seed changes nothing."""
    music = datasets.fetch_music_genre()
    X_test, y_test = datasets.fetch_music_genre(subset="test", return_X_y=True)
    scaler = StandardScaler().fit(music.data)
    return _coded(
        scaler.transform(music.data), music.target, scaler.transform(X_test), y_test, music.votes
    )


SOURCES: dict[str, Source] = {
    "digits64": Source("Digits, 64 features", lambda seed: _digits(None, seed), 10, 2),
    "digits300": Source("Digits, 300 Nystroem", lambda seed: _digits(300, seed), 10, 1),
    "letter": Source("Letter, 600 Nystroem", _letter, 3, 1),
    "reuters": Source("Reuters, sparse", _reuters, 3, 1),
    "music": Source("Music genre, a crowd", _music, 10, 2),
}


@lru_cache(maxsize=2)
def load(name: str, seed: int) -> DataSet:
    """Return a data set; the last two are remembered."""
    return SOURCES[name].load(seed)
