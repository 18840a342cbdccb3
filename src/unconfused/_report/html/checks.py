"""Sections on the fit: calibration, other matrices, settings."""

from __future__ import annotations

import numpy as np

from unconfused._report.data import ReportData
from unconfused._report.html.sections import NUM, bar, bar_cell, line, paragraph, section, table
from unconfused._text import percent
from unconfused._text.html import Markup, element


def reliability(data: ReportData) -> Markup | None:
    """Show whether the probabilities are calibrated."""
    found = data.reliability
    if found is None:
        return None
    curve, came = found.curve, "true, %" if found.against == "truth" else "label seen, %"
    shares = 100 * np.column_stack([curve.predicted, curve.observed, curve.low, curve.high])
    body = [
        line(
            NUM(f"{p:.1f}"),
            bar_cell(bar(p / 100, "grey-fill"), bar(o / 100, "blue-fill")),
            f"{o:.1f}",
            f"{low:.0f} to {high:.0f}",
            f"{n:,}",
        )
        for (p, o, low, high), n in zip(shares, curve.count, strict=True)
    ]
    words = (
        f"{found.words} Grey: predicted. Blue: how often it came true. Calibration error of the "
        f"likeliest class: {100 * found.gap:.1f} points."
    )
    head = [NUM("predicted, %"), "", NUM(came), NUM("95 % interval"), NUM("cases")]
    return section(
        "reliability",
        "Are the probabilities calibrated?",
        paragraph(found.answer),
        paragraph(words, "source"),
        table(head, body, "Predicted probability and observed frequency", "mix"),
    )


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
            f"{100 * (one.wrong - moved.baseline):+.1f}",
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
