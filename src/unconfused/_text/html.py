"""HTML from Python values, escaped by construction, and the cards of notebooks.

Everything put into an element is text, and is escaped, unless it was itself made by `element`.
So a label that holds a tag stays a label, without anyone having to remember to escape it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from unconfused._text import shorten
from unconfused._typing import FloatArray

MOST_CLASSES = 20
"""Classes up to which the heat map of a card is drawn."""

SIZE = 150
"""Width of the heat map in pixels."""

LONGEST_NAME = 24
BLUE, ORANGE = "#0072B2", "#D55E00"

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


def confusion_card(
    headline: tuple[str, str],
    matrix: FloatArray,
    classes: Sequence[object],
    details: Sequence[str] = (),
) -> Markup:
    """Return a card that needs no style sheet, and takes its ink from the page around it."""
    number, sentence = headline
    words = element(
        "div",
        element("div", number, style="font-size:2em;font-weight:700;line-height:1.1"),
        element("div", sentence, style="font-weight:600;margin-bottom:.5em"),
        *(element("div", one, style="opacity:.8;font-size:.92em") for one in details),
        style="min-width:12em;max-width:32em",
    )
    return element(
        "div",
        words,
        _heat_map(matrix, classes) if len(matrix) <= MOST_CLASSES else None,
        class_="unconfused-card",
        style="display:flex;flex-wrap:wrap;gap:1.2em;align-items:flex-start;padding:.6em .2em",
    )


def _heat_map(matrix: FloatArray, classes: Sequence[object]) -> Markup:
    names = [shorten(str(one), LONGEST_NAME) for one in classes]
    cells = []
    for (row, column), share in np.ndenumerate(matrix):
        said = element("title", f"true {names[row]}, labelled {names[column]}: {share:.1%}")
        place = {"x": column, "y": row, "width": 0.95, "height": 0.95}
        shade, ink = f"{np.sqrt(share):.2f}", BLUE if row == column else ORANGE
        cells.append(element("rect", said, **place, fill=ink, fill_opacity=shade))
    label = "Confusion matrix as a heat map: rows are true classes, columns are labels"
    shape = {"width": SIZE, "height": SIZE, "viewBox": f"0 0 {len(matrix)} {len(matrix)}"}
    edge = {"stroke": "currentColor", "stroke_opacity": "0.15", "stroke_width": "0.03"}
    return element(
        "div",
        element("svg", *cells, **shape, **edge, role="img", aria_label=label),
        element("div", "true class ↓, label →", style="font-size:.8em;opacity:.8"),
    )
