"""The page itself: markup that a script fills in, with style and script named by their hashes."""

from __future__ import annotations

from importlib.resources import files

from unconfused._html import Markup, element
from unconfused._report.html.page import policy_hash, static_text


def _own(name: str) -> str:
    return files("unconfused.review.serve").joinpath("static", name).read_text(encoding="utf-8")


STYLE = static_text("report.css") + _own("review.css")
SCRIPT = _own("review.js")
POLICY = (
    f"default-src 'none'; style-src '{policy_hash(STYLE)}'; script-src '{policy_hash(SCRIPT)}'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


def render_page() -> str:
    """Return the page; it holds no data: the script asks for a row."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("link", rel="icon", href="data:,"),  # or the browser asks for one
        element("title", "Review labels"),
        element("style", Markup(STYLE)),
    )
    body = element(
        "body",
        element("a", "Skip to the row", href="#row", class_="skip"),
        element(
            "header",
            element("p", "Review labels", class_="title"),
            element("button", "Dark", type="button", id="theme", hidden=True),
        ),
        element(
            "main",
            _progress(),
            element("p", "", id="message", role="status", aria_live="polite"),
            element("div", _row(), _answer(), class_="review", id="review", hidden=True),
            element("div", "", id="near", class_="near"),
            element("p", "Every row has been checked.", id="finished", hidden=True),
            element("noscript", element("p", "This page needs JavaScript.")),
            id="main",
        ),
        element("script", Markup(SCRIPT)),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _progress() -> Markup:
    return element(
        "section",
        element("h1", "Is this label right?", class_="hidden-heading"),
        element("dl", "", id="facts", class_="facts"),
        element("p", "", id="sentence", class_="source"),
        element("ul", "", id="notes", class_="notes"),
        class_="progress",
        aria_label="Progress",
    )


def _row() -> Markup:
    return element(
        "article",
        element("h2", "", id="row-title", tabindex="-1"),
        element("p", "", id="drawn", class_="source"),
        element("div", "", id="conflict"),
        element("div", "", id="cells", class_="cells"),
        id="row",
        aria_labelledby="row-title",
    )


def _answer() -> Markup:
    return element(
        "section",
        element("div", element("span", "label"), element("bdi", "", id="label"), class_="given"),
        element("ul", "", id="votes", class_="votes", aria_label="Votes"),
        element("div", "", id="suggestion", class_="suggestion"),
        element(
            "div",
            element("button", "", type="button", id="keep", class_="keep"),
            element("button", "", type="button", id="take", class_="take"),
            class_="main-answers",
        ),
        element(
            "div",
            element(
                "label",
                element("span", "Another class: press its number, or ", element("kbd", "/")),
                element(
                    "input",
                    type="search",
                    id="find",
                    autocomplete="off",
                    maxlength=200,
                    placeholder="name of a class, or a new one",
                ),
            ),
            element("div", "", id="classes", class_="classes", role="group", aria_label="Classes"),
        ),
        element(
            "div",
            element("button", "Skip", type="button", id="skip"),
            element("button", "Undo", type="button", id="undo"),
            class_="others",
        ),
        class_="answer",
        aria_label="Answer",
    )
