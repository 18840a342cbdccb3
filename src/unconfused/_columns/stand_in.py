"""A small frame that shows what a large one holds: every level and every word.

Fitted on it, a column transformer has all its parts in their right widths. Only numbers that
depend on all rows (medians, means, scales, inverse frequencies) have to be put right afterwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import OneHotEncoder

from unconfused._columns.kinds import ColumnPlan
from unconfused._columns.summary import ColumnSummary


def stand_in(
    plan: ColumnPlan,
    summaries: dict[str, ColumnSummary],
    words: dict[str, list[str]],
    encoder: OneHotEncoder | None,
) -> Any:
    """Return the frame.

    Parameters
    ----------
    plan : what each column is
    summaries : of the columns, by name
    words : of the columns of text, by name
    encoder : the one for the categories, not fitted; it says whether rare levels go together
    """
    import pandas as pd

    most = None if encoder is None else encoder.max_categories
    columns: dict[str, list[Any]] = {}
    for name in plan.numbers:
        columns[name] = [0.0, 1.0]
    for name in plan.dates:
        columns[name] = [np.datetime64(0, "us"), np.datetime64(1, "us")]
    for name in plan.categories:
        columns[name] = _levels(summaries[name], most)
    for name in plan.text:
        columns[name] = [" ".join(words[name]), ""]
    longest = max(map(len, columns.values()))
    return pd.DataFrame(
        {
            name: pd.Series(cells + cells[-1:] * (longest - len(cells)))
            if name in (*plan.numbers, *plan.dates)
            else pd.Series(cells + cells[-1:] * (longest - len(cells)), dtype=object)
            for name, cells in columns.items()
        }
    )


def _levels(summary: ColumnSummary, most: int | None) -> list[Any]:
    """Return every level; where rare ones go together, the others twice, a frequent one last."""
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
