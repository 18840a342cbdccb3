"""Docstrings as numpydoc wants them, from the short form we write.

We write ``name : what it is`` on one line where that says all. numpydoc takes what follows the
colon for a type; here such entries are turned into a name with a description.
"""

from __future__ import annotations

import re
from typing import Any

SECTIONS = {"Parameters", "Attributes"}
ENTRY = re.compile(r"^(?P<name>[\w*][\w*, ]*) : (?P<text>.+)$")


def describe_short_entries(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Rewrite one docstring in place."""
    rewritten: list[str] = []
    section, place = "", 0
    while place < len(lines):
        line = lines[place]
        if place + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[place + 1]):
            section = line
        entry = ENTRY.match(line) if section in SECTIONS else None
        place += 1
        if entry is None:
            rewritten.append(line)
            continue
        body = []
        while place < len(lines) and lines[place].startswith(" "):
            body.append(lines[place])
            place += 1
        rewritten += _as_description(entry, body) if _goes_on(entry, body) else [line, *body]
    lines[:] = rewritten


def _goes_on(entry: re.Match[str], body: list[str]) -> bool:
    """Say whether the text after the colon is a description rather than a type."""
    if not body:
        return True
    first = body[0].strip()
    return entry["text"].endswith(",") or not (first[0].isupper() or first[0] in "`:θ")


def _as_description(entry: re.Match[str], body: list[str]) -> list[str]:
    text = entry["text"]
    return [entry["name"], f"    {text[0].upper()}{text[1:]}", *body]


def setup(app: Any) -> dict[str, bool]:
    """Come before numpydoc, which reads at the usual priority."""
    app.connect("autodoc-process-docstring", describe_short_entries, priority=100)
    return {"parallel_read_safe": True}
