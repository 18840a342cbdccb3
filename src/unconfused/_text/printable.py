"""Text that is safe to print: `printable`."""

from __future__ import annotations

import re

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
