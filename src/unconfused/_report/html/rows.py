"""The rows to check: a table that a script makes sortable and filterable, and plain without it."""

from __future__ import annotations

from unconfused._html import Markup, element, join
from unconfused._report.data import ReportData, SuspectRow
from unconfused._report.html.charts import bar
from unconfused._report.html.sections import name, paragraph, scrolled, section
from unconfused._text.words import count, percent


def rows_to_check(data: ReportData) -> Markup:
    """Show the rows most likely mislabelled."""
    if not data.rows:
        return section("rows", "Rows to check first", paragraph(data.rows_words))
    shown = count(len(data.rows), "row")
    if data.n_ranked > len(data.rows):
        shown = f"The first {shown} of {data.n_ranked:,}"
    return section(
        "rows",
        "Rows to check first",
        paragraph(f"{shown}. {data.rows_words}"),
        _decisions(),
        _filters(data),
        _table(data),
        element("button", "Show more rows", type="button", id="more", hidden=True),
    )


def _decisions() -> Markup:
    """Make room for what was decided; the script fills it in."""
    return element(
        "div",
        element("p", "", id="decided", role="status"),
        element("button", "Download verdicts", type="button", id="verdicts", disabled=True),
        element(
            "button", "Download corrected labels", type="button", id="corrected", disabled=True
        ),
        element("button", "Forget all", type="button", id="forget", disabled=True),
        class_="decisions",
        id="decisions",
        hidden=True,
    )


def _filters(data: ReportData) -> Markup:
    labels = sorted({one.label for one in data.rows})
    suggested = sorted({one.suggested for one in data.rows})
    return element(
        "div",
        _field("Search", element("input", type="search", id="search", autocomplete="off")),
        _field("Label", _choice(data, "by-label", labels)),
        _field("Suggested", _choice(data, "by-suggested", suggested)),
        _field(
            "Minimum probability, %",
            element("input", type="number", id="at-least", min=0, max=100, step=5, value=0),
        ),
        element("button", "Clear", type="button", id="clear"),
        element("p", "", id="matches", role="status"),
        class_="filters",
        hidden=True,
        id="filters",
        role="search",
        aria_label="Filter the rows",
    )


def _field(label: str, control: Markup) -> Markup:
    return element("label", element("span", label), control)


def _choice(data: ReportData, identity: str, codes: list[int]) -> Markup:
    options = (element("option", data.classes[code], value=code) for code in codes)
    return element("select", element("option", "any", value=""), *options, id=identity)


def _table(data: ReportData) -> Markup:
    has_names = any(one.name not in (None, str(one.row)) for one in data.rows)
    has_text = any(one.text is not None for one in data.rows)
    has_cells = any(one.cells or one.votes for one in data.rows)
    heads = [("row", "row")]
    heads += [("name", "name")] if has_names else []
    heads += [("label", "label"), ("suggested", "suggested"), ("wrong, %", "wrong")]
    columns = [
        element(
            "th",
            title,
            scope="col",
            data_key=key,
            aria_sort="descending" if key == "wrong" else None,
        )
        for title, key in heads
    ]
    columns.append(element("th", "probabilities", scope="col"))
    columns += [element("th", "text", scope="col")] if has_text else []
    columns += [element("th", "content", scope="col")] if has_cells else []
    caption = "Rows most likely to carry a wrong label"
    body = (_row(data, one, has_names, has_text, has_cells) for one in data.rows)
    return scrolled(element("tr", *columns), body, caption, id="suspects", class_="suspects")


def _row(
    data: ReportData, one: SuspectRow, has_names: bool, has_text: bool, has_cells: bool
) -> Markup:
    cells = [element("th", one.row, scope="row", class_="num")]
    cells += [element("td", element("bdi", one.name))] if has_names else []
    cells += [
        element("td", name(data, one.label)),
        element("td", name(data, one.suggested))
        if one.suggested != one.label
        else element("td", "keep", class_="quiet"),
        element("td", _percent(one.wrong), bar(one.wrong, "wrong-fill"), class_="num wrong-cell"),
        element("td", join(_chance(data, *pair) for pair in one.posterior), class_="chances"),
    ]
    cells += [element("td", element("bdi", one.text or ""), class_="text")] if has_text else []
    cells += [element("td", _contents(data, one), class_="holds")] if has_cells else []
    return element(
        "tr",
        *cells,
        data_l=one.label,
        data_s=one.suggested,
        data_w=f"{one.wrong:.6f}",
        data_k=one.key if one.row_hash else None,
        data_h=one.row_hash or None,
    )


def _contents(data: ReportData, one: SuspectRow) -> Markup:
    """Write the row's own columns, then its votes."""
    parts = [
        element("span", element("i", column), " ", element("bdi", value), class_="cell")
        for column, value in one.cells
    ]
    parts += [
        element(
            "span", element("i", element("bdi", who)), " ", name(data, code), class_="cell vote"
        )
        for who, code in one.votes
    ]
    return join(parts)


def _percent(share: float) -> str:
    """Write a probability in percent, never rounded up to certainty."""
    return "> 99.9" if 0.9995 <= share < 1 else f"{100 * share:.1f}"


def _chance(data: ReportData, code: int, chance: float) -> Markup:
    return element(
        "span",
        element("b", name(data, code)),
        ": ",
        element("span", percent(chance), class_="together"),
        class_="chance",
    )
