"""Features from columns that do not fit into memory: `ColumnsInBlocks`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from unconfused._columns.kinds import (
    ColumnPlan,
    ColumnRoles,
    begin_summaries,
    looks_like_text,
    plan_columns,
)
from unconfused._columns.steps import (
    CATEGORIES,
    DATES,
    MOST_WORDS,
    NOTHING_SAID,
    NUMBERS,
    TEXT,
    DateParts,
    column_transformer,
    finite_numbers,
)
from unconfused._columns.summary import ColumnSummary, cells_as_text, kind_of
from unconfused._typing import FloatArray


class WordCounts:
    """How often words occur, and in how many texts, for TF-IDF; the `most` frequent are kept."""

    def __init__(self, most: int) -> None:
        self._most, self._n_texts = most, 0
        self._times: Counter[str] = Counter()
        self._texts: Counter[str] = Counter()
        self._split = TfidfVectorizer().build_analyzer()

    def add(self, texts: Iterable[str]) -> None:
        """Count some more texts."""
        for text in texts:
            words = self._split(text)
            self._times.update(words)
            self._texts.update(set(words))
            self._n_texts += 1

    def kept(self) -> list[str]:
        """Return the words that become features, sorted."""
        words = sorted(self._times)
        if len(words) <= self._most:
            return words
        times = np.array([self._times[word] for word in words])
        # As scikit-learn does it, down to which of several equally frequent words are kept.
        return [words[place] for place in np.sort((-times).argsort()[: self._most])]

    def inverse_frequencies(self) -> FloatArray:
        """Return scikit-learn's smooth inverse document frequency of every word kept."""
        texts = np.array([self._texts[word] for word in self.kept()], dtype=np.float64)
        return np.asarray(np.log((self._n_texts + 1) / (texts + 1)) + 1.0)


class ColumnsInBlocks:
    """Fit the column transformer of `build_pipeline` on a frame that comes block by block.

    At any time, one block and the levels and words of all columns are in memory. The result is that
    of the whole frame; sums differ in rounding. Text that is not named is recognised by the first
    block.
    """

    def __init__(self, names: Any, said: ColumnRoles = NOTHING_SAID) -> None:
        found = begin_summaries(names, said)
        self._summaries = {one.name: one for one in found}
        self._words = {one.name: WordCounts(MOST_WORDS) for one in found if one.role == "text"}
        self._n_rows = 0
        self._scalers: dict[tuple[str, str], StandardScaler] = {}
        """By column and kind, of the cells that are not empty."""

    def add(self, part: Any) -> None:
        """Take in some more rows."""
        for name, summary in self._summaries.items():
            column = part[name]
            first = summary.n_present == 0
            summary.add(column)
            if first and summary.role is None and looks_like_text(summary):
                summary.role, self._words[name] = "text", WordCounts(MOST_WORDS)
                self._words[name].add([""] * self._n_rows)
            if name in self._words:
                self._words[name].add(cells_as_text(column, missing=""))
            elif summary.role in (None, "numbers"):
                self._add_numbers(column.dropna(), name)
        self._n_rows += len(part)

    def _add_numbers(self, present: Any, name: str) -> None:
        """Take in cells of a column if they are numbers, or dates."""
        kind = kind_of(present, present)
        if not len(present) or kind == "words":
            return
        if kind == "numbers":
            cells = finite_numbers(present, name).to_numpy()[:, np.newaxis]
        else:
            naive = present.dt.tz_convert(None) if present.dt.tz is not None else present
            cells = DateParts().fit_transform(naive.to_frame())
        self._scalers.setdefault((name, kind), StandardScaler()).partial_fit(cells)

    def finish(self) -> tuple[ColumnTransformer, ColumnPlan]:
        """Return the fitted transformer, and what each column became."""
        plan = plan_columns(self._summaries.values())
        columns = column_transformer(plan)
        parts = {name: part for name, part, _ in columns.transformers}
        kept = {name: self._words[name].kept() for name in plan.text}
        columns.fit(_stand_in(plan, self._summaries, kept, parts.get(CATEGORIES)))
        fitted = columns.named_transformers_
        if plan.numbers:
            self._correct(fitted[NUMBERS], "numbers", plan.numbers)
        if plan.dates:
            self._correct(fitted[DATES][-1], "dates", plan.dates)
        for name in plan.text:
            fitted[f"{TEXT}{name}"].idf_ = self._words[name].inverse_frequencies()
        return columns, plan

    def _correct(self, part: Pipeline, kind: str, names: list[str]) -> None:
        """Give a fitted imputer and scaler the means and scales of the columns."""
        imputer, scaler = part
        found = [self._scalers[name, kind] for name in names]
        for one in found:  # empty cells are imputed, and count as well
            if gaps := self._n_rows - int(one.n_samples_seen_):
                one.partial_fit(np.broadcast_to(one.mean_, (gaps, len(one.mean_))))
        for name in ("mean_", "var_", "scale_"):
            setattr(scaler, name, np.concatenate([getattr(one, name) for one in found]))
        scaler.n_samples_seen_, imputer.statistics_ = self._n_rows, scaler.mean_


def _stand_in(
    plan: ColumnPlan,
    summaries: dict[str, ColumnSummary],
    words: dict[str, list[str]],
    encoder: OneHotEncoder | None,
) -> Any:
    """Return a small frame with every level and every word of a large one.

    A column transformer that is fitted to it has the right number of features. Only statistics of
    all rows (means, scales, inverse frequencies) have to be corrected afterwards. The
    encoder of the categories decides whether rare levels are grouped.
    """
    import pandas as pd

    most = None if encoder is None else encoder.max_categories
    columns: dict[str, list[Any]] = {name: [0.0, 1.0] for name in plan.numbers}
    columns |= {name: [np.datetime64(0, "us"), np.datetime64(1, "us")] for name in plan.dates}
    columns |= {name: _levels(summaries[name], most) for name in plan.categories}
    columns |= {name: [" ".join(words[name]), ""] for name in plan.text}
    longest, plain = max(map(len, columns.values())), {*plan.numbers, *plan.dates}
    series = {}
    for name, cells in columns.items():
        filled = cells + cells[-1:] * (longest - len(cells))
        series[name] = pd.Series(filled, dtype=None if name in plain else object)
    return pd.DataFrame(series)


def _levels(summary: ColumnSummary, most: int | None) -> list[Any]:
    """Return every level; if rare ones are grouped, the others twice, and a frequent one last."""
    assert summary.levels is not None
    counts: dict[Any, int] = {level: summary.levels[level] for level in sorted(summary.levels)}
    if summary.n_present < summary.n_rows:
        counts[np.nan] = summary.n_rows - summary.n_present
    levels = list(counts)
    if most is None or len(levels) < most:
        return levels
    # A stable sort, as in scikit-learn: the same of several equally frequent levels are kept.
    order = np.argsort(list(counts.values()), kind="mergesort")
    frequent = [levels[place] for place in order[1 - most :]]
    return [*levels, *frequent]
