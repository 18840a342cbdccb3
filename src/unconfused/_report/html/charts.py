"""Charts as inline SVG; colours and type come from the page's style sheet.

Each is drawn 420 units wide, so that its text stays legible on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unconfused._report.data import Reliability
from unconfused._text.html import Markup, element, join

WIDTH, HEIGHT = 420, 270
LEFT, RIGHT, TOP, BOTTOM = 66, 12, 14, 44


@dataclass(frozen=True)
class Axis:
    """Turns values into places along one side of a chart."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def place(self, value: float) -> float:
        """Return where a value lies."""
        low, high, at = self.low, self.high, value
        if self.log:
            low, high, at = math.log10(low), math.log10(high), math.log10(value)
        share = (at - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        """Return a few round values between the ends."""
        low, high = self.low, self.high
        if self.log:
            decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            steps = (1,) if len(decades) > 3 else (1, 2, 5)
            return [v for d in decades for m in steps if low <= (v := m * 10.0**d) <= high]
        span = high - low
        if span <= 0:
            return [low]
        step = 10.0 ** math.floor(math.log10(span / 4))
        step *= next((m for m in (1, 2, 5) if span / (m * step) <= 5), 10)
        first = math.ceil(low / step - 1e-9)
        return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


@dataclass(frozen=True)
class Line:
    """One curve."""

    style: str
    x: Sequence[float]
    y: Sequence[float]


def _number(value: float) -> str:
    if value == 0:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _text(text: str, x: float, y: float, style: str, anchor: str = "middle", **more: Any) -> Markup:
    return element("text", text, x=x, y=y, text_anchor=anchor, class_=style, **more)


def _axes(x: Axis, y: Axis, x_title: str, y_title: str, percent: bool) -> Markup:
    written = (lambda v: f"{100 * v:.0f}") if percent else _number
    parts = []
    for value in y.ticks():
        at = y.place(value)
        parts.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=at, y2=at, class_="grid"))
        parts.append(_text(written(value), LEFT - 7, at + 4, "tick", "end"))
    for value in x.ticks():
        parts.append(_text(written(value), x.place(value), HEIGHT - BOTTOM + 17, "tick"))
    middle, height = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
    parts.append(_text(x_title, middle, HEIGHT - 8, "axis"))
    parts.append(_text(y_title, 12, height, "axis", transform=f"rotate(-90 12 {height})"))
    return join(parts)


def _svg(description: str, *children: Markup) -> Markup:
    box = f"0 0 {WIDTH} {HEIGHT}"
    look = {"viewBox": box, "role": "img", "aria_label": description, "class_": "chart"}
    return element("svg", *children, **look)


def line_chart(
    lines: list[Line], x_title: str, y_title: str, description: str, log: bool
) -> Markup:
    """Draw curves over steps."""
    values = [v for line in lines for v in line.y]
    low, high = min(values), max(values)
    if not log:
        room = 0.05 * (high - low) or 0.5 * abs(high) or 1.0
        low, high = low - room, high + room
    elif low == high:
        low, high = low / 2, high * 2
    last = max(v for line in lines for v in line.x)
    x = Axis(1, max(last, 2), LEFT, WIDTH - RIGHT)
    y = Axis(low, high, HEIGHT - BOTTOM, TOP, log)
    drawn = []
    for line in lines:
        places = [(x.place(a), y.place(b)) for a, b in zip(line.x, line.y, strict=True)]
        if len(places) == 1:
            ((a, b),) = places
            drawn.append(element("circle", cx=a, cy=b, r=4, class_=f"dot {line.style}"))
        else:
            path = "M" + "L".join(f"{a} {b}" for a, b in places)
            drawn.append(element("path", d=path, class_=f"line {line.style}"))
    return _svg(description, _axes(x, y, x_title, y_title, False), *drawn)


def reliability_chart(curve: Reliability, y_title: str, description: str) -> Markup:
    """Draw how often it came so over the predicted chance, with intervals."""
    x = Axis(0, 1, LEFT, WIDTH - RIGHT)
    y = Axis(0, 1, HEIGHT - BOTTOM, TOP)
    drawn = [
        element("line", x1=x.place(0), y1=y.place(0), x2=x.place(1), y2=y.place(1), class_="ideal")
    ]
    for p, o, a, b in zip(curve.predicted, curve.observed, curve.low, curve.high, strict=True):
        at = x.place(p)
        drawn.append(element("line", x1=at, x2=at, y1=y.place(a), y2=y.place(b), class_="whisker"))
        drawn.append(element("circle", cx=at, cy=y.place(o), r=4.5, class_="dot blue"))
    return _svg(description, _axes(x, y, "predicted probability, %", y_title, percent=True), *drawn)


def strip(updates: Sequence[int], last: int) -> Markup:
    """Draw when something happened, as marks along a line of time."""
    marks = [round(2 + 196 * (u - 1) / max(last - 1, 1), 1) for u in updates]
    path = "".join(f"M{at} 3V15" for at in sorted(set(marks)))
    line = element("line", x1=0, x2=200, y1=9, y2=9, class_="grid")
    return _stretched("0 0 200 18", "strip", line, element("path", d=path, class_="marks"))


def bar(share: float, style: str, most: float = 1.0) -> Markup:
    """Draw a small bar for a share of the largest."""
    width = round(100 * min(share / most, 1.0), 1) if most > 0 else 0
    filled = element("rect", width=width, height=8, class_=style)
    return _stretched("0 0 100 8", "bar", filled)


def _stretched(box: str, style: str, *children: Markup) -> Markup:
    """Write a drawing as wide as its cell, which says nothing that the text does not."""
    look = {"viewBox": box, "class_": style, "aria_hidden": "true", "preserveAspectRatio": "none"}
    return element("svg", *children, **look)
