"""HTML from Python values, escaped by construction.

Everything put into an element is text, and is escaped, unless it was itself made by `element`.
So a label that holds a tag stays a label, without anyone having to remember to escape it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any

VOID = frozenset({"br", "input", "link", "meta"})
"""Elements that have no content and no end tag."""

# What HTML has no place for: control characters other than tab and newlines.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escape(value: Any, quote: bool = False) -> Markup:
    """Return a value as text that HTML shows as it is; with `quote`, also within an attribute.

    Examples
    --------
    >>> escape("<b> & 'c'"), escape("'c'", quote=True)
    ("&lt;b&gt; &amp; 'c'", '&#x27;c&#x27;')
    """
    if isinstance(value, Markup):
        return value
    # Half a surrogate pair cannot be written to a file; a control character not into HTML.
    text = str(value).encode("utf-8", "replace").decode("utf-8")
    return Markup(html.escape(_CONTROLS.sub("\ufffd", text), quote=quote))


def element(tag: str, *children: Any, **attributes: Any) -> Markup:
    """Return an element; children are escaped unless they are Markup, attributes always are.

    An underscore in an attribute's name stands for a hyphen, one at the end is dropped. True makes
    an attribute without a value; None and False leave it out.

    Examples
    --------
    >>> element("th", "<i>", scope="row", class_="name", aria_sort=None)
    '<th scope="row" class="name">&lt;i&gt;</th>'
    """
    opening = tag + "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in VOID:
        return Markup(f"<{opening}>")
    return Markup(f"<{opening}>{join(children)}</{tag}>")


def join(parts: Iterable[Any]) -> Markup:
    """Put parts after one another, each escaped unless it is Markup."""
    return Markup("".join(escape(part) for part in parts if part is not None))


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    written = name.rstrip("_").replace("_", "-")
    # `str` of a Markup is plain text: in an attribute its quotes must not end the value.
    return f" {written}" if value is True else f' {written}="{escape(str(value), quote=True)}"'
