"""Sections on the fit: calibration, other matrices, settings."""

from __future__ import annotations

from unconfused._report.data import Reliability, ReportData
from unconfused._report.html.charts import reliability_chart
from unconfused._report.html.sections import NUM, line, paragraph, section, table
from unconfused._text import percent, points
from unconfused._text.html import Markup, element


def reliability(data: ReportData) -> Markup | None:
    """Show whether the chances are what they say."""
    curve = data.reliability
    if curve is None:
        return None
    y_title = "true, %" if curve.against == "truth" else "label seen, %"
    description = f"Reliability curve of {len(curve.predicted)} points. {curve.answer}"
    chart = reliability_chart(curve, y_title, description)
    caption = (
        "On the dashed line probabilities are exact. Calibration error of the likeliest class: "
        f"{100 * curve.gap:.1f} points."
    )
    figure = element("figure", chart, element("figcaption", caption))
    return section(
        "reliability",
        "Are the probabilities calibrated?",
        paragraph(curve.answer),
        paragraph(curve.words, "source"),
        element("div", figure, _curve_table(curve), class_="side-by-side"),
    )


def _curve_table(curve: Reliability) -> Markup:
    rows = zip(curve.predicted, curve.observed, curve.low, curve.high, strict=True)
    shares = [[100 * one for one in row] for row in rows]
    body = [
        line(NUM(f"{p:.1f}"), f"{o:.1f}", f"{low:.0f} to {high:.0f}", f"{n:,}")
        for (p, o, low, high), n in zip(shares, curve.count, strict=True)
    ]
    caption = "Predicted probability and observed frequency"
    head = [NUM("predicted, %"), NUM("observed, %"), NUM("95 % interval"), NUM("cases")]
    return table(head, body, caption, "narrow")


def sensitivity(data: ReportData) -> Markup | None:
    """Show what would change under another C."""
    moved = data.sensitivity
    if moved is None or not moved.scenarios:
        return None
    worst = max(one.changed for one in moved.scenarios)
    shares = [one.wrong for one in moved.scenarios]
    summary = (
        f"At most {percent(worst)} of the predictions would change, and {100 * min(shares):.1f} to "
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
    head = ["assumption", NUM("predictions changed"), NUM("labels wrong"), NUM("change, points")]
    return section(
        "sensitivity",
        "What if the matrix is slightly wrong?",
        element("p", summary, class_="summary"),
        paragraph(moved.words),
        table(head, body, "Results with other matrices"),
    )


def settings(data: ReportData) -> Markup:
    """List what is needed to repeat the report."""

    def pairs(entries: list[tuple[str, str]], first: str, caption: str) -> Markup:
        body = [line(key, element("td", element("bdi", value))) for key, value in entries]
        return table([first, "value"], body, caption, "plain")

    return section(
        "settings",
        "To reproduce this report",
        paragraph(data.convergence),
        element("pre", element("code", data.code), tabindex="0"),
        element(
            "div",
            pairs(data.settings, "parameter", f"Parameters of {data.model}"),
            pairs(data.versions, "package", "Versions"),
            class_="side-by-side",
        ),
        paragraph(
            f"{data.n_rows:,} rows with {data.n_features:,} features. The numbers of this page are "
            "also embedded as JSON, in the element with the id report-data."
        ),
    )
