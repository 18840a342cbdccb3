"""Columns by name, and dates as numbers: what the column transformer is made of."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from unconfused._typing import FloatArray, Labels

DAY = 24 * 3600 * 1_000_000
"""In microseconds."""
PERIODS = {"year": 365.2425, "week": 7.0, "day": 1.0}
"""Length of the period, in days."""


class DateParts(TransformerMixin, BaseEstimator):
    """Turn dates into days since 1970, and their place in the year, the week and the day.

    A place in a period is a point on a circle (sine and cosine): the 31st of December lies beside
    the 1st of January. A missing date gives missing numbers.

    Examples
    --------
    >>> import numpy as np
    >>> dates = np.array([["1970-01-02"], ["NaT"]], dtype="datetime64[s]")
    >>> DateParts().fit(dates).transform(dates)[:, 0]
    array([ 1., nan])
    >>> DateParts().fit(dates).get_feature_names_out(["seen"])[:3].tolist()
    ['seen_days', 'seen_year_sin', 'seen_year_cos']
    """

    n_features_in_: int

    def fit(self, X: Any, y: Any = None) -> Self:
        """Note the number of columns."""
        self.n_features_in_ = _dates(X).shape[1]
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return seven numbers for every date."""
        dates = _dates(X)
        since = dates - np.datetime64(0, "us")
        parts = [since / np.timedelta64(1, "D")]
        for period in PERIODS.values():
            # In whole microseconds: dates without a time of day must all lie at the same place. The
            # sine of a rounded angle differs by 1e-12, which scaling would make a feature.
            whole = np.timedelta64(round(period * DAY), "us")
            angle = 2 * np.pi * (since % whole / whole)
            parts += [np.sin(angle), np.cos(angle)]
        # The parts of the first date, then those of the second.
        return np.stack(parts, axis=2).reshape(len(dates), -1)

    def get_feature_names_out(self, input_features: Any = None) -> Labels:
        """Name the numbers after their column."""
        if input_features is None:
            input_features = [f"x{place}" for place in range(self.n_features_in_)]
        ends = ["days", *(f"{period}_{part}" for period in PERIODS for part in ("sin", "cos"))]
        names = [f"{name}_{end}" for name in input_features for end in ends]
        return np.array(names, dtype=object)


def _dates(X: Any) -> Any:
    columns = [X[name] for name in X.columns] if hasattr(X, "columns") else list(np.asarray(X).T)
    return np.stack([np.asarray(column).astype("datetime64[us]") for column in columns], axis=1)


class Named:
    """Tell a ColumnTransformer which columns to take.

    Given a list of names, scikit-learn looks for each among all columns, one after the other, in
    every fit: with 100,000 columns that takes minutes, and a saved model describes each name by
    itself.

    Examples
    --------
    >>> import pandas as pd
    >>> Named(["c", "a"])(pd.DataFrame({"a": [1], "b": [2], "c": [3]}))
    [2, 0]
    """

    def __init__(self, names: list[str]) -> None:
        self.names = np.array(names, dtype=np.str_)

    def __call__(self, frame: Any) -> list[int]:
        """Return where the columns are in a frame."""
        places = frame.columns.get_indexer(self.names)
        if (places < 0).any():
            raise ValueError(f"There is no column {str(self.names[places < 0][0])!r}.")
        return [int(place) for place in places]  # what converters to ONNX look for

    def __repr__(self) -> str:
        return f"Named({self.names.tolist()!r})"


def names_in(columns: Any) -> list[str]:
    """Return the names in what a ColumnTransformer was given: `Named`, a list, or one name."""
    found = columns.names.tolist() if isinstance(columns, Named) else columns
    return [found] if isinstance(found, str) else [str(name) for name in found]
