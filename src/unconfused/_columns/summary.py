"""What the cells of a column are, from which its kind is decided."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np

Kind = Literal["numbers", "words", "dates"]
Role = Literal["text", "categories", "numbers"]

ID_NAME = re.compile(r"(?i)(.*[_\W])?(id|uuid|guid|key|index)|unnamed_\d+")
"""Names of integer columns that are counters or identifiers."""

WORDS_IN_TEXT = 4.0
"""Words per cell, on average, from which words that are mostly different are a text: names have
two or three."""

AMOUNT = r"(?=.*[,%$€£¥])\s*[+-]?(?:[$€£¥]\s*)?[+-]?\d[\d.]*(?:,\d+)*(?:\.\d+)?(?:\s*[%$€£¥])?\s*"
"""A number as spreadsheets show it: 3,14 or 1.000,5 or $1,000.50 or 12 %."""

DATE = r"\s*\d{4}-\d\d-\d\d.*"

MOSTLY = 0.8
"""Share of numbers, or dates, above which the other cells of a column are pointed out."""

NUMBERS_PER_WORD = 5
"""Different numbers per different word from which such a column is one of measurements: a column of
codes has more words, or fewer numbers."""

FEW_NUMBERS = 1000
"""More different numbers are measurements, not classes."""


class Matches:
    """How many words are of a kind, and the first that is not, with its row."""

    def __init__(self, words: Any, are: Any) -> None:
        others = words[~are]
        self.n = int(are.sum())
        self.odd: str = "" if others.empty else others.iloc[0]
        self.row: Any = None if others.empty else others.index[0]


class ColumnSummary:
    """A column in a few numbers.

    Attributes
    ----------
    name : of the column
    role : what the user says it is, None for nothing
    kind : what the cells are; words and others together are words
    n_rows, n_present : its cells, and those that are not empty
    first : the first cell that is not empty
    n_distinct : different cells
    levels : what these are; None for measurements
    counts_up : whether whole numbers or dates rise with every row, as counters and time stamps do
    n_spaced : cells of several words
    n_words : words of all cells
    numeric, dates : words that are numbers, or dates as 2024-05-31
    n_amounts : words that are numbers but for a comma, a currency or a percent sign
    """

    numeric: Matches
    dates: Matches

    def __init__(self, column: Any, name: str, role: Role | None = None) -> None:
        present = column.dropna()
        self.name, self.role = name, role
        self.n_rows, self.n_present = len(column), len(present)
        self.kind = "words" if role == "categories" else kind_of(column, present)
        self.n_distinct = self.n_words = self.n_spaced = self.n_amounts = 0
        self.levels: list[Any] | None = None
        self.counts_up = False
        self._whole = getattr(column.dtype, "kind", "O") in "iu"
        if role == "text" or not len(present):  # there is nothing to decide
            return
        self.first = present.iloc[0]
        if self.kind == "words":
            self._look_at_words(cells_as_text(present))
        else:
            self._look_at_values(present.to_numpy())

    def _look_at_words(self, words: Any) -> None:
        import pandas as pd

        self.levels = words.unique().tolist()
        self.n_distinct = len(self.levels)
        gaps = words.str.strip().str.count(r"\s+")
        self.n_spaced, self.n_words = int((gaps > 0).sum()), int(gaps.sum()) + len(words)
        self.numeric = Matches(words, pd.to_numeric(words, errors="coerce").notna())
        self.n_amounts = int(words.str.fullmatch(AMOUNT).sum())
        dates = words.str.fullmatch(DATE).to_numpy(dtype=bool, copy=True)
        found = pd.to_datetime(words[dates], errors="coerce", utc=True, format="ISO8601")
        dates[dates] = found.notna()
        self.dates = Matches(words, dates)

    def _look_at_values(self, values: np.ndarray[Any, Any]) -> None:
        """Look at numbers or dates."""
        distinct = np.unique(values)
        self.n_distinct = len(distinct)
        # Several numbers that are not whole are measurements, never classes.
        measured = len(distinct) > 1 and values.dtype.kind == "f" and (values % 1 != 0).any()
        if len(distinct) <= FEW_NUMBERS and not measured:
            self.levels = distinct.tolist()
        full, whole = self.n_present == self.n_rows, self._whole or self.kind == "dates"
        self.counts_up = full and whole and bool(np.all(values[1:] > values[:-1]))

    @property
    def is_constant(self) -> bool:
        """Whether every cell is there, and the same."""
        return self.n_present == self.n_rows and self.n_distinct == 1

    @property
    def is_unique(self) -> bool:
        """Whether no cell occurs twice."""
        return self.n_distinct == self.n_present

    @property
    def is_spoilt(self) -> bool:
        """Whether these are measurements but for a few words, such as 'unknown'."""
        if self.numeric.n == self.n_present or self.numeric.n < MOSTLY * self.n_present:
            return False
        import pandas as pd

        words = int(pd.to_numeric(pd.Series(self.levels), errors="coerce").isna().sum())
        return self.n_distinct - words >= NUMBERS_PER_WORD * words

    @property
    def is_text(self) -> bool:
        """Whether these words are sentences: long, and mostly different from one another."""
        if self.kind != "words" or self.n_words < WORDS_IN_TEXT * self.n_present:
            return False
        return self.n_distinct > 0.5 * self.n_present

    @property
    def points(self) -> bool:
        """Whether these are whole numbers, named like identifiers, none of them twice."""
        return self._whole and self.is_unique and ID_NAME.fullmatch(self.name) is not None


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
    whole = isinstance(cell, float | np.floating) and float(cell).is_integer()
    return str(int(cell)) if whole else str(cell)
