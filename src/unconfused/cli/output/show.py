"""Notes and column summaries printed by several commands."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from unconfused._text.printable import printable
from unconfused.cli.console import console
from unconfused.cli.errors import in_options
from unconfused.cli.input.label_columns import label_texts

if TYPE_CHECKING:
    from unconfused._columns.kinds import ColumnPlan
    from unconfused._typing import Labels
    from unconfused.cli.model import Plan

MOST_LISTED = 12
"""Columns of a kind that the table of columns lists."""

MOST_NAMES = 6
"""Columns of a kind that are listed by name; beyond that, only their number."""

KINDS = {
    "numbers": ("number", "numbers"),
    "categories": ("category", "categories"),
    "text": ("text", "texts"),
    "dates": ("date", "dates"),
}


def say_notes(notes: Iterable[str]) -> None:
    """Print notes on stderr."""
    for note in notes:
        print(f"note: {printable(note)}", file=sys.stderr)


def columns_as_dict(columns: ColumnPlan | None) -> dict[str, Any] | None:
    """Return the kind of each column, for --json."""
    if columns is None:
        return None
    return {kind: getattr(columns, kind) for kind in KINDS} | {
        "left_out": columns.left_out,
        "notes": [in_options(note) for note in columns.notes],
    }


CHANGED_BY = {
    "numbers": "--categories, --ignore",
    "categories": "--text, --ignore",
    "text": "--categories, --ignore",
    "dates": "--categories, --ignore",
}
"""Options that make another kind of a column."""


def show_columns(plan: Plan) -> None:
    """Print on stderr what each column was taken for, and the options that change it."""
    if plan.columns is None:
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Columns", title_justify="left")
    table.add_column("read as", no_wrap=True)
    table.add_column("columns", overflow="fold")
    table.add_column("to change", no_wrap=True)
    for kind, (_, many) in KINDS.items():
        names = getattr(plan.columns, kind)
        if names:
            shown = ", ".join(names[:MOST_LISTED])
            more = len(names) - MOST_LISTED
            shown += f" and {more:,} more" if more > 0 else ""
            table.add_row(many, Text(printable(shown)), CHANGED_BY[kind])
    left = list(plan.columns.left_out.items())
    for name, why in left[:MOST_LISTED]:
        options = "--numbers" if "as numbers" in why else "--text, --categories"
        reason = why.split(". ")[0].rstrip(".")
        table.add_row("left out", Text(printable(f"{name}: {reason}")), options)
    if len(left) > MOST_LISTED:
        table.add_row("left out", f"{len(left) - MOST_LISTED:,} more (--json lists all)", "")
    console(stderr=True).print(table)


def describe_columns(plan: Plan) -> list[str]:
    """Describe the kinds of the columns in a few lines."""
    if plan.columns is None:
        how = "scaled" if plan.is_scaled else "not scaled"
        return [f"Features: {plan.rows.shape[1]:,} columns without names, {how}."]
    found = [_some(getattr(plan.columns, kind), *KINDS[kind]) for kind in KINDS]
    lines = [f"Features: {'; '.join(one for one in found if one)}."]
    said = [in_options(line) for line in plan.columns.in_words()]
    more = len(said) - MOST_NAMES
    lines += said[:MOST_NAMES]
    return [*lines, f"Likewise {more} more columns (--json lists all)."] if more > 0 else lines


def _some(names: list[str], one: str, many: str) -> str:
    if not names:
        return ""
    count = f"{len(names)} {one if len(names) == 1 else many}"
    return f"{count} ({', '.join(names)})" if len(names) <= MOST_NAMES else count


def suspicious_columns(plan: Plan, classes: Labels) -> list[str]:
    """Warn of feature columns that hold class names, perhaps true labels."""
    if plan.columns is None:
        return []
    names = {str(one) for one in classes.tolist()}
    candidates = [*plan.columns.categories]
    if len(names) > 2:  # with two classes, any column of 0 and 1 would do
        candidates += plan.columns.numbers
    found = []
    for column in candidates:
        held = plan.columns.values.get(column)
        values = set(label_texts(held)) - {None} if held else set()
        if len(values) > 1 and values <= names and len(values) > len(names) / 2:
            found.append(
                f"The column {column!r} holds class names, and is used as a feature. If it holds "
                "true or other labels, pass it to --truth or --ignore."
            )
    return found
