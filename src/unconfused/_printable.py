"""Text from outside on its way to a message or a terminal."""

from __future__ import annotations

import unicodedata

# Controls (C0, DEL, C1), formats (bidirectional overrides, zero-width characters), surrogates, and
# the separators that end a line.
UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def printable(text: str) -> str:
    r"""Return text with its control characters written out, so that none reaches a terminal.

    Examples
    --------
    >>> print(printable("cat\x1b[2J"))
    cat\x1b[2J
    """
    return "".join(
        one.encode("unicode_escape").decode("ascii") if unicodedata.category(one) in UNSEEN else one
        for one in text
    )
