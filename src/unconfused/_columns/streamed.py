"""Features from columns that do not fit into memory: `ColumnsInBlocks`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import IO, Any

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

    def n_nonzero(self) -> int:
        """Return how many features of all texts together will not be zero."""
        return sum(self._texts[word] for word in self.kept())

    def inverse_frequencies(self) -> FloatArray:
        """Return scikit-learn's smooth inverse document frequency of every word kept."""
        texts = np.array([self._texts[word] for word in self.kept()], dtype=np.float64)
        return np.asarray(np.log((self._n_texts + 1) / (texts + 1)) + 1.0)


class ColumnsInBlocks:
    """Fit the column transformer of `build_pipeline` on a frame that comes block by block.

    At any time, one block, one column, and the levels and words of all columns are in memory;
    numbers are kept in an open file meanwhile. The result is that of the whole frame, medians
    included; sums differ in rounding. Text that is not named is recognised by the first block.
    """

    def __init__(self, names: Any, file: IO[bytes], said: ColumnRoles = NOTHING_SAID) -> None:
        found = begin_summaries(names, said)
        self._summaries = {one.name: one for one in found}
        self._words = {one.name: WordCounts(MOST_WORDS) for one in found if one.role == "text"}
        self._file, self._n_rows = file, 0
        self._blocks: dict[str, list[tuple[int, int, int]]] = {}
        """By column, the first row of each block of numbers, where it is in the file, its rows."""

    def add(self, part: Any) -> None:
        """Take in some more rows."""
        self._n_rows += len(part)
        numbers: dict[str, FloatArray] = {}
        for name, summary in self._summaries.items():
            column = part[name]
            first = summary.n_present == 0
            summary.add(column)
            if first and summary.role is None and looks_like_text(summary):
                summary.role, self._words[name] = "text", WordCounts(MOST_WORDS)
                self._words[name].add([""] * (self._n_rows - len(part)))
            if name in self._words:
                self._words[name].add(cells_as_text(column, missing=""))
            elif summary.role in (None, "numbers"):
                numbers |= _numbers_of(column, name)
        for name, cells in numbers.items():
            block = (self._n_rows - len(part), self._file.tell(), len(part))
            self._blocks.setdefault(name, []).append(block)
            self._file.write(np.asarray(cells, dtype=np.float64).tobytes())

    def _numbers(self, name: str) -> FloatArray:
        """Read a column of numbers; blocks without it are gaps."""
        found = np.full(self._n_rows, np.nan)
        for begun, place, n_rows in self._blocks[name]:
            self._file.seek(place)
            found[begun : begun + n_rows] = np.frombuffer(self._file.read(8 * n_rows))
        return found

    def finish(self) -> tuple[ColumnTransformer, ColumnPlan]:
        """Return the fitted transformer, and what each column became."""
        plan = plan_columns(self._summaries.values())
        columns = column_transformer(plan)
        parts = {name: part for name, part, _ in columns.transformers}
        kept = {name: self._words[name].kept() for name in plan.text}
        columns.fit(_stand_in(plan, self._summaries, kept, parts.get(CATEGORIES)))
        fitted = columns.named_transformers_
        if plan.numbers:
            self._correct(fitted[NUMBERS], plan.numbers)
        if plan.dates:
            names = [_part_name(n, k) for n in plan.dates for k in range(N_DATE_PARTS)]
            self._correct(fitted[DATES][-1], names)
        for name in plan.text:
            fitted[f"{TEXT}{name}"].idf_ = self._words[name].inverse_frequencies()
        columns.sparse_output_ = self._is_sparse(columns, plan)
        return columns, plan

    def _is_sparse(self, columns: ColumnTransformer, plan: ColumnPlan) -> bool:
        """Decide as scikit-learn does when it sees all rows at once."""
        dense = len(plan.numbers) + N_DATE_PARTS * len(plan.dates) + len(plan.categories)
        words = sum(self._words[name].n_nonzero() for name in plan.text)
        density = (dense + words / self._n_rows) / len(columns.get_feature_names_out())
        return bool(plan.categories or plan.text) and density < columns.sparse_threshold

    def _correct(self, part: Pipeline, names: list[str]) -> None:
        """Give a fitted imputer and scaler the medians, means and scales of the columns."""
        imputer, scaler = part[-2], part[-1]
        scalers = []
        for place, name in enumerate(names):
            column = self._numbers(name)
            missing = np.isnan(column)
            imputer.statistics_[place] = np.median(column[~missing], overwrite_input=True)
            column[missing] = imputer.statistics_[place]
            scalers.append(StandardScaler().fit(column[:, np.newaxis]))
        for name in ("mean_", "var_", "scale_"):
            setattr(scaler, name, np.concatenate([getattr(one, name) for one in scalers]))
        scaler.n_samples_seen_ = scalers[0].n_samples_seen_


N_DATE_PARTS = len(DateParts().fit(np.zeros((1, 1), "M8[us]")).get_feature_names_out())


def _numbers_of(column: Any, name: str) -> dict[str, FloatArray]:
    """Return the numbers that a column may become, by the names they have in the store."""
    kind = kind_of(column, column.dropna())
    if kind == "numbers":
        return {name: finite_numbers(column, name).to_numpy()}
    if kind == "dates":
        naive = column.dt.tz_convert(None) if column.dt.tz is not None else column
        parts = DateParts().fit_transform(naive.to_frame())
        return {_part_name(name, k): part for k, part in enumerate(parts.T)}
    return {}


def _part_name(name: str, place: int) -> str:
    return f"{name}\0{place}"


def _stand_in(
    plan: ColumnPlan,
    summaries: dict[str, ColumnSummary],
    words: dict[str, list[str]],
    encoder: OneHotEncoder | None,
) -> Any:
    """Return a small frame with every level and every word of a large one.

    A column transformer that is fitted to it has the right number of features. Only statistics of
    all rows (medians, means, scales, inverse frequencies) have to be corrected afterwards. The
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
