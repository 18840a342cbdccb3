"""A confusion matrix for the terminal: in full where it fits, else one line per class."""

from __future__ import annotations

import numpy as np
from rich.table import Table
from rich.text import Text

from unconfused._text.printable import printable
from unconfused._text.words import short_names
from unconfused._typing import FloatArray
from unconfused.confusion.estimate import ConfusionEstimate

WIDEST = 9
"""Width of an interval such as 0.12-0.34."""

MOST_CLASSES = 20
"""Lines of the table by class, least accurate first."""


LONGEST_ROW_NAME = 20
"""Characters of a name before its row of the matrix."""

NUMBERS_WIDTH = 58
"""What a line of the table by class takes without its two names."""


def confusion_table(found: ConfusionEstimate, level: float, width: int) -> Table:
    """Return the matrix if it is not wider than the terminal, else one line per class."""
    if _matrix_width(found) <= width:
        return _matrix_table(found, level)
    return _class_table(found, level, width)


def _names_of(found: ConfusionEstimate, longest: int) -> list[str]:
    """Return the classes as text that is safe to print, shortened but different."""
    names = [printable(str(one)) for one in found.classes.tolist()]
    return short_names(names, longest)


def _matrix_width(found: ConfusionEstimate) -> int:
    """Return the width of the full matrix in characters."""
    first = max(len("true"), *(len(name) for name in _names_of(found, LONGEST_ROW_NAME)))
    return first + 4 + sum(max(WIDEST, len(name)) + 3 for name in _names_of(found, WIDEST))


def _matrix_table(found: ConfusionEstimate, level: float) -> Table:
    """Return the matrix, with the interval below each entry."""
    low, high = found.interval(level)
    names, columns = _names_of(found, LONGEST_ROW_NAME), _names_of(found, WIDEST)
    table = Table(
        title="How true classes (rows) are labelled (columns)",
        caption=f"Below each share: its {100 * level:g} % interval.",
        show_lines=True,
    )
    table.add_column("true", no_wrap=True)
    for name in columns:
        table.add_column(Text(name), justify="right", no_wrap=True)
    for t, name in enumerate(names):
        cells = [
            Text(
                f"{found.matrix[t, k]:.2f}\n{_interval(low, high, t, k)}",
                style="bold" if t == k else "" if found.matrix[t, k] >= 0.05 else "dim",
            )
            for k in range(len(names))
        ]
        table.add_row(Text(name), *cells)
    return table


def _class_table(found: ConfusionEstimate, level: float, width: int) -> Table:
    """Return one line per class: its accuracy and its most frequent wrong label.

    Names are shortened to the `width` of the terminal; numbers never are.
    """
    low, high = found.interval(level)
    names, right = _names_of(found, max(5, (width - NUMBERS_WIDTH) // 2)), np.diag(found.matrix)
    order = np.argsort(right, kind="stable")[:MOST_CLASSES]
    left = len(names) - len(order)
    more = f" {left} classes that are right more often are not shown." if left else ""
    table = Table(
        title="How true classes are labelled",
        caption=f"{100 * level:g} % intervals.{more} -o C.csv writes the whole matrix.",
    )
    for title in ("true", "right", "interval", "main error", "share", "interval", "rows"):
        name = title in ("true", "main error")
        least = None if name else WIDEST if title == "interval" else len(title)
        table.add_column(title, justify="left" if name else "right", no_wrap=True, min_width=least)
    for t in order.tolist():
        k = int(np.argmax(np.where(np.arange(len(names)) == t, -1.0, found.matrix[t])))
        table.add_row(
            Text(names[t]),
            f"{right[t]:.2f}",
            _interval(low, high, t, t),
            Text(names[k]),
            f"{found.matrix[t, k]:.2f}",
            _interval(low, high, t, k),
            f"{found.counts[t].sum():,.0f}",
        )
    return table


def _interval(low: FloatArray, high: FloatArray, true: int, label: int) -> str:
    return f"{low[true, label]:.2f}-{high[true, label]:.2f}"
