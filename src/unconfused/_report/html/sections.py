"""The sections of the page, one function each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from unconfused._report.data import ReportData
from unconfused._text import about, count, percent, short_names
from unconfused._text.html import Markup, element

SHORT_NAME = 4
"""Characters of a class name that fit into a narrow column of the heat map."""

FEW_CLASSES = 4
"""Classes whose heat map would be stretched by the full width."""

COLUMN_NAME, ROW_NAME = 9, 18
"""Characters of a class name above a column and before a row of the heat map."""

LEVELS = 10
"""Shades of the heat map."""

WORST_AT_LEAST = 0.15
"""What the darkest shade of wrong stands for where all mistakes are rare."""


class NUM(str):
    """Heading of a column or row that is a number, or is above numbers."""

    __slots__ = ()


def name(data: ReportData, code: int) -> Markup:
    """Write a class's name, kept apart from the writing direction of what is around it."""
    return element("bdi", data.classes[code])


def section(anchor: str, title: str, *children: Markup | None) -> Markup:
    """Wrap a section with its heading."""
    heading = element("h2", title, id=f"{anchor}-title")
    return element("section", heading, *children, id=anchor, aria_labelledby=f"{anchor}-title")


def paragraph(text: str, style: str | None = None) -> Markup | None:
    """Write a paragraph, or nothing."""
    return element("p", text, class_=style) if text else None


def table(head: Sequence[str], body: list[Markup], caption: str, style: str = "") -> Markup:
    """Write a table whose rows are given."""
    columns = (_heading(one, "col") for one in head)
    return scrolled(element("tr", *columns), body, caption, class_=style or None)


def _heading(title: Any, scope: str) -> Markup:
    return element("th", title, scope=scope, class_="num" if isinstance(title, NUM) else None)


def scrolled(head: Markup, body: Iterable[Markup], caption: str, **attributes: Any) -> Markup:
    """Write a table that scrolls sideways by itself on a narrow screen."""
    parts = element("caption", caption), element("thead", head), element("tbody", *body)
    whole = element("table", *parts, **attributes)
    return element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)


def line(head: Any, *cells: Any) -> Markup:
    """Write a row of a table: its heading, then numbers, or cells that are written already."""
    written = (
        one if one is None or isinstance(one, Markup) else element("td", one, class_="num")
        for one in cells
    )
    return element("tr", _heading(head, "row"), *written)


def bar(share: float, style: str, most: float = 1.0) -> Markup:
    """Draw a small bar for a share of the largest."""
    width = round(100 * min(share / most, 1.0), 1) if most > 0 else 0
    filled = element("rect", width=width, height=8, class_=style)
    # As wide as its cell; it says nothing that the text does not.
    look = {"viewBox": "0 0 100 8", "aria_hidden": "true", "preserveAspectRatio": "none"}
    return element("svg", filled, **look, class_="bar")


def bar_cell(*bars: Markup) -> Markup:
    """Write a cell with bars."""
    return element("td", *bars, class_="bar-cell")


def verdict(data: ReportData) -> Markup:
    """Say the answer first."""
    said = data.verdict
    number = element("span", said.number, class_="number")
    facts = [
        ("rows", f"{data.n_rows:,}"),
        ("classes", f"{len(data.classes):,}"),
        ("checked rows", f"{data.n_trusted:,}"),
        ("labels expected wrong", about(data.n_wrong)),
    ]
    listed = (element("div", element("dt", name), element("dd", value)) for name, value in facts)
    return element(
        "section",
        None if said.certain else paragraph("An estimate without checked rows", "badge"),
        element("h1", number, " ", element("span", said.sentence, class_="claim")),
        element("p", said.model, class_="model"),
        *(element("p", one) for one in said.detail),
        *(element("p", one, class_="note") for one in data.notes),
        element("dl", *listed, class_="facts"),
        class_="verdict",
        id="verdict",
        aria_label="Headline",
    )


def confusion(data: ReportData) -> Markup:
    """Show C as a heat map, and the mix-ups it leads to."""
    shown = data.confusion
    n_classes = len(data.classes)
    part = ""
    if len(shown.shown) < n_classes:
        part = f"{len(shown.shown)} of {n_classes:,} classes, those mixed up most. "
    words = "Each row is a true class; its cells say which labels it gets, in percent. "
    words += f"{part}Blue is right, orange is wrong."
    split = "split" if _short_names(data) else None  # long names need the whole width
    both = element("div", _matrix(data), _mix_ups(data), class_=split)
    return section("confusion", "How labels go wrong", paragraph(words), both)


def _short_names(data: ReportData) -> bool:
    return max(len(data.classes[code]) for code in data.confusion.shown) <= SHORT_NAME


