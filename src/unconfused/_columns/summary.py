"""Summary of a column, from which its kind is decided; additive over blocks of rows."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Kind = Literal["numbers", "words", "dates"]

ID_NAME = re.compile(r"(?i)(.*[_\W])?(id|uuid|guid|key|index)|unnamed_\d+")
"""Names of integer columns that are counters or identifiers."""

MOST_DISTINCT = 2**20
"""Different words that are counted; a column with more of them is none of categories."""

WORDS_IN_TEXT = 4.0
"""Words per cell, on average, from which words that are mostly different are a text: names have
two or three."""

AMOUNT = r"(?=.*[,%$€£¥])\s*[+-]?(?:[$€£¥]\s*)?[+-]?\d[\d.]*(?:,\d+)*(?:\.\d+)?(?:\s*[%$€£¥])?\s*"
"""A number as spreadsheets show it: 3,14 or 1.000,5 or $1,000.50 or 12 %."""

DATE = r"\s*\d{4}-\d\d-\d\d.*"

MOSTLY = 0.8
"""Share of numbers, or dates, above which the other cells of a column are pointed out."""

SMALLEST = 1e-150
"""Numbers below have squares that vanish, and a column without larger ones no scale."""

NUMBERS_PER_WORD = 5
"""Different numbers per different word from which such a column is one of measurements: a column of
codes has more words, or fewer numbers."""

FEW_NUMBERS = 1000
"""Different numbers that are remembered; more of them are measurements."""


@dataclass
class Matches:
    """How many words are of a kind, and the first that is not, with its row."""

    n: int = 0
    odd: str = ""
    row: Any = None

    def add(self, words: Any, are: Any) -> None:
        """Take in more words, and which of them are of the kind."""
        self.n += int(are.sum())
        if self.row is None and not are.all():
            self.odd, self.row = words[~are].iloc[0], words.index[~are][0]


@dataclass
class ColumnSummary:
    """A column in a few numbers.

    Attributes
    ----------
    name : of the column
    role : what the user says it is, None for nothing
    n_rows, n_present : its cells, and those that are not empty
    first : the first cell that is not empty
    levels : how often each value occurs, those of numbers not counted; None if they are too many
    n_spaced : cells of several words
    n_words : words of all cells
    numeric, dates : words that are numbers, or dates as 2024-05-31
    n_amounts : words that are numbers but for a comma, a currency or a percent sign
    largest : the largest absolute value of the numbers
    """

    name: str
    role: Literal["text", "categories", "numbers"] | None = None
    n_rows: int = 0
    n_present: int = 0
    first: Any = None
    levels: Counter[Any] | None = field(default_factory=Counter)
    n_spaced: int = 0
    n_words: int = 0
    numeric: Matches = field(default_factory=Matches)
    n_amounts: int = 0
    dates: Matches = field(default_factory=Matches)
    largest: float = 0.0
    _kinds: set[Kind] = field(default_factory=set)
    _whole: bool = True
    _whole_numbers: list[Any] = field(default_factory=list)
    _last: Any = None
    _counts_up: bool = True

    def add(self, column: Any) -> None:
        """Take in some more rows of the column."""
        present = column.dropna()
        self.n_rows += len(column)
        self.n_present += len(present)
        self._whole &= getattr(column.dtype, "kind", "O") in "iu"
        if not len(present):
            return
        if self.first is None:
            self.first = present.iloc[0]
        if self.role == "text":  # there is nothing to decide
            return
        kind = "words" if self.role == "categories" else kind_of(column, present)
        self._kinds.add(kind)
        if kind == "words":
            self._add_words(cells_as_text(present))
        else:
            values = present.to_numpy()
            if kind == "numbers":
                self.largest = max(self.largest, float(values.max()), -float(values.min()))
            self._add_values(values)

    def _add_words(self, words: Any) -> None:
        import pandas as pd

        gaps = words.str.strip().str.count(r"\s+")
        self.n_spaced += int((gaps > 0).sum())
        self.n_words += int(gaps.sum()) + len(words)
        self.numeric.add(words, pd.to_numeric(words, errors="coerce").notna())
        self.n_amounts += int(words.str.fullmatch(AMOUNT).sum())
        dates = words.str.fullmatch(DATE).to_numpy(dtype=bool, copy=True)
        found = pd.to_datetime(words[dates], errors="coerce", utc=True, format="ISO8601")
        dates[dates] = found.notna()
        self.dates.add(words, dates)
        if self.levels is not None:
            self.levels.update(words.value_counts(sort=False).to_dict())
            if len(self.levels) > MOST_DISTINCT:
                self.levels = None

    def _add_values(self, values: np.ndarray[Any, Any]) -> None:
        """Take in numbers or dates."""
        if self._counts_up:
            joined = values if self._last is None else np.concatenate([[self._last], values])
            self._counts_up = bool(np.all(joined[1:] > joined[:-1]))
            self._last = values[-1]
        if self._whole and ID_NAME.fullmatch(self.name):
            self._whole_numbers.append(values)
        if self.levels is not None:
            self.levels.update(dict.fromkeys(np.unique(values).tolist(), 1))
            # Several numbers that are not whole are measurements, never classes.
            measured = len(self.levels) > 1 and values.dtype.kind == "f"
            if len(self.levels) > FEW_NUMBERS or (measured and (values % 1 != 0).any()):
                self.levels = None

    @property
    def kind(self) -> Kind:
        """What the cells are; words and others together are words."""
        return next(iter(self._kinds)) if len(self._kinds) == 1 else "words"

    @property
    def is_constant(self) -> bool:
        """Whether every cell is there, and the same."""
        full = self.n_present == self.n_rows
        return full and self.levels is not None and len(self.levels) == 1

    @property
    def is_unique(self) -> bool:
        """Whether no word occurs twice; false if there were too many to remember."""
        return self.levels is not None and len(self.levels) == self.n_present

    @property
    def is_spoilt(self) -> bool:
        """Whether these are measurements but for a few words, such as 'unknown'."""
        if self.numeric.n == self.n_present or self.numeric.n < MOSTLY * self.n_present:
            return False
        if self.levels is None:
            return True
        import pandas as pd

        levels = pd.Series([*map(str, self.levels)])
        words = int(pd.to_numeric(levels, errors="coerce").isna().sum())
        return len(self.levels) - words >= NUMBERS_PER_WORD * words

    @property
    def is_tiny(self) -> bool:
        """Whether these are numbers too small to be scaled."""
        return self.kind == "numbers" and 0.0 < self.largest < SMALLEST

    @property
    def is_text(self) -> bool:
        """Whether these words are sentences: long, and mostly different from one another."""
        if self.kind != "words" or self.n_words < WORDS_IN_TEXT * self.n_present:
            return False
        return self.levels is None or len(self.levels) > 0.5 * self.n_present

    @property
    def counts_up(self) -> bool:
        """Whether whole numbers or dates rise with every row, as counters and time stamps do."""
        whole = self._whole if self.kind == "numbers" else self.kind == "dates"
        return whole and self._counts_up and self.n_present == self.n_rows

    @property
    def points(self) -> bool:
        """Whether these are whole numbers, named like identifiers, none of them twice."""
        if not self._whole or not ID_NAME.fullmatch(self.name):
            return False
        return len(np.unique(np.concatenate(self._whole_numbers))) == self.n_present


def kind_of(column: Any, present: Any) -> Kind:
    """Return what the cells of a column are; pandas' own types count as those they stand for."""
    letter = getattr(column.dtype, "kind", "O")
    if letter == "M":
        return "dates"
    if letter in "iufb" or (letter == "O" and all(type(cell) is bool for cell in present)):
        return "numbers"
    return "words"


def cells_as_text(column: Any, missing: Any = np.nan) -> Any:
    """Return a column of text, `missing` where there is nothing.

    A whole number has no point, gaps in the column or not: with gaps, pandas makes floats of it.

    Examples
    --------
    >>> import pandas as pd
    >>> cells_as_text(pd.Series([7, None, 8.5])).tolist()
    ['7', nan, '8.5']
    """
    import pandas as pd

    cells = zip(column.tolist(), column.isna().tolist(), strict=True)
    texts = np.empty(len(column), dtype=object)
    texts[:] = [missing if absent else as_written(cell) for cell, absent in cells]
    return pd.Series(texts, index=column.index, dtype=object)


def as_written(cell: Any) -> str:
    """Return a cell as text; a whole number has no point."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)
