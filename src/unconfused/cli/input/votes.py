"""Answers in long form, one per line, and the rows of the data they speak of."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unconfused._columns.kinds import require as require_columns
from unconfused._files.errors import DataFileError
from unconfused._files.sparse import LabelledRows
from unconfused.cli.input.label_columns import label_texts

if TYPE_CHECKING:
    from unconfused.cli.input.label_options import LabelOptions, ReadOptions

FIRST = 3
"""How many strangers are named."""


@dataclass(frozen=True)
class Answers:
    """Three columns of equal length."""

    item: list[str]
    annotator: list[str]
    label: Any


def read_answers(known: LabelOptions, reading: ReadOptions) -> Answers:
    """Read the file of --votes; all that it says is text, as in any export."""
    assert known.votes and known.item and known.annotator and known.label
    names = [known.item, known.annotator, known.label]
    # The format is that of DATA; the votes may have another, which their ending says.
    table = type(reading)(reading.delimiter, reading.encoding).table(known.votes, names)
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
            f"{path}: the column {name!r} is empty in line {cells.index(None) + 1} of the answers; "
            "every answer needs one."
        )
    return found


def tell_unmatched(
    path: Path, table: Any, named: str | None, voted: list[str], known: LabelOptions
) -> list[str]:
    """Return what each row of the data is called in the votes; refuse votes on other rows."""
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
                f"{path}: {twice[0]!r} is in the column {named!r} more than once, so votes on it "
                "cannot be told apart. Every row needs a name of its own."
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
