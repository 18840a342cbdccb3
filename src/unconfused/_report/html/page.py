"""The report as one self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from unconfused._atomic import whole_file
from unconfused._report.data import ReportData
from unconfused._report.html import checks, rows, sections
from unconfused._text.html import Markup, element, escape, join

DIGITS = 5
"""Digits of the numbers in the embedded JSON."""


def write_page(data: ReportData, path: str | os.PathLike[str], *, force: bool) -> Path:
    """Write the page of a report."""
    with whole_file(path, force=force) as scratch:
        scratch.write_text(render(data), encoding="utf-8", newline="\n")
    return Path(path)


def render(data: ReportData) -> str:
    """Return the page.

    Style and script are the package's own files, named by their hashes in the page's security
    policy: the browser runs nothing else, whatever the labels hold.
    """
    style, script = static_text("report.css"), static_text("report.js") + static_text("theme.js")
    ours = f"style-src '{policy_hash(style)}'; script-src '{policy_hash(script)}'"
    policy = f"default-src 'none'; {ours}; base-uri 'none'; form-action 'none'"
    shown = [
        ("confusion", "Confusion", sections.confusion(data)),
        ("mix", "Class shares", sections.label_mix(data)),
        ("rows", "Rows to check", rows.rows_to_check(data)),
        ("annotators", "Annotators", sections.annotators(data)),
        ("reliability", "Reliability", checks.reliability(data)),
        ("sensitivity", "Sensitivity", checks.sensitivity(data)),
        ("settings", "Settings", checks.settings(data)),
    ]
    present = [one for one in shown if one[2] is not None]
    links = (element("li", element("a", title, href=f"#{anchor}")) for anchor, title, _ in present)
    title = f"{data.verdict.number} {data.verdict.sentence}: {data.title}"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(policy, quote=True)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark">
<meta name="generator" content="unconfused">{element("title", title)}<style>{style}</style></head>
<body><a href="#main" class="skip">Skip to the verdict</a>
<header><p class="title">{element("bdi", data.title)}</p>
<button type="button" id="theme" hidden>Dark</button></header>
<main id="main" tabindex="-1">{sections.verdict(data)}
<nav aria-label="Sections" class="contents"><ul>{join(links)}</ul></nav>
{join(part for _, _, part in present)}</main>
<footer><p>Made by unconfused on {escape(data.created)}.</p></footer>
<script type="application/json" id="report-data">{_embedded(data)}</script>
<script>{script}</script></body></html>
"""


def static_text(name: str) -> str:
    """Return a style or script of the package."""
    return files("unconfused._report").joinpath("static", name).read_text(encoding="utf-8")


def policy_hash(text: str) -> str:
    """Return what names a style or script in a security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _embedded(data: ReportData) -> Markup:
    """Return the numbers as JSON that cannot end its element; of the rows, what ranks them."""
    table = asdict(data)
    table["values"] = table.pop("class_values")
    table["rows"] = [[one.row, one.label, one.suggested, one.wrong] for one in data.rows]
    text = json.dumps(_rounded(table), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    # In a script element only "<" and "&" could mean anything, and only ASCII is left besides.
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _rounded(value: Any) -> Any:
    """Keep a few digits of every number; infinities and NaN, which JSON lacks, become null."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if abs(value) < float("inf") else None
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return _rounded(value.tolist())
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in value]
    return value
