"""The rows to check: a table that a script makes sortable and filterable, and plain without it."""

from __future__ import annotations

from collections.abc import Callable

from unconfused._report.data import ReportData, SuspectRow
from unconfused._report.html.sections import bar, name, paragraph, scrolled, section
from unconfused._text import count, percent
from unconfused._text.html import Markup, element, join

DECISIONS = Markup(
    '<div class="decisions" id="decisions" hidden><p id="decided" role="status"></p>'
    '<button type="button" id="verdicts" disabled>Download verdicts</button>'
    '<button type="button" id="corrected" disabled>Download corrected labels</button>'
    '<button type="button" id="forget" disabled>Forget all</button></div>'
)
"""Placeholder for the verdicts, filled in by the script."""

FILTERS = (
    '<div class="filters" hidden id="filters" role="search" aria-label="Filter the rows">'
    '<label><span>Search</span><input type="search" id="search" autocomplete="off"></label>'
    "<label><span>Label</span>{}</label><label><span>Suggested</span>{}</label>"
    "<label><span>Minimum {}, %</span>"
    '<input type="number" id="at-least" min="0" max="100" step="5" value="0"></label>'
    '<button type="button" id="clear">Clear</button><p id="matches" role="status"></p></div>'
)


def rows_to_check(data: ReportData) -> Markup:
    """Show the rows most likely mislabelled."""
    if not data.rows:
        return section("rows", "Rows to check first", paragraph(data.rows_words))
    shown = count(len(data.rows), "row")
    if data.n_ranked > len(data.rows):
        kind = "unchecked rows" if data.n_trusted else "rows"
        shown = f"The first {len(data.rows):,} of {data.n_ranked:,} {kind}"
    return section(
        "rows",
        "Rows to check first",
        paragraph(f"{shown}. {data.rows_words}"),
        DECISIONS,
        _filters(data),
        _table(data),
        element("button", "Show more rows", type="button", id="more", hidden=True),
    )


def _filters(data: ReportData) -> Markup:
    labels = sorted({one.label for one in data.rows})
    suggested = sorted({one.suggested for one in data.rows})
    choices = _choice(data, "by-label", labels), _choice(data, "by-suggested", suggested)
    score = "probability" if data.are_probabilities else "suspicion"
    return Markup(FILTERS.format(*choices, score))


def _choice(data: ReportData, identity: str, codes: list[int]) -> Markup:
    options = (element("option", data.classes[code], value=code) for code in codes)
    return element("select", element("option", "any", value=""), *options, id=identity)


def _table(data: ReportData) -> Markup:
    """Write the table; columns that no row fills are left out."""
    score = "wrong, %" if data.are_probabilities else "suspicion, %"
    columns: list[tuple[str, str | None, Callable[[SuspectRow], Markup]]] = [
        ("row", "row", lambda one: element("th", one.row, scope="row", class_="num")),
        ("name", "name", lambda one: element("td", element("bdi", one.name))),
        ("label", "label", lambda one: element("td", name(data, one.label))),
        ("suggested", "suggested", lambda one: _suggestion(data, one)),
        (score, "wrong", _wrong),
        ("probabilities", None, lambda one: _chances(data, one)),
        ("text", None, lambda one: element("td", element("bdi", one.text or ""), class_="text")),
        ("content", None, lambda one: element("td", _contents(data, one), class_="holds")),
    ]
    empty = {
        "name": all(one.name in (None, str(one.row)) for one in data.rows),
        "text": all(one.text is None for one in data.rows),
        "content": not any(one.cells or one.votes for one in data.rows),
    }
    columns = [one for one in columns if not empty.get(one[0])]
    order = {"wrong": "descending"}
    heads = (
        element("th", title, scope="col", data_key=key, aria_sort=order.get(key or ""))
        for title, key, _ in columns
    )
    body = (
        element(
            "tr",
            *(write(one) for _, _, write in columns),
            data_l=one.label,
            data_s=one.suggested,
            data_w=f"{one.wrong:.6f}",
            data_k=one.key if one.row_hash else None,
            data_h=one.row_hash or None,
        )
        for one in data.rows
    )
    caption = "Rows most likely to carry a wrong label"
    return scrolled(element("tr", *heads), body, caption, id="suspects", class_="suspects")


def _suggestion(data: ReportData, one: SuspectRow) -> Markup:
    if one.suggested == one.label:
        return element("td", "keep", class_="quiet suggested")
    return element("td", name(data, one.suggested), class_="suggested")


def _wrong(one: SuspectRow) -> Markup:
    """Write a probability in percent, never rounded up to certainty."""
    written = "> 99.9" if 0.9995 <= one.wrong < 1 else f"{100 * one.wrong:.1f}"
    return element("td", written, bar(one.wrong, "wrong-fill"), class_="num wrong-cell")


def _chances(data: ReportData, one: SuspectRow) -> Markup:
    written = (
        element(
            "span",
            element("b", name(data, code)),
            ": ",
            element("span", percent(chance), class_="together"),
            class_="chance",
        )
        for code, chance in one.posterior
    )
    return element("td", *written, class_="chances")


def _contents(data: ReportData, one: SuspectRow) -> Markup:
    """Write the row's own columns, then its votes."""
    cells = [(element("i", column), element("bdi", value), "cell") for column, value in one.cells]
    cells += [
        (element("i", element("bdi", who)), name(data, code), "cell vote")
        for who, code in one.votes
    ]
    return join(element("span", what, " ", value, class_=style) for what, value, style in cells)
