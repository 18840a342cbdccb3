"""The data sets of the leagues: features made once, split into training and test rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from unconfused import datasets
from unconfused._typing import IntArray, Rows
from unconfused.kernels import kernel_projection

LETTER_TRAIN = 15_000
FEWEST_OF_A_TOPIC = 30

CROWD = "majority vote"
"""Labels by people, or by rules."""

DISTANT = "distant labels"
"""Labels looked up in a knowledge base."""


@dataclass(frozen=True)
class DataSet:
    """Rows with their true classes as codes 0 .. Q - 1.

    Parameters
    ----------
    X, truth : training rows; the truth is -1 where nobody knows it
    X_test, truth_test : test rows
    n_classes : Q
    votes : people's answers, one column per annotator, -1 where there is none
    labels : labels that come with the set, by the name of their noise
    raw, raw_test : the features before any projection, for models that are not linear
    """

    X: Rows
    truth: IntArray
    X_test: Rows
    truth_test: IntArray
    n_classes: int
    votes: Any = None
    labels: dict[str, IntArray] = field(default_factory=dict)
    raw: Rows = None
    raw_test: Rows = None


@dataclass(frozen=True)
class Source:
    """A data set by name.

    Parameters
    ----------
    title : how tables call it
    load : makes it, given a seed
    noises : those it is learnt under
    n_seeds, n_quick : draws of noise, trusted rows and (where there is none) the split
    trusted_share : share of the rows whose truth may be known
    settled : whether constants of our learner were settled on it
    votes : whether the labels are votes, of which the majority is seen
    """

    title: str
    load: Callable[[int], DataSet]
    noises: tuple[str, ...]
    n_seeds: int
    n_quick: int = 1
    trusted_share: float = 0.05
    settled: bool = False
    votes: bool = False


def _coded(X: Rows, y: Any, X_test: Rows, y_test: Any, votes: Any = None) -> DataSet:
    """Turn classes into codes."""
    classes = np.unique(y)
    if votes is not None:
        votes = _codes(votes, classes)
    truth, truth_test = (np.searchsorted(classes, labels) for labels in (y, y_test))
    data = DataSet(X, truth, X_test, truth_test, len(classes), votes)
    return replace(data, raw=X, raw_test=X_test)


def _codes(labels: Any, classes: Any) -> IntArray:
    """Return codes of labels in any shape, -1 where one is None."""
    place = {name: code for code, name in enumerate(classes.tolist())}
    flat = [place.get(label, -1) for label in np.asarray(labels, dtype=object).ravel().tolist()]
    return np.array(flat, dtype=np.intp).reshape(np.shape(labels))


def _digits(seed: int) -> DataSet:
    """Load UCI's split by writers; the seed changes nothing."""
    X, y = datasets.fetch_optdigits(return_X_y=True)
    X_test, y_test = datasets.fetch_optdigits(subset="test", return_X_y=True)
    return _coded(X / 16, y, X_test / 16, y_test)


def _letter(seed: int) -> DataSet:
    """Split the letters at random, and project them on 600 features of a Gaussian kernel."""
    X, y = datasets.fetch_letter(return_X_y=True)
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=LETTER_TRAIN, stratify=y, random_state=seed
    )
    scaler = StandardScaler().fit(X)
    data = _coded(scaler.transform(X), y, scaler.transform(X_test), y_test)
    projection = kernel_projection(600, exact_limit=0, random_state=seed).fit(data.X)
    return replace(data, X=projection.transform(data.X), X_test=projection.transform(data.X_test))


def _reuters(seed: int) -> DataSet:
    """Load the nine largest topics, split as published; the seed changes nothing."""
    X, y = datasets.fetch_reuters(n_largest=9, return_X_y=True)
    return _with_test_topics(
        X, y, *datasets.fetch_reuters(subset="test", n_largest=9, return_X_y=True)
    )


