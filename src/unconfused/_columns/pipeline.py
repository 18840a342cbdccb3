"""The pipeline for a frame: `build_pipeline`."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from unconfused._columns.kinds import ColumnPlan, begin_summaries, plan_columns
from unconfused._columns.steps import DateParts, Named
from unconfused._columns.summary import ColumnSummary

NUMBERS, CATEGORIES, DATES, TEXT = "numbers", "categories", "dates", "text: "
"""Names of the parts of the column transformer; each text has one of its own."""

MOST_LEVELS = 1000
"""Levels that a column of categories may have; rarer ones are then taken together."""

MOST_WORDS = 200_000


def build_pipeline(
    frame: Any,
    learner: Any,
    *,
    label: str | None,
    text: Collection[str] = (),
    categories: Collection[str] = (),
    numbers: Collection[str] = (),
    leave_out: Collection[str] = (),
    for_trees: bool = False,
) -> tuple[Pipeline, ColumnPlan]:
    """Make a pipeline that takes frames like this one and ends in `learner`.

    Numbers and truth values are imputed (median) and scaled; words are categories, one feature
    each, a missing one a level of its own, those never seen ignored; dates become days, and their
    place in year, week and day; text (named so, or long cells that mostly differ) goes through
    TF-IDF. Columns that cannot help (constant, empty, identifiers, what rises with every row) are
    left out, and the plan says so.

    Rows must go through `prepare_frame` on their way to it; its first step is "columns". Columns of
    codes are named as `categories`; `numbers` are used even if they look like identifiers;
    `leave_out` and the `label` are not used. `for_trees`, numbers stay as they are, gaps included,
    and every category gets a number.

    Examples
    --------
    >>> import pandas as pd
    >>> from unconfused import UMAClassifier
    >>> from unconfused._columns.prepare import prepare_frame
    >>> frame = pd.DataFrame({"size": [1, 8, 2, 9] * 9, "colour": ["red", "blue"] * 18,
    ...                       "unit": "cm", "kind": ["cat", "dog"] * 18})
    >>> model, plan = build_pipeline(frame, UMAClassifier(), label="kind")
    >>> plan.in_words()
    ["'unit' is left out: it is always 'cm'."]
    >>> model = model.fit(prepare_frame(model, frame), frame["kind"])
    >>> model.predict(prepare_frame(model, frame.head(2))).tolist()
    ['cat', 'dog']
    """
    summaries = begin_summaries(
        frame,
        reserved=[*leave_out, *([] if label is None else [label])],
        text=list(text),
        categories=list(categories),
        numbers=list(numbers),
    )
    plan = plan_columns(_filled(frame, summaries))
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
