"""The pipeline for a frame, and its own steps: columns by name, dates as numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from unconfused._columns.kinds import ColumnPlan, ColumnRoles, begin_summaries, plan_columns
from unconfused._columns.summary import ColumnSummary
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


NUMBERS, CATEGORIES, DATES, TEXT = "numbers", "categories", "dates", "text: "
"""Names of the parts of the column transformer; each text has one of its own."""

MOST_LEVELS = 1000
"""Levels that a column of categories may have; rarer ones are then taken together."""

MOST_WORDS = 200_000

NOTHING_SAID = ColumnRoles()


def build_pipeline(
    frame: Any, learner: Any, said: ColumnRoles = NOTHING_SAID, *, for_trees: bool = False
) -> tuple[Pipeline, ColumnPlan]:
    """Make a pipeline that takes frames like this one and ends in `learner`.

    Numbers and truth values are imputed (median) and scaled; words are categories, one feature
    each, a missing one a level of its own, those never seen ignored; dates become days, and their
    place in year, week and day; text (named so, or long cells that mostly differ) goes through
    TF-IDF. Columns that cannot help (constant, empty, identifiers, what rises with every row) are
    left out, and the plan says so.

    Rows must go through `prepare_frame` on their way to it; its first step is "columns". Columns of
    codes are named as categories; those named as numbers are used even if they look like
    identifiers. `for_trees`, numbers stay as they are, gaps included, and every category gets a
    number.

    Examples
    --------
    >>> import pandas as pd
    >>> from unconfused import UMAClassifier
    >>> from unconfused._columns.prepare import prepare_frame
    >>> frame = pd.DataFrame({"size": [1, 8, 2, 9] * 9, "colour": ["red", "blue"] * 18,
    ...                       "unit": "cm", "kind": ["cat", "dog"] * 18})
    >>> model, plan = build_pipeline(frame, UMAClassifier(), ColumnRoles(["kind"]))
    >>> plan.in_words()
    ["'unit' is left out: it is always 'cm'."]
    >>> model = model.fit(prepare_frame(model, frame), frame["kind"])
    >>> model.predict(prepare_frame(model, frame.head(2))).tolist()
    ['cat', 'dog']
    """
    plan = plan_columns(_filled(frame, begin_summaries(frame, said)))
    return Pipeline(
        [("columns", column_transformer(plan, for_trees=for_trees)), ("learner", learner)]
    ), plan


def _filled(frame: Any, summaries: list[ColumnSummary]) -> Iterator[ColumnSummary]:
    """Yield the summaries one by one; what each remembers is gone before the next is made."""
    summaries.reverse()
    while summaries:
        summary = summaries.pop()
        summary.add(frame[summary.name])
        yield summary


def column_transformer(plan: ColumnPlan, *, for_trees: bool = False) -> ColumnTransformer:
    """Return the step that makes features of the columns, not fitted."""
    # Trees split any column by order, and gaps off it.
    steps: list[tuple[str, Any, list[str]]] = [
        (NUMBERS, "passthrough" if for_trees else _numbers(), plan.numbers),
        (DATES, DateParts() if for_trees else make_pipeline(DateParts(), _numbers()), plan.dates),
        (CATEGORIES, _categories(plan, for_trees), plan.categories),
    ]
    parts: list[tuple[str, Any, Any]] = [
        (name, step, Named(columns)) for name, step, columns in steps if columns
    ]
    if not for_trees:
        parts += [
            (f"{TEXT}{name}", TfidfVectorizer(max_features=MOST_WORDS), name) for name in plan.text
        ]
    return ColumnTransformer(parts, verbose_feature_names_out=False)


def _numbers() -> Pipeline:
    # A fold of a cross-validation may show no value at all; the width must not depend on that.
    return make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )


def _categories(plan: ColumnPlan, for_trees: bool) -> OneHotEncoder | OrdinalEncoder:
    if for_trees:
        return OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=math.nan
        )
    if all(len(plan.values[name]) <= MOST_LEVELS for name in plan.categories):
        return OneHotEncoder(handle_unknown="ignore")
    return OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=MOST_LEVELS)
