"""The page itself: markup that a script fills in, with style and script named by their hashes."""

from __future__ import annotations

from importlib.resources import files

from unconfused._report.html.page import policy_hash, static_text


def _own(name: str) -> str:
    return files("unconfused.review.serve").joinpath("static", name).read_text(encoding="utf-8")


STYLE = static_text("report.css") + _own("review.css")
SCRIPT = _own("review.js") + static_text("theme.js")
PAGE = _own("review.html").replace("{style}", STYLE).replace("{script}", SCRIPT)
"""It holds no data: the script asks for a row."""

POLICY = (
    f"default-src 'none'; style-src '{policy_hash(STYLE)}'; script-src '{policy_hash(SCRIPT)}'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