def _reuters_rare(seed: int) -> DataSet:
    """Load every topic with thirty training rows or more."""
    X, y = datasets.fetch_reuters(return_X_y=True)
    names, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, names[counts >= FEWEST_OF_A_TOPIC])
    return _with_test_topics(
        X[kept], y[kept], *datasets.fetch_reuters(subset="test", return_X_y=True)
    )


def _with_test_topics(X: Rows, y: Any, X_test: Rows, y_test: Any) -> DataSet:
    """Leave out test rows of other topics, and words that no training row has."""
    shown, words = np.isin(y_test, np.unique(y)), np.unique(X.indices)
    return _coded(X[:, words], y, X_test[shown][:, words], y_test[shown])


def _music(seed: int) -> DataSet:
    """Load songs and people's answers; the seed changes nothing."""
    music = datasets.fetch_music_genre()
    X_test, y_test = datasets.fetch_music_genre(subset="test", return_X_y=True)
    scaler = StandardScaler().fit(music.data)
    X = scaler.transform(music.data)
    return _coded(X, music.target, scaler.transform(X_test), y_test, music.votes)


def _voted_texts(fetch: Callable[..., Any]) -> DataSet:
    """Load texts, without those that nobody labelled, as TF-IDF of words; no seed."""
    train, (texts, y_test) = fetch(), fetch(subset="test", return_X_y=True)
    answered = np.not_equal(train.votes, None).any(axis=1)
    words = TfidfVectorizer(sublinear_tf=True, min_df=2)
    X = words.fit_transform(train.data[answered])
    y, votes = train.target[answered], train.votes[answered]
    return _coded(X, y, words.transform(texts), y_test, votes)


def _sentiment(seed: int) -> DataSet:
    return _voted_texts(datasets.fetch_sentiment_polarity)


def _youtube(seed: int) -> DataSet:
    return _voted_texts(datasets.fetch_youtube_spam)


def _medical(seed: int) -> DataSet:
    """Load sentences with distant and with crowd labels; half of those with a truth are tested."""
    medical = datasets.fetch_medical_relations()
    truth = _codes(medical.target, medical.target_names)
    known = np.flatnonzero(truth >= 0)
    _, test = train_test_split(known, test_size=0.5, stratify=truth[known], random_state=seed)
    train = np.setdiff1d(np.arange(len(truth)), test)
    words = TfidfVectorizer(sublinear_tf=True, min_df=2, ngram_range=(1, 2))
    X, X_test = words.fit_transform(medical.data[train]), words.transform(medical.data[test])
    labels = {
        DISTANT: _codes(medical.distant_labels, medical.target_names)[train],
        CROWD: _codes(medical.crowd_labels, medical.target_names)[train],
    }
    data = DataSet(X, truth[train], X_test, truth[test], len(medical.target_names), labels=labels)
    return replace(data, raw=X, raw_test=X_test)


FEW_NOISES = ("symmetric 0.5", "pair flip 0.45", "random 0.6", "rough labels 0.3")
MORE_NOISES = ("symmetric 0.2", *FEW_NOISES)

SOURCES: dict[str, Source] = {
    "digits": Source("Digits", _digits, MORE_NOISES, 10, 2, settled=True),
    "letter": Source("Letter", _letter, FEW_NOISES, 5),
    "reuters": Source("Reuters", _reuters, FEW_NOISES, 5, settled=True),
    "reuters-rare": Source(
        "Reuters, rare topics", _reuters_rare, ("random 0.3", "pair flip 0.3"), 5, 1, 0.1
    ),
    "music": Source("Music", _music, (CROWD,), 20, 2, 0.2, settled=True, votes=True),
    "sentiment": Source("Sentiment", _sentiment, (CROWD,), 20, 2, votes=True),
    "youtube": Source("YouTube", _youtube, (CROWD,), 20, 2, votes=True),
    "medical": Source("Medical", _medical, (DISTANT, CROWD), 20, 2),
}
"""All data sets; a block of the league names those it is held on."""


@lru_cache(maxsize=2)
def load(name: str, seed: int) -> DataSet:
    """Return a data set; the last two are remembered."""
    return SOURCES[name].load(seed)
