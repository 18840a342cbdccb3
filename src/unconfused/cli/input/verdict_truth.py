"""The truth from a verdict file: `--truth verdicts.csv`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._files.sparse import LabelledRows
from unconfused.cli.input.label_columns import label_texts
from unconfused.cli.input.label_options import LabelOptions

if TYPE_CHECKING:
    from unconfused.cli.input.parts import Parts
    from unconfused.review.checked import CheckedRows


def checked_in(rows: Any, known: LabelOptions) -> CheckedRows:
    """Find the rows of the verdicts in a table, or in a file without column names."""
    from unconfused.review.checked import match_verdicts
    from unconfused.review.verdicts import read_verdicts

    assert known.verdicts is not None
    verdicts = read_verdicts(known.verdicts)
    if isinstance(rows, LabelledRows):
        return match_verdicts(verdicts, rows.X, _texts(rows.y, rows.X.shape[0]))
    labels = None if known.label is None else rows.get(known.label)
    keys = None if known.identity is None else _texts(rows[known.identity], len(rows))
    return match_verdicts(
        verdicts, rows, _texts(labels, len(rows)), keys=keys, leave_out=left_out(known)
    )


def checked_in_parts(parts: Parts, labels: Any, known: LabelOptions) -> CheckedRows:
    """Find the rows of the verdicts in a file that is read in chunks."""
    from unconfused._columns.row_hash import row_hashes
    from unconfused.review.checked import place_verdicts
    from unconfused.review.verdicts import read_verdicts

    assert known.verdicts is not None
    verdicts = read_verdicts(known.verdicts)
    named, place, hashes = known.identity, dict[str, int](), dict[int, str]()
    for part in parts([one for one in (known.label, named) if one is not None]):
        numbers = [int(one) for one in part.index]
        keys = list(map(str, numbers)) if named is None else label_texts(part[named])
        here = [spot for spot, key in enumerate(keys) if key in verdicts.by_key]
        found = row_hashes(part.iloc[here].reindex(columns=parts.names), left_out(known))
        for spot, digest in zip(here, found, strict=True):
            key = str(keys[spot])
            if key in place:
                raise ValueError(f"{key!r} occurs more than once in the column {named!r}.")
            place[key], hashes[numbers[spot]] = numbers[spot], digest
    return place_verdicts(verdicts, _texts(labels, parts.n_rows), place, hashes)


def left_out(known: LabelOptions) -> list[str]:
    """Return the columns that are no part of a row's content: that of the labels."""
    return [] if known.label is None else [known.label]


def _texts(column: Any, n_rows: int) -> Any:
    cells = [None] * n_rows if column is None else label_texts(column)
    return np.array(["" if one is None else one for one in cells], dtype=object)
