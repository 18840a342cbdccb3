"""The pipeline for a frame and its own steps, and frames on their way to it: `prepare_frame`."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from unconfused._columns.kinds import (
    ColumnError,
    ColumnPlan,
    ColumnRoles,
    plan_columns,
    require_columns,
)
from unconfused._columns.summary import cells_as_text
from unconfused._typing import FloatArray, Labels

DAY = 24 * 3600 * 1_000_000
"""In microseconds."""
PERIODS = {"year": 365.2425, "week": 7.0, "day": 1.0}
"""Length of the period, in days."""
N_DATE_PARTS = 1 + 2 * len(PERIODS)


class DateParts(TransformerMixin, BaseEstimator):
    """Turn dates into days since 1970, and their place in the year, the week and the day.

    The place in a period is a point on a circle (sine and cosine), so that the 31st of December is
    next to the 1st of January. A missing date gives missing numbers.

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

    Given a list of names, scikit-learn searches all columns for each of them in every fit, which
    takes minutes with 100,000 columns; and a saved model would describe each name separately.

    Examples
    --------
    >>> import pandas as pd
    >>> Named(["c", "a"])(pd.DataFrame({"a": [1], "b": [2], "c": [3]}))
    [2, 0]
    """

    def __init__(self, names: list[str]) -> None:
        self.names = np.array(names, dtype=np.str_)

    def __call__(self, frame: Any) -> list[int]:
        """Return the positions of the columns in a frame."""
        places = frame.columns.get_indexer(self.names)
        if (places < 0).any():
            raise ValueError(f"There is no column {str(self.names[places < 0][0])!r}.")
        return [int(place) for place in places]  # what converters to ONNX look for

    def __repr__(self) -> str:
        return f"Named({self.names.tolist()!r})"


NUMBERS, CATEGORIES, DATES, TEXT = "numbers", "categories", "dates", "text: "
"""Names of the parts of the column transformer; each text has one of its own."""

MOST_LEVELS = 1000
"""Levels that a column of categories may have; rarer ones are then taken together."""

MOST_WORDS = 200_000

SPARSE_BELOW = 0.3
"""Share of features that are not zero below which rows without text are sparse."""

NOTHING_SAID = ColumnRoles()


def build_pipeline(
    frame: Any, learner: Any, said: ColumnRoles = NOTHING_SAID, *, for_trees: bool = False
) -> tuple[Pipeline, ColumnPlan]:
    """Make a pipeline that takes frames like this one and ends in `learner`.

    Numbers and truth values are imputed (mean) and scaled; words are categories, one feature
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
    >>> frame = pd.DataFrame({"size": [1, 8, 2, 9] * 9, "colour": ["red", "blue"] * 18,
    ...                       "unit": "cm", "kind": ["cat", "dog"] * 18})
    >>> model, plan = build_pipeline(frame, UMAClassifier(), ColumnRoles(["kind"]))
    >>> plan.in_words()
    ["'unit' is left out: it is always 'cm'."]
    >>> model = model.fit(prepare_frame(model, frame), frame["kind"])
    >>> model.predict(prepare_frame(model, frame.head(2))).tolist()
    ['cat', 'dog']
    """
    plan = plan_columns(frame, said)
    return Pipeline(
        [("columns", column_transformer(plan, for_trees=for_trees)), ("learner", learner)]
    ), plan


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
    levels = sum(min(len(plan.values[name]), MOST_LEVELS) for name in plan.categories)
    filled = len(plan.numbers) + N_DATE_PARTS * len(plan.dates) + len(plan.categories)
    is_sparse = plan.text or filled < SPARSE_BELOW * (filled + levels - len(plan.categories))
    return ColumnTransformer(
        parts, sparse_threshold=1.0 if is_sparse else 0.0, verbose_feature_names_out=False
    )


def _numbers() -> Pipeline:
    # A fold of a cross-validation may show no value at all; the width must not depend on that.
    return make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())


def _categories(plan: ColumnPlan, for_trees: bool) -> OneHotEncoder | OrdinalEncoder:
    if for_trees:
        return OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=math.nan
        )
    if all(len(plan.values[name]) <= MOST_LEVELS for name in plan.categories):
        return OneHotEncoder(handle_unknown="ignore")
    return OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=MOST_LEVELS)


LARGEST = 1e150
"""Numbers beyond have squares that are not finite, and a column with one no scale."""

TRUTH = {"true": 1.0, "false": 0.0}


def check_columns(model: Any, frame: Any) -> list[str]:
    """Raise if a frame lacks a column that a model needs; return those it does not need."""
    needed = _needed(model)
    if needed is None:
        width = getattr(model, "n_features_in_", frame.shape[1])
        if frame.shape[1] != width:
            raise ColumnError(
                f"The model takes {width} columns, and does not know their names; there are "
                f"{frame.shape[1]}."
            )
        return []
    try:
        require_columns(frame, needed)
    except ColumnError as error:
        raise ColumnError(f"{error} The model needs all columns that it was fitted on.") from None
    used = set(needed)
    return [str(name) for name in frame.columns if name not in used]


def prepare_frame(model: Any, frame: Any) -> Any:
    """Return the columns a model needs, in its order and with the types it was fitted with.

    The model may be any that is fitted, or a pipeline by `build_pipeline`. Cells that cannot be
    turned into the type needed are refused.
    """
    import pandas as pd

    check_columns(model, frame)
    needed = _needed(model)
    if needed is None:
        return frame
    kinds = _kinds(model)
    plain = _plain_numbers(frame, [name for name in needed if kinds.get(name) == NUMBERS])
    others = [name for name in needed if name not in plain.columns]
    converted = {name: _converted(frame[name], name, kinds.get(name)) for name in others}
    if not converted:
        return plain
    return pd.concat([plain, pd.DataFrame(converted, index=frame.index)], axis=1)[needed]


def columns_as_text(model: Any) -> list[str]:
    """Return the columns to be read from a file as they are written: categories and text.

    A part of a file may show only numbers in a column of categories, and must not change it.
    """
    return [name for name, kind in _kinds(model).items() if kind in (CATEGORIES, TEXT)]


def _kinds(model: Any) -> dict[str, str]:
    """Return what each column is to a pipeline by `build_pipeline`; nothing for other models."""
    first = model.steps[0][1] if getattr(model, "steps", None) else None
    if not isinstance(first, ColumnTransformer):
        return {}
    kinds: dict[str, str] = {}
    for part, _, names in first.transformers:
        if part in (NUMBERS, CATEGORIES, DATES) or part.startswith(TEXT):
            kind = TEXT if part.startswith(TEXT) else part
            found = names.names.tolist() if isinstance(names, Named) else names
            kinds |= dict.fromkeys([found] if isinstance(found, str) else map(str, found), kind)
    return kinds


def _needed(model: Any) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return [str(name) for name in names]
    return list(_kinds(model)) or None


def _plain_numbers(frame: Any, names: list[str]) -> Any:
    """Return the columns that are numbers already, all at once, because there may be very many."""
    kinds = {name: kind for name, kind in frame.dtypes.items() if isinstance(kind, np.dtype)}
    plain = [name for name in names if name in kinds and kinds[name].kind in "iufb"]
    found = frame[plain].astype(np.float64)
    extreme = (np.abs(found.to_numpy()) > LARGEST).any(axis=0)
    for name in found.columns[extreme][:1]:
        finite_numbers(found[name], name)
    return found


def _converted(column: Any, name: str, kind: str | None) -> Any:
    if kind == NUMBERS:
        return finite_numbers(column, name)
    if kind == DATES:
        return _as_dates(column, name)
    if kind in (CATEGORIES, TEXT):
        return cells_as_text(column, missing="" if kind == TEXT else np.nan)
    return column


def finite_numbers(column: Any, name: str) -> Any:
    """Return a column as floats; refuse cells that are no numbers, or none that can be scaled."""
    import pandas as pd

    if column.dtype.kind == "M":
        raise ColumnError(f"The column {name!r} holds dates, and the model takes numbers there.")
    plain = column
    if column.dtype.kind == "O":  # text, or booleans with gaps
        plain = column.map(lambda cell: TRUTH.get(str(cell).strip().lower(), cell))
    numbers = pd.to_numeric(plain, errors="coerce").astype("float64")
    _refuse(column.notna() & numbers.isna(), column, name, "is not a number")
    _refuse(np.isinf(numbers), column, name, "is not finite")
    _refuse(np.abs(numbers) > LARGEST, column, name, "is too large a number to be scaled")
    return numbers


def _as_dates(column: Any, name: str) -> Any:
    import pandas as pd

    if column.dtype.kind in "iufb" and column.notna().any():
        raise ColumnError(f"The column {name!r} holds numbers, and the model takes dates there.")
    dates = pd.to_datetime(column, errors="coerce", utc=True, format="ISO8601")
    _refuse(column.notna() & dates.isna(), column, name, "is not a date such as 2024-05-31")
    return dates.dt.tz_localize(None)


def _refuse(wrong: Any, column: Any, name: str, what: str) -> None:
    if wrong.any():
        row = int(np.argmax(np.asarray(wrong)))
        raise ColumnError(
            f"The column {name!r} holds {str(column.iloc[row])[:40]!r} (row {column.index[row]}), "
            f"which {what}. Correct it, or leave the cell empty."
        )
