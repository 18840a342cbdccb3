"""Numbers in words."""

from __future__ import annotations

import math

import numpy as np

from unconfused._typing import Labels

LONGEST_NAME = 60
"""Characters of a label or a row's name that are shown."""


def percent(share: float) -> str:
    """Write a share with as many digits as it deserves.

    Examples
    --------
    >>> percent(0.2347), percent(0.0123), percent(0.00004), percent(0.0)
    ('23 %', '1.2 %', '< 0.1 %', '0 %')
    """
    if not math.isfinite(share):
        return "unknown"
    if share == 0:
        return "0 %"
    if share < 0.001:
        return "< 0.1 %"
    # Just below 1 is not 1: that would say there is no doubt.
    if 0.995 <= share < 1:
        return "> 99.9 %" if share > 0.999 else f"{100 * share:.1f} %"
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"


def about(number: float) -> str:
    """Write an estimated number with the digits it deserves.

    Examples
    --------
    >>> about(22031.4), about(157.2), about(0.2)
    ('22,000', '157', '0')
    """
    digits = max(0, len(str(round(number))) - 3)
    return f"{round(number, -digits):,.0f}"


def points(change: float) -> str:
    """Write a change of a share in percentage points, with its sign.

    Examples
    --------
    >>> points(0.012), points(-0.012), points(0.0)
    ('+1.2', '−1.2', '0.0')
    """
    written = f"{100 * change:+.1f}"
    return "0.0" if written[1:] == "0.0" else written.replace("-", "−")


def shorten(text: str, longest: int = LONGEST_NAME) -> str:
    """Cut a text that is too long to show, and say so."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def class_names(classes: Labels) -> list[str]:
    """Write classes as text; whole numbers that a missing value turned into floats as such.

    Examples
    --------
    >>> class_names(np.array([0.0, 1.0])), class_names(np.array(["a", "b"]))
    (['0', '1'], ['a', 'b'])
    """
    if classes.dtype.kind == "f" and np.all(classes % 1 == 0):
        classes = classes.astype(np.int64)
    return [str(name) for name in classes.tolist()]


def count(number: float, noun: str) -> str:
    """Write a number with its noun: "1 row", "2,000 rows"."""
    whole = round(number)
    return f"{whole:,} {noun}" if whole == 1 else f"{whole:,} {noun}s"
