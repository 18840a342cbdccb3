"""Check the column names of an output table, before any work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from unconfused._files.types import clean_name


def refuse_clash(option: str, copied: Iterable[str], made: Iterable[str]) -> None:
    """Raise if a copied column would have the name of a computed one.

    Examples
    --------
    >>> refuse_clash("--id", ["name"], ["row", "label"])
    >>> refuse_clash("--id", ["row"], ["row", "label"])
    Traceback (most recent call last):
        ...
    ValueError: --id 'row': the output has a column 'row' of its own. Rename ...
    """
    ours = Counter(clean_name(name) for name in made)
    clash = [name for name in copied if clean_name(name) in ours]
    if clash:
        raise ValueError(
            f"{option} {clash[0]!r}: the output has a column {clean_name(clash[0])!r} of its own. "
            "Rename the one in the data, or drop the option: rows keep their order."
        )
    twice = [name for name, times in ours.items() if times > 1]
    if twice:
        raise ValueError(f"Two columns of the output would be called {twice[0]!r}.")