def _matrix(data: ReportData) -> Markup:
    what = "in words" if data.confusion.low is None else "with its interval"
    hint = f"Point at a cell, or move with the arrow keys, to read it {what}."
    return element(
        "div",
        _heat_map(data),
        element("p", hint, class_="readout", id="readout", role="status"),
        paragraph(data.confusion.source, "source"),
        class_="side",
    )


def _heat_map(data: ReportData) -> Markup:
    """Write the matrix with its classes, shortened; the whole name of each is its title."""
    codes = data.confusion.shown.tolist()
    few = len(codes) <= FEW_CLASSES
    style = "heat few" if few else "heat"
    if not _short_names(data):
        style = "heat long" if few else "heat long wide"
    columns = short_names(data.classes, ROW_NAME if few else COLUMN_NAME)
    rows = short_names(data.classes, ROW_NAME)

    def head(code: int, name: str, scope: str) -> Markup:
        return element("th", element("bdi", name), scope=scope, title=data.classes[code])

    corner = element("td", "true ↓", element("br"), "label →", class_="corner")
    top = element("tr", corner, *(head(k, columns[k], "col") for k in codes))
    body = [
        element("tr", head(t, rows[t], "row"), *(_cell(data, i, j) for j in range(len(codes))))
        for i, t in enumerate(codes)
    ]
    caption = "Confusion matrix: rows are true classes, columns are labels, in percent"
    return scrolled(top, body, caption, class_=style, id="heat")


def _cell(data: ReportData, i: int, j: int) -> Markup:
    shown = data.confusion
    value = shown.matrix[i][j]
    worst = (shown.matrix * ~np.eye(len(shown.shown), dtype=bool)).max()
    full = 1.0 if i == j else max(WORST_AT_LEAST, worst)
    # The square root lets small errors show beside large ones.
    level = min(LEVELS, round(LEVELS * (value / full) ** 0.5)) if value >= 0.005 else 0
    style = f"{'right' if i == j else 'wrong'} s{level}" if level else "none"
    text = f"True {data.classes[shown.shown[i]]}, labelled {data.classes[shown.shown[j]]}: "
    text += percent(value)
    if shown.low is not None and shown.high is not None:
        text += f" (95 % interval {100 * shown.low[i][j]:.1f} to {100 * shown.high[i][j]:.1f} %)"
    text += f", about {count(shown.rows[i][j], shown.unit)}"
    return element("td", f"{100 * value:.0f}" if level else "·", class_=style, title=text)


def _mix_ups(data: ReportData) -> Markup | None:
    found = data.confusion.mix_ups
    if not found:
        return paragraph("No confusions are expected among these labels.")
    most = found[0].rows
    body = [
        line(
            element("span", name(data, one.true), " → ", name(data, one.label)),
            f"{one.rows:,.0f}",
            bar_cell(bar(one.rows, "wrong-fill", most)),
            percent(one.chance),
            None if one.low is None else f"{100 * one.low:.1f} to {100 * (one.high or 0):.1f} %",
        )
        for one in found
    ]
    head = ["true → label", NUM(f"{data.confusion.unit}s (est.)"), "", NUM("share")]
    head += [NUM("95 % interval")] if data.confusion.low is not None else []
    return table(head, body, "Most common confusions", "mix-ups")


def label_mix(data: ReportData) -> Markup:
    """Compare class shares before and after."""
    most = max(max(one.labels, one.estimated) for one in data.mix) if data.mix else 1.0
    part = ""
    if len(data.mix) < len(data.classes):
        part = f" The {len(data.mix)} classes whose share changes most."
    body = [
        line(
            name(data, one.name),
            bar_cell(bar(one.labels, "grey-fill", most), bar(one.estimated, "blue-fill", most)),
            f"{100 * one.labels:.1f}",
            f"{100 * one.estimated:.1f}",
            f"{100 * (one.estimated - one.labels):+.1f}",
        )
        for one in data.mix
    ]
    words = "Grey: share of each class among the labels. Blue: its estimated true share among the "
    head = ["class", "", NUM("labels, %"), NUM("estimated, %"), NUM("change")]
    return section(
        "mix",
        "Class shares before and after correction",
        paragraph(f"{words}same rows.{part}"),
        table(head, body, "Class shares", "mix"),
    )


def annotators(data: ReportData) -> Markup | None:
    """List the annotators, where there are any."""
    if not data.annotators:
        return None
    most = max(one.wrong for one in data.annotators)
    body = [
        line(
            element("bdi", one.name),
            f"{one.answers:,}",
            percent(one.wrong),
            bar_cell(bar(one.wrong, "wrong-fill", most)),
        )
        for one in data.annotators
    ]
    return section(
        "annotators",
        "Annotators",
        paragraph("Estimated share of wrong answers of each annotator, highest first."),
        table(["annotator", NUM("answers"), NUM("wrong"), ""], body, "Annotators and their errors"),
    )
