"""Sections on the fit: calibration, other matrices, settings."""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused._report.data import ReportData
from unconfused._report.html.sections import NUM, line, paragraph, section, table
from unconfused._text import percent, points
from unconfused._text.html import Markup, element, join
from unconfused.metrics._reliability import ReliabilityCurve

WIDTH, HEIGHT = 420, 270
LEFT, RIGHT, TOP, BOTTOM = 66, 12, 14, 44
"""Size of the curve, small enough that its text is legible on a phone."""


def reliability(data: ReportData) -> Markup | None:
    """Show whether the probabilities are calibrated."""
    found = data.reliability
    if found is None:
        return None
    y_title = "true, %" if found.against == "truth" else "label seen, %"
    description = f"Reliability curve of {len(found.curve.count)} points. {found.answer}"
    chart = _chart(found.curve, y_title, description)
    caption = (
        "On the dashed line probabilities are exact. Calibration error of the likeliest class: "
        f"{100 * found.gap:.1f} points."
    )
    figure = element("figure", chart, element("figcaption", caption))
    return section(
        "reliability",
        "Are the probabilities calibrated?",
        paragraph(found.answer),
        paragraph(found.words, "source"),
        figure,
    )


def _across(share: float) -> float:
    return round(LEFT + share * (WIDTH - RIGHT - LEFT), 1)


def _up(share: float) -> float:
    return round(HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP), 1)


def _text(text: str, x: float, y: float, style: str, anchor: str = "middle", **more: Any) -> Markup:
    return element("text", text, x=x, y=y, text_anchor=anchor, class_=style, **more)


def _axes(x_title: str, y_title: str) -> Markup:
    """Draw axes from 0 to 100 %."""
    parts = []
    for share in np.linspace(0, 1, 6):
        number, at = f"{100 * share:.0f}", _up(share)
        parts.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=at, y2=at, class_="grid"))
        parts.append(_text(number, LEFT - 7, at + 4, "tick", "end"))
        parts.append(_text(number, _across(share), HEIGHT - BOTTOM + 17, "tick"))
    parts.append(_text(x_title, _across(0.5), HEIGHT - 8, "axis"))
    turned = f"rotate(-90 12 {_up(0.5)})"
    parts.append(_text(y_title, 12, _up(0.5), "axis", transform=turned))
    return join(parts)


def _chart(curve: ReliabilityCurve, y_title: str, description: str) -> Markup:
    """Draw observed frequencies over predicted probabilities, with intervals."""
    drawn = [_axes("predicted probability, %", y_title)]
    ends = {"x1": _across(0), "y1": _up(0), "x2": _across(1), "y2": _up(1)}
    drawn.append(element("line", **ends, class_="ideal"))
    for p, o, a, b in zip(curve.predicted, curve.observed, curve.low, curve.high, strict=True):
        at = _across(p)
        drawn.append(element("line", x1=at, x2=at, y1=_up(a), y2=_up(b), class_="whisker"))
        drawn.append(element("circle", cx=at, cy=_up(o), r=4.5, class_="dot blue"))
    look = {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img", "aria_label": description}
    return element("svg", *drawn, **look, class_="chart")


def sensitivity(data: ReportData) -> Markup | None:
    """Show what would change under another C."""
    moved = data.sensitivity
    if moved is None or not moved.scenarios:
        return None
    worst = max(one.changed for one in moved.scenarios)
    shares = [one.wrong for one in moved.scenarios]
    summary = (
        f"At most {percent(worst)} of the rows would change class, and {100 * min(shares):.1f} to "
        f"{100 * max(shares):.1f} % of the labels would count as wrong, instead of "
        f"{100 * moved.baseline:.1f} %."
    )
    body = [
        line(
            one.name,
            percent(one.changed),
            f"{100 * one.wrong:.1f} %",
            points(one.wrong - moved.baseline),
        )
        for one in moved.scenarios
    ]
    head = ["assumption", NUM("rows changed"), NUM("labels wrong"), NUM("change, points")]
    return section(
        "sensitivity",
        "What if the matrix is slightly wrong?",
        element("p", summary, class_="summary"),
        paragraph(moved.words),
        table(head, body, "Results with other matrices"),
    )


def settings(data: ReportData) -> Markup:
    """List what is needed to repeat the report."""
    body = [line(name, element("td", element("bdi", one))) for name, one in data.versions]
    return section(
        "settings",
        "To reproduce this report",
        paragraph(data.convergence),
        element("pre", element("code", data.code), tabindex="0"),
        table(["package", "version"], body, "Versions", "plain"),
        paragraph(
            f"{data.n_rows:,} rows with {data.n_features:,} features. The numbers of this page are "
            "also embedded as JSON, in the element with the id report-data."
        ),
    )
