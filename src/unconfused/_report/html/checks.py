"""Sections on the fit: convergence, calibration, other matrices, settings."""

from __future__ import annotations

from unconfused._report.data import Convergence, Reliability, ReportData
from unconfused._report.html.charts import Line, line_chart, reliability_chart, strip
from unconfused._report.html.sections import NUM, bar_cell, line, pair, paragraph, section, table
from unconfused._text import percent, points
from unconfused._text.html import Markup, element, join


def _figure(chart: Markup, caption: Markup | str) -> Markup:
    return element("figure", chart, element("figcaption", caption))


def _key(*entries: tuple[str, str]) -> Markup:
    """Name the lines of a chart, each with a sample of its stroke."""
    strokes = [element("span", "", class_=f"key {one}", aria_hidden="true") for _, one in entries]
    return join(
        element("span", stroke, text, class_="entry")
        for stroke, (text, _) in zip(strokes, entries, strict=True)
    )


def convergence(data: ReportData) -> Markup:
    """Show how the fit converged."""
    fit = data.convergence
    parts: list[Markup] = []
    if fit.steps:
        parts.append(_norms(fit) if fit.kind == "uma" else _objective(fit))
    if fit.pairs:
        parts.append(_pairs(data))
    if fit.weights:
        parts.append(_weights(fit))
    beside = element("div", *parts, class_="side-by-side")
    return section("convergence", "Convergence of the fit", paragraph(fit.words), beside)


def _norms(fit: Convergence) -> Markup:
    lines = [Line("blue", *_positive(fit.steps, fit.values))]
    key = [("length of the chosen pair's update vector", "blue")]
    steps, noise = _positive(fit.steps, fit.noise)
    if steps:
        lines.append(Line("orange", steps, noise))
        key.append(("length that chance alone would give it", "orange"))
    drawn = [line for line in lines if line.x]
    if not drawn:
        return element("p", "Every update vector had length 0.")
    description = (
        f"Length of the update vector over {fit.n_steps} updates, from {fit.values[0]:.3g} to "
        f"{fit.values[-1]:.3g}"
        + (f"; its noise level at the end is {fit.noise[-1]:.3g}." if steps else ".")
    )
    return _figure(line_chart(drawn, "update", "length", description, log=True), _key(*key))


def _positive(steps: list[int], values: list[float]) -> tuple[list[int], list[float]]:
    """Keep what a logarithmic axis can show."""
    kept = [(s, v) for s, v in zip(steps, values, strict=False) if v > 0]
    return [s for s, _ in kept], [v for _, v in kept]


def _objective(fit: Convergence) -> Markup:
    unit, axis, words = "step", "objective", "penalised negative log-likelihood, lower is better"
    if fit.kind == "rounds":
        unit, axis, words = "round", "changed", "share of rows whose pseudo-label changed"
    description = (
        f"{axis.capitalize()} over {fit.n_steps} {unit}s, from {fit.values[0]:.4g} to "
        f"{fit.values[-1]:.4g}."
    )
    chart = line_chart([Line("blue", fit.steps, fit.values)], unit, axis, description, False)
    return _figure(chart, _key((words, "blue")))


def _pairs(data: ReportData) -> Markup:
    fit = data.convergence
    body = [
        line(
            pair(data, one.predicted, "⇢", one.true),
            f"{len(one.updates):,}",
            bar_cell(strip(one.updates, fit.n_steps)),
            f"{one.updates[0]:,} to {one.updates[-1]:,}",
        )
        for one in fit.pairs
    ]
    head = ["predicted ⇢ truly", NUM("updates"), "when", NUM("from, to")]
    return table(head, body, "The pairs UMA chose most often", "pairs")


def _weights(fit: Convergence) -> Markup:
    body = [
        line(f"{weight:g}" + " (chosen)" * (weight == fit.weight), f"{loss:.4f}")
        for weight, loss in fit.weights
    ]
    caption = "Weights of noisy rows, relative to trusted ones"
    return table(["weight", NUM("log-loss of held-out trusted rows")], body, caption)


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
    return section(
        "reliability",
        "Are the probabilities calibrated?",
        paragraph(curve.answer),
        paragraph(curve.words, "source"),
        element("div", _figure(chart, caption), _curve_table(curve), class_="side-by-side"),
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
