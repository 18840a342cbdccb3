"""The kind of each column: numbers, categories, text, dates, or not a feature."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from unconfused._columns.row_hash import PROVENANCE
from unconfused._columns.summary import MOSTLY, ColumnSummary, Matches

FEWEST_ROWS_FOR_IDS = 20
"""Rows needed to call a column of distinct values an identifier."""

ROWS_PER_CATEGORY = 5
"""Mean rows per value below which a column of categories is pointed out."""


SOME_DATE = re.compile(
    r"\s*(\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b|\d{1,2}[. -]*[^\W\d]{3,9}[ ,-]*\d{2,4}\b"
    r"|[^\W\d]{3,9}\.? \d{1,2},? \d{4}\b)"
)
SOME_AMOUNT = re.compile(r"\s*[^\w\s]{0,2}\s*\d[\d.,' ]*\s*([^\w\s]{1,2}|[^\W\d]{1,3})?\s*")
"""What looks like 31/05/2024, 31 May 2024 or May 31, 2024, and like $1,234.50 or 12 % or 3.5 kg."""


LONGEST_VALUE = 40
"""Characters of a date or an amount; the patterns take quadratic time."""


class ColumnError(ValueError):
    """The columns of a table are not those that are needed; the message names them."""


class NoFeaturesError(ColumnError):
    """No column is left to learn from."""


@dataclass(frozen=True)
class ColumnRoles:
    """What a user says of columns, by name: which to leave out, and what some others are."""

    leave_out: Collection[str] = ()
    text: Collection[str] = ()
    categories: Collection[str] = ()
    numbers: Collection[str] = ()


@dataclass
class ColumnPlan:
    """Which columns are used as what.

    Attributes
    ----------
    numbers, categories, text, dates : names of columns
    left_out : why, by name
    values : what a used column of numbers or categories holds, if that is not much
    notes : sentences about columns that are used, but might not be meant so
    """

    numbers: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    values: dict[str, list[Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def used(self) -> list[str]:
        """All columns that are used."""
        return [*self.numbers, *self.categories, *self.text, *self.dates]

    def in_words(self) -> list[str]:
        """Return a line for everything a user should know."""
        return [f"{name!r} is left out: {why}" for name, why in self.left_out.items()] + self.notes


def plan_columns(frame: Any, said: ColumnRoles) -> ColumnPlan:
    """Decide for every column what it is, by its cells and by what the user says."""
    plan = ColumnPlan()
    for summary in _summaries(frame, said):
        _place(plan, summary)
    if not plan.used:
        why = " ".join(plan.in_words()) or "A model needs columns besides its labels."
        raise NoFeaturesError(f"No column is left to learn from. {why}")
    return plan


def _summaries(frame: Any, said: ColumnRoles) -> Iterator[ColumnSummary]:
    """Yield a summary of every column that may be learnt from."""
    named = [*dict.fromkeys(said.leave_out), *said.text, *said.categories, *said.numbers]
    require_columns(frame, named)
    clash = {name for name, times in Counter(named).items() if times > 1}
    if clash:
        raise ColumnError(f"{_listed(sorted(clash))}: a column can be used for one thing only.")
    roles: dict[str, Any] = dict.fromkeys(said.text, "text")
    roles |= dict.fromkeys(said.categories, "categories") | dict.fromkeys(said.numbers, "numbers")
    kept_out = set(said.leave_out)
    for name in frame.columns:
        if name not in kept_out:
            yield ColumnSummary(frame[name], str(name), roles.get(str(name)))


def require_columns(frame: Any, names: Iterable[str]) -> None:
    """Raise if a frame lacks a column, and say which one may be meant."""
    there = [str(name) for name in frame.columns]
    known = set(there)
    missing = [name for name in dict.fromkeys(names) if name not in known]
    if missing:
        lower = {name.lower(): name for name in there}
        close = [
            lower[one]
            for name in missing
            for one in difflib.get_close_matches(name.lower(), lower, 1, 0.7)
        ]
        meant = f" Did you mean {_listed(dict.fromkeys(close))}?" if close else ""
        lacking = "There is no column" if len(missing) == 1 else "There are no columns"
        raise ColumnError(f"{lacking} {_listed(missing)}.{meant} The columns are {_listed(there)}.")


def _listed(names: Iterable[str], most: int = 10) -> str:
    every = [repr(name) for name in names]
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")


def _place(plan: ColumnPlan, summary: ColumnSummary) -> None:
    name = summary.name
    if not summary.n_present:
        plan.left_out[name] = "all its cells are empty."
    elif name == PROVENANCE and summary.role is None:
        plan.left_out[name] = "`apply` wrote it, so it tells the labels."
    elif summary.role == "text":
        plan.text.append(name)
    elif summary.is_constant:
        plan.left_out[name] = f"it is always {_short(summary.first)}."
    elif summary.role == "categories":
        plan.categories.append(name)
    elif summary.kind == "words":
        _place_words(plan, summary)
    else:
        _place_values(plan, summary)
    used = [name] in (plan.categories[-1:], plan.numbers[-1:])
    if used and summary.levels is not None:
        plan.values[name] = summary.levels


def _place_values(plan: ColumnPlan, summary: ColumnSummary) -> None:
    undecided = summary.role is None and _enough(summary)
    hint = "To use it, name it as numbers."
    if undecided and summary.kind == "numbers" and summary.points:
        plan.left_out[summary.name] = (
            f"a different number in every row, as identifiers have. {hint}"
        )
    elif undecided and summary.counts_up:
        plan.left_out[summary.name] = (
            f"it rises with every row, as identifiers and time stamps do. {hint}"
        )
    else:
        (plan.numbers if summary.kind == "numbers" else plan.dates).append(summary.name)


def _enough(summary: ColumnSummary) -> bool:
    return summary.n_present >= FEWEST_ROWS_FOR_IDS


def _place_words(plan: ColumnPlan, summary: ColumnSummary) -> None:
    name, present, odd = summary.name, summary.n_present, summary.numeric.odd
    if summary.role == "numbers":
        raise ColumnError(f"The column {name!r} is named as numbers, but holds {_short(odd)}.")
    if summary.n_amounts and summary.numeric.n + summary.n_amounts == present:
        extra = "a comma" if "," in odd else "a currency or percent sign"
        raise ColumnError(
            f"The column {name!r} holds numbers with {extra}, such as {_short(odd)}. Write "
            "them with a decimal point, and without thousands separators and signs; if they are "
            "codes, name it as categories."
        )
    if _enough(summary) and summary.is_text:
        plan.text.append(name)
        return
    if _enough(summary) and summary.is_spoilt:
        advice = "Empty these cells to have them treated as missing; if the numbers are codes"
        raise ColumnError(_exceptions(name, "numbers", summary.numeric, present, advice))
    if _enough(summary) and summary.dates.n == present:  # in a format that has dates
        raise ColumnError(
            f"The column {name!r} holds dates as text. Store them as dates; to learn without "
            "their order, name it as categories."
        )
    if _enough(summary) and MOSTLY * present <= summary.dates.n < present:
        advice = "Write these as 2024-05-31 or empty them; to learn without the order of the dates"
        raise ColumnError(_exceptions(name, "dates", summary.dates, present, advice))
    hint = _hint(odd)
    if summary.n_spaced > 0.5 * present and not hint:
        hint = " To learn from its words, name it as text."
    if _enough(summary) and summary.is_unique:
        plan.left_out[name] = f"a different value in every row, as identifiers have.{hint}"
        return
    plan.categories.append(name)
    a_date = SOME_DATE.match(odd)
    if _enough(summary) and (a_date or present < ROWS_PER_CATEGORY * summary.n_distinct):
        plan.notes.append(
            f"{name!r} is taken for categories, with {summary.n_distinct:,} different values in "
            f"{present:,} rows.{hint}"
        )
    if MOSTLY <= summary.numeric.n / present < 1:
        plan.notes.append(
            f"{name!r} is taken for categories: {summary.numeric.n} of {present} cells are "
            f"numbers, but not {_short(odd)} in row {summary.numeric.row}."
        )


def _exceptions(name: str, what: str, found: Matches, present: int, advice: str) -> str:
    return (
        f"The column {name!r} holds {what}, except for {present - found.n:,} of {present:,} cells, "
        f"such as {_short(found.odd)} in row {found.row}. {advice}, name it as categories."
    )


def _hint(cell: str) -> str:
    """Say how dates and numbers are written, if a cell looks like one written in another way."""
    if len(cell) > LONGEST_VALUE:
        return ""
    if SOME_DATE.match(cell):
        return " Dates are read only where every cell is one, written as 2024-05-31."
    if SOME_AMOUNT.fullmatch(cell):
        return " Numbers are read only as 1234.5, without currencies and units."
    return ""


def _short(value: Any) -> str:
    text = repr(value.item() if hasattr(value, "item") else value)
    return text if len(text) <= 40 else f"{text[:40]}..."
