"""What each column of a frame is: numbers, categories, text, dates, or nothing to learn from."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

FEWEST_ROWS_FOR_IDS = 20
"""With fewer rows than this, all distinct says little."""

ID_NAME = re.compile(r"(?i)(.*[_\W])?(id|uuid|guid|key|index)|unnamed_\d+")
"""Names of columns of whole numbers that only count or point."""

MOSTLY = 0.8
"""From this share of numbers on, a column of text with numbers is worth a word."""


class ColumnError(ValueError):
    """The columns of a table are not those that are needed; the message names them."""


@dataclass
class ColumnPlan:
    """Which columns are used as what.

    Attributes
    ----------
    numbers, categories, text, dates : names of columns
    left_out : why, by name
    notes : sentences about columns that are used, but might not be meant so
    """

    numbers: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def used(self) -> list[str]:
        """All columns that are used."""
        return [*self.numbers, *self.categories, *self.text, *self.dates]

    def in_words(self) -> list[str]:
        """Return a line for everything a user should know."""
        return [f"{name!r} is left out: {why}" for name, why in self.left_out.items()] + self.notes


def plan_columns(
    frame: Any,
    *,
    reserved: Collection[str],
    text: Collection[str],
    categories: Collection[str],
) -> ColumnPlan:
    """Decide for every column what it is, by its cells and by what the user says."""
    require(frame, [*reserved, *text, *categories])
    clash = (set(text) & set(categories)) | (set(reserved) & {*text, *categories})
    if clash:
        raise ColumnError(f"{_listed(sorted(clash))}: a column can be used for one thing only.")
    plan = ColumnPlan()
    for name in frame.columns:
        if name not in reserved:
            _place(plan, frame[name], name, text, categories)
    if not plan.used:
        why = " ".join(plan.in_words())
        raise ColumnError(f"No column is left to learn from. {why}".strip())
    return plan


def require(frame: Any, names: Iterable[str]) -> None:
    """Raise if a frame lacks a column, and say which one may be meant."""
    there = [str(name) for name in frame.columns]
    missing = [name for name in dict.fromkeys(names) if name not in there]
    if missing:
        close = [one for name in missing for one in difflib.get_close_matches(name, there, n=1)]
        meant = f" Is {_listed(dict.fromkeys(close))} meant?" if close else ""
        raise ColumnError(
            f"There is no column {_listed(missing)}.{meant} The columns are {_listed(there)}."
        )


def _listed(names: Iterable[str], most: int = 10) -> str:
    every = [repr(name) for name in names]
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")


def _place(
    plan: ColumnPlan, column: Any, name: str, text: Collection[str], categories: Collection[str]
) -> None:
    present = column.dropna()
    if not len(present):
        plan.left_out[name] = "all its cells are empty."
    elif name in text:
        plan.text.append(name)
    elif present.nunique() == 1 and len(present) == len(column):
        plan.left_out[name] = f"it is always {_short(present.iloc[0])}."
    elif name in categories:
        plan.categories.append(name)
    elif _kind(column) == "M":
        plan.dates.append(name)
    elif _kind(column) in "iufb" or present.map(type).eq(bool).all():
        _place_numbers(plan, present, name)
    else:
        _place_words(plan, present, name)


def _kind(column: Any) -> str:
    """Return NumPy's letter for the type; pandas' own types count as those they stand for."""
    kind = getattr(column.dtype, "kind", "O")
    return str(kind)


def _place_numbers(plan: ColumnPlan, present: Any, name: str) -> None:
    whole = _kind(present) in "iu"
    counting = whole and len(present) >= FEWEST_ROWS_FOR_IDS and present.is_unique
    if counting and ID_NAME.fullmatch(name):
        plan.left_out[name] = "a number of its own for every row, as identifiers have."
    else:
        plan.numbers.append(name)


def _place_words(plan: ColumnPlan, present: Any, name: str) -> None:
    words = present.astype(str)
    if len(words) >= FEWEST_ROWS_FOR_IDS and words.is_unique:
        spaced = words.str.strip().str.contains(r"\s", regex=True).mean() > 0.5
        hint = " To learn from its words, name it as text." if spaced else ""
        plan.left_out[name] = f"a value of its own for every row, as identifiers have.{hint}"
        return
    plan.categories.append(name)
    import pandas as pd

    numbers = pd.to_numeric(words, errors="coerce").notna()
    if MOSTLY <= numbers.mean() < 1:
        odd = words[~numbers].iloc[0]
        plan.notes.append(
            f"{name!r} is taken for categories: {int(numbers.sum())} of {len(words)} cells are "
            f"numbers, but not {_short(odd)}."
        )


def _short(value: Any) -> str:
    text = repr(value.item() if hasattr(value, "item") else value)
    return text if len(text) <= 40 else f"{text[:40]}..."
