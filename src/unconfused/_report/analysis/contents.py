"""What a row holds, for those who decide about it: its own columns, and who voted what."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from unconfused._columns.row_hash import row_hashes
from unconfused._labels import is_missing
from unconfused._report.analysis.case import Case
from unconfused._text.words import class_names, shorten

MOST_COLUMNS = 8
"""Columns of a row that are shown, unless they are named."""

LONGEST_CELL = 80

MOST_VOTES = 12
"""Votes on a row that are shown."""


@dataclass(frozen=True)
class RowContents:
    """Access to the rows behind a report, as the user has them.

    Attributes
    ----------
    fetch : returns some rows, by their place, as a frame or a matrix
    shown : columns to show; None for the first few
    leave_out : columns that are no part of a row's content, and not shown: the labels
    hidden : columns that are not shown, though they are content
    """

    fetch: Callable[[list[int]], Any]
    shown: Collection[str] | None = None
    leave_out: Collection[str] = ()
    hidden: Collection[str] = ()

    def of(self, rows: list[int]) -> list[tuple[str, list[tuple[str, str]]]]:
        """Return the hash of each row, and its cells with their columns' names."""
        found = self.fetch(rows)
        hashes = row_hashes(found, self.leave_out)
        if not hasattr(found, "columns"):
            return [(one, []) for one in hashes]
        left_out = {*self.leave_out, *self.hidden}
        names = [str(name) for name in found.columns if str(name) not in left_out]
        if self.shown is not None:
            names = [name for name in self.shown if name in names]
        else:
            names = names[:MOST_COLUMNS]
        columns = [_texts(found[name]) for name in names]
        return [
            (
                hashes[place],
                [(n, c[place]) for n, c in zip(names, columns, strict=True) if c[place]],
            )
            for place in range(len(rows))
        ]


def _texts(column: Any) -> list[str]:
    cells = np.asarray(column, dtype=object)
    absent = is_missing(cells).tolist()
    return [
        "" if missing else shorten(f"{c:.6g}" if isinstance(c, float) else str(c), LONGEST_CELL)
        for c, missing in zip(cells.tolist(), absent, strict=True)
    ]


def votes_on(case: Case, place: int) -> list[tuple[str, int]]:
    """Return who voted what on a row."""
    if case.votes is None:
        return []
    own = np.flatnonzero(case.votes.item == place)[:MOST_VOTES]
    who = class_names(case.votes.annotators)
    return [(shorten(who[case.votes.annotator[v]]), int(case.votes.label[v])) for v in own]
