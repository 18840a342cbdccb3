"""Charts as inline SVG; colours and type come from the page's style sheet.

The curve is drawn 420 units wide, so that its text stays legible on a phone.
"""

from __future__ import annotations

from typing import Any

from unconfused._report.data import Reliability
from unconfused._text.html import Markup, element, join

WIDTH, HEIGHT = 420, 270
LEFT, RIGHT, TOP, BOTTOM = 66, 12, 14, 44


def _across(share: float) -> float:
    return round(LEFT + share * (WIDTH - RIGHT - LEFT), 1)


def _up(share: float) -> float:
    return round(HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP), 1)


def _text(text: str, x: float, y: float, style: str, anchor: str = "middle", **more: Any) -> Markup:
    return element("text", text, x=x, y=y, text_anchor=anchor, class_=style, **more)


def _axes(x_title: str, y_title: str) -> Markup:
    """Draw axes from 0 to 100 %."""
    parts = []
    for percent in range(0, 101, 20):
        at = _up(percent / 100)
        parts.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=at, y2=at, class_="grid"))
        parts.append(_text(f"{percent}", LEFT - 7, at + 4, "tick", "end"))
        parts.append(_text(f"{percent}", _across(percent / 100), HEIGHT - BOTTOM + 17, "tick"))
    parts.append(_text(x_title, _across(0.5), HEIGHT - 8, "axis"))
    turned = f"rotate(-90 12 {_up(0.5)})"
    parts.append(_text(y_title, 12, _up(0.5), "axis", transform=turned))
    return join(parts)


def reliability_chart(curve: Reliability, y_title: str, description: str) -> Markup:
    """Draw how often it came so over the predicted chance, with intervals."""
    drawn = [_axes("predicted probability, %", y_title)]
    ends = {"x1": _across(0), "y1": _up(0), "x2": _across(1), "y2": _up(1)}
    drawn.append(element("line", **ends, class_="ideal"))
    for p, o, a, b in zip(curve.predicted, curve.observed, curve.low, curve.high, strict=True):
        at = _across(p)
        drawn.append(element("line", x1=at, x2=at, y1=_up(a), y2=_up(b), class_="whisker"))
        drawn.append(element("circle", cx=at, cy=_up(o), r=4.5, class_="dot blue"))
    look = {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img", "aria_label": description}
    return element("svg", *drawn, **look, class_="chart")


def bar(share: float, style: str, most: float = 1.0) -> Markup:
    """Draw a small bar for a share of the largest."""
    width = round(100 * min(share / most, 1.0), 1) if most > 0 else 0
    filled = element("rect", width=width, height=8, class_=style)
    # As wide as its cell; it says nothing that the text does not.
    look = {"viewBox": "0 0 100 8", "aria_hidden": "true", "preserveAspectRatio": "none"}
    return element("svg", filled, **look, class_="bar")
