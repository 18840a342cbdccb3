"""Findings in words and HTML; here: safe text, numbers and names in words, missing extras."""

from __future__ import annotations

import importlib
import math
import re
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # NumPy takes a while to import
    from unconfused._typing import Labels

UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0, DEL and C1: what terminals take for commands
    "\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"  # unseen, or turning text round
    "\ud800-\udfff]"  # halves of characters, which no encoding can write
)


def printable(text: str) -> str:
    r"""Return text with control characters escaped, newlines and tabs too.

    A label or a file name may hold what a terminal takes for a command: to set the title of the
    window, to clear the screen, to show the rest of the line backwards.

    Examples
    --------
    >>> print(printable("cat\x1b]0;mine\x07\n"))
    cat\x1b]0;mine\x07\n
    >>> printable("naïve 猫")
    'naïve 猫'
    """
    return UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def cell_text(cell: object) -> str:
    """Write a cell as people do: a whole number without a point, a date without midnight.

    Examples
    --------
    >>> cell_text(33.0), cell_text(0.1 + 0.2), cell_text(20240531.0)
    ('33', '0.3', '20240531')
    """
    if not isinstance(cell, float):
        return str(cell).removesuffix(" 00:00:00")
    return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else f"{cell:.8g}"


def one_line(error: BaseException) -> str:
    """Return type and message of an error on one line that is safe to print."""
    text = printable(" ".join(str(error).split()))
    return f"{type(error).__name__}: {text}"[:300] if text else type(error).__name__


def roughly(number: str) -> str:
    """Begin a sentence with an estimate.

    Examples
    --------
    >>> roughly("8 %"), roughly("0 %"), roughly("?"), roughly("< 0.1 %")
    ('About 8 %', '0 %', '?', 'Less than 0.1 %')
    """
    if number[0] in "<>":
        return {"<": "Less", ">": "More"}[number[0]] + f" than{number[1:]}"
    return number if number in (percent(0), "?") else f"About {number}"


NAME = "unconfused"


def pip_install(extra: str) -> str:
    """Return the command that installs an extra, to be run where this is printed.

    An installation from a clone or an archive is completed from there: the package need not be on
    an index, and what is there under its name may be another version.

    Examples
    --------
    >>> pip_install("plot").endswith('[plot]"')
    True
    """
    source = Path(__file__).resolve().parents[3]
    if (source / "pyproject.toml").is_file():  # an editable installation stays one
        return f'pip install -e "{_here(source)}[{extra}]"'
    place = _installed_from()
    return f'pip install "{NAME if place is None else _here(place)}[{extra}]"'


def import_extra(module: str, extra: str, purpose: str) -> ModuleType:
    """Import a module that an extra brings, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{purpose} needs {module.split('.')[0]}: {pip_install(extra)} ({error})"
        ) from None


def _here(folder: Path) -> str:
    return "." if folder == Path.cwd() else str(folder)


def _installed_from() -> Path | None:
    """Return the clone or archive that pip installed the package from, if it is still there."""
    # Imported here: every import of the package would take longer.
    import json
    from importlib import metadata
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        told = metadata.distribution(NAME).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return None
    url = urlsplit(json.loads(told)["url"] if told else "")
    place = Path(url2pathname(url.path))
    there = place.is_file() or (place / "pyproject.toml").is_file()
    return place if url.scheme == "file" and there else None


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


def shorten(text: str, longest: int = LONGEST_NAME) -> str:
    """Cut a text that is too long to show, and say so."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def class_names(classes: Labels) -> list[str]:
    """Write classes as text; whole numbers that a missing value turned into floats as such.

    Examples
    --------
    >>> import numpy as np
    >>> class_names(np.array([0.0, 1.0])), class_names(np.array(["a", "b"]))
    (['0', '1'], ['a', 'b'])
    """
    if classes.dtype.kind == "f" and (classes % 1 == 0).all():
        classes = classes.astype("int64")
    return [str(name) for name in classes.tolist()]


def count(number: float, noun: str) -> str:
    """Write a number with its noun: "1 row", "2,000 rows"."""
    whole = round(number)
    return f"{whole:,} {noun}" if whole == 1 else f"{whole:,} {noun}s"


def noisy_weight_words(weight: float) -> str:
    """Say how much a row with only a noisy label counts in a fit with checked rows.

    Examples
    --------
    >>> print(noisy_weight_words(1.0))
    Unchecked rows count as much as checked ones.
    >>> print(noisy_weight_words(0.3))
    An unchecked row counts 0.3 times as much as a checked one.
    """
    if weight == 1:
        return "Unchecked rows count as much as checked ones."
    if weight == 0:
        return "Unchecked rows do not count."
    return f"An unchecked row counts {weight:.2g} times as much as a checked one."


def percent_range(low: float, high: float) -> str:
    """Write two shares as a range: whole percents, or tenths where these would look the same.

    Examples
    --------
    >>> percent_range(0.183, 0.262), percent_range(0.241, 0.244), percent_range(0.0, 0.0004)
    ('18 to 27 %', '24.1 to 24.4 %', '0.0 to 0.1 %')
    """
    digits = 0 if high >= 0.0995 and high - low >= 0.02 else 1
    # Outwards: an interval must not lose what it covers to rounding.
    scale = 10.0 ** (2 + digits)
    ends = math.floor(low * scale + 1e-9) / scale, math.ceil(high * scale - 1e-9) / scale
    return f"{100 * ends[0]:.{digits}f} to {100 * ends[1]:.{digits}f} %"


def short_names(names: list[str], longest: int) -> list[str]:
    """Take out the middle of names that are too long, so that they stay different.

    Those with the same beginning and end show what lies between.

    Examples
    --------
    >>> short_names(["talk.politics.mideast", "cat"], 12)
    ['talk.p…deast', 'cat']
    >>> short_names(["talk.politics.misc", "talk.religion.misc", "cat"], 9)
    ['ta…polit…', 'ta…relig…', 'cat']
    """
    kept = max(2, longest) - 1
    short = [
        one if len(one) <= longest else f"{one[: kept - kept // 2]}…{one[len(one) - kept // 2 :]}"
        for one in names
    ]
    for length in range(longest, max(map(len, names), default=0) + 1):
        for alike in [one for one, times in Counter(short).items() if times > 1]:
            places = [place for place, one in enumerate(short) if one == alike]
            some = [names[place] for place in places]
            pairs = enumerate(zip(min(some), max(some), strict=False))
            begun = next((spot for spot, (a, b) in pairs if a != b), len(min(some)))
            for place in places:
                rest = f"{names[place][: min(2, begun)]}…{names[place][begun:]}"
                short[place] = shorten(rest, length)
    return short
