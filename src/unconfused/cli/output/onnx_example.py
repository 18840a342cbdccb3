"""Example rows for a saved pipeline, made from its fitted columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from unconfused._typing import BoolArray

N_ROWS = 25
WORDS = 6
"""Words in each text."""


def example_rows(model: Any) -> Any:
    """Return a frame to compare an exported graph with its model on; None for unnamed columns."""
    first = model.steps[0][1] if getattr(model, "steps", None) else None
    if not isinstance(first, ColumnTransformer):
        return None
    import pandas as pd

    rng = np.random.RandomState(0)
    columns: dict[str, Any] = {}
    known = model.feature_names_in_
    for _, part, places in first.transformers_:
        # A text is one column, named; of the others, their places are kept.
        columns |= _columns(part, places if isinstance(places, str) else known[places], rng)
    return pd.DataFrame({name: columns[name] for name in known})


def _columns(part: Any, names: Any, rng: np.random.RandomState) -> dict[str, Any]:
    if isinstance(part, CountVectorizer):
        words = sorted(part.vocabulary_)
        texts = [" ".join(rng.choice(words, WORDS)) for _ in range(N_ROWS)]
        return {names: np.array(texts, dtype=object)}
    if isinstance(part, OneHotEncoder):
        levels = [[one for one in some if isinstance(one, str)] for some in part.categories_]
        return {
            name: np.array(rng.choice(some, N_ROWS).tolist(), dtype=object)
            for name, some in zip(names, levels, strict=True)
        }
    scaler = part
    while isinstance(scaler, Pipeline):
        scaler = scaler.steps[-1][1]
    if isinstance(scaler, StandardScaler) and len(scaler.mean_) == len(names):
        drawn = rng.normal(scaler.mean_, scaler.scale_, size=(N_ROWS, len(names)))
        drawn[_gaps(drawn.shape)] = np.nan
        return {name: drawn[:, place] for place, name in enumerate(names)}
    # Dates: the first of each one's numbers is in days.
    width = len(scaler.mean_) // len(names)
    mean, scale = scaler.mean_[::width], scaler.scale_[::width]
    hours = (24 * rng.normal(mean, scale, size=(N_ROWS, len(names)))).astype("timedelta64[h]")
    dates = np.datetime64(0, "us") + hours
    dates[_gaps(dates.shape)] = np.datetime64("NaT")
    return {name: dates[:, place] for place, name in enumerate(names)}


def _gaps(shape: tuple[int, int]) -> BoolArray:
    """Return where to leave a gap: one in every column, in different rows while they last."""
    rows, columns = np.indices(shape)
    return np.asarray(rows == columns % shape[0])
