"""The server: this machine only, a token in the address, and nothing from other sites."""

from __future__ import annotations

import json
import secrets
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, urlsplit

from unconfused._report.html.page import policy_hash, static_text
from unconfused.review.serve.rows import IMAGES
from unconfused.review.serve.session import ReviewError, Session


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

LOOPBACK = "127.0.0.1"

LONGEST_REQUEST = 65_536
"""Bytes of a request's body: a class, and which row it is for."""

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class RefusedError(Exception):
    """A request that is not answered, with the status to say so."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class ReviewServer(ThreadingHTTPServer):
    """Serves one session on the loopback address."""

    daemon_threads = True
    allow_reuse_address = False

    def __init__(self, session: Session, port: int = 0, token: str | None = None) -> None:
        super().__init__((LOOPBACK, port), ReviewHandler)
        self.session, self.token = session, token or secrets.token_urlsafe(24)

    @property
    def url(self) -> str:
        """The address to open in a browser."""
        return f"http://{LOOPBACK}:{self.server_port}/?token={self.token}"


class ReviewHandler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: ReviewServer
    server_version, sys_version = "unconfused", ""
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        """Serve the page, the row to ask about, or an image of it."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Take an answer, or take one back."""
        self._answer(self._post)

    def _answer(self, work: Any) -> None:
        try:
            self._check()
            kind, content = work()
            self._send(200, kind, content)
        except RefusedError as error:
            self._send(error.status, "text/plain; charset=utf-8", str(error).encode())
        except (ReviewError, OSError) as error:
            self._send(409, "application/json", _json({"error": str(error)}))
        except Exception as error:
            said = f"{type(error).__name__}: {error}. This should not happen."
            self._send(500, "application/json", _json({"error": said}))
            raise

    def _check(self) -> None:
        """Refuse whoever does not come from our own page."""
        host = self.headers.get("Host", "")
        if host not in (f"{name}:{self.server.server_port}" for name in (LOOPBACK, "localhost")):
            raise RefusedError(421, "This server answers to its own address only.")
        own = f"http://{host}"
        site = self.headers.get("Sec-Fetch-Site", "none")
        if self.headers.get("Origin", own) != own or site not in ("none", "same-origin"):
            raise RefusedError(403, "Requests from other sites are refused.")
        given = self.headers.get("X-Token") or self._query("token") or ""
        if not secrets.compare_digest(given.encode(), self.server.token.encode()):
            raise RefusedError(403, "The address lacks the token that the command printed.")

    def _query(self, name: str) -> str | None:
        values = parse_qs(urlsplit(self.path).query).get(name)
        return values[0] if values else None

    def _get(self) -> tuple[str, bytes]:
        path = urlsplit(self.path).path
        if path == "/":
            return "text/html; charset=utf-8", PAGE.encode()
        if path == "/next":
            return "application/json", _json(self.server.session.ask(self._tab(self._query("tab"))))
        if path == "/image":
            row = self._query("row") or ""
            if row.isdecimal() and int(row) < len(self.server.session.rows.keys):
                found = self.server.session.rows.image(int(row), self._query("column") or "")
                if found is not None:
                    return IMAGES[found.suffix.lower()], found.read_bytes()
        raise RefusedError(404, "There is nothing here.")

    def _post(self) -> tuple[str, bytes]:
        asked = self._body()
        session, tab = self.server.session, self._tab(asked.get("tab"))
        path = urlsplit(self.path).path
        if path == "/undo":
            return "application/json", _json(session.undo(tab))
        if path == "/answer":
            row, action, verdict = (asked.get(one) for one in ("row", "action", "verdict"))
            if not isinstance(row, int) or not isinstance(action, str):
                raise RefusedError(400, "An answer needs a row and an action.")
            return "application/json", _json(session.answer(tab, row, action, str(verdict or "")))
        raise RefusedError(404, "There is nothing here.")

    @staticmethod
    def _tab(value: Any) -> str:
        if not isinstance(value, str) or not 0 < len(value) <= 64:
            raise RefusedError(400, "A request names the tab it comes from.")
        return value

    def _body(self) -> dict[str, Any]:
        if self.headers.get_content_type() != "application/json":
            raise RefusedError(415, "Answers are JSON.")
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LONGEST_REQUEST:
            raise RefusedError(413, "An answer is short.")
        try:
            found = json.loads(self.rfile.read(int(length)))
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise RefusedError(400, "Answers are JSON objects.")
        return found

    def _send(self, status: int, kind: str, content: bytes) -> None:
        if status >= 400:
            self.close_connection = True  # a body that was not read would be the next request
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": str(len(content)), **HEADERS}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        """Say nothing: the terminal shows the address."""


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True, allow_nan=False).encode()
