"""Votes in long format, one per line, and the rows they refer to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unconfused._columns.kinds import require as require_columns
from unconfused._files.errors import DataFileError
from unconfused._files.sparse import LabelledRows
from unconfused.cli.input.label_columns import label_texts

if TYPE_CHECKING:
    from unconfused.cli.input.label_options import LabelOptions, ReadOptions

FIRST = 3
"""Number of unmatched items listed in an error."""


@dataclass(frozen=True)
class Answers:
    """Three columns of equal length."""

    item: list[str]
    annotator: list[str]
    label: Any


def read_answers(known: LabelOptions, reading: ReadOptions) -> Answers:
    """Read the file of --votes; all cells are text."""
    assert known.votes and known.item and known.annotator and known.label
    names = [known.item, known.annotator, known.label]
    # The format is that of DATA; the votes may have another, which their ending says.
    table = replace(reading, format=None).table(known.votes, names)
    if isinstance(table, LabelledRows):
        raise DataFileError(f"{known.votes}: votes need named columns; use CSV or Parquet.")
    try:
        require_columns(table, names)
    except ValueError as error:
        raise type(error)(f"{known.votes}: {error}") from None
    item = _complete(known.votes, known.item, label_texts(table[known.item]))
    annotator = _complete(known.votes, known.annotator, label_texts(table[known.annotator]))
    return Answers(item, annotator, table[known.label])


def _complete(path: Path, name: str, cells: list[str | None]) -> list[str]:
    found = [cell for cell in cells if cell is not None]
    if len(found) < len(cells):
        raise DataFileError(
            f"{path}: the column {name!r} is empty in row {cells.index(None) + 1}; every answer "
            "needs a value there."
        )
    return found


def tell_unmatched(
    path: Path, table: Any, named: str | None, voted: list[str], known: LabelOptions
) -> list[str]:
    """Return the item name of each row; raise if there are votes on other items."""
    if named is None:
        items = [str(row) for row in range(len(table))]
        whose = f"a row number of {path} (0 to {len(table) - 1})"
        hint = f" Name the column of {path} that holds them with --id."
    else:
        items = _complete(path, named, label_texts(table[named]))
        whose, hint = f"in the column {named!r} of {path}", ""
        twice = [item for item, times in Counter(items).items() if times > 1]
        if twice:
            raise DataFileError(
                f"{path}: {twice[0]!r} occurs more than once in the column {named!r}, so votes on "
                "it are ambiguous. Every row needs a unique id."
            )
    there = set(items)
    strangers = [item for item in dict.fromkeys(voted) if item not in there]
    if strangers:
        shown = ", ".join(map(repr, strangers[:FIRST])) + " ..." * (len(strangers) > FIRST)
        raise DataFileError(
            f"{known.votes} has answers on {len(strangers):,} items that are not {whose}: "
            f"{shown}.{hint}"
        )
    return items
