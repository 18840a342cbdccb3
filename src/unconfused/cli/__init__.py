"""The command line: `unconfused fit`, `predict`, `estimate`, `audit` and more."""

from __future__ import annotations

import importlib.util
import signal
import sys
from typing import Any

__all__ = ["main"]

OUR_FAULT = 1
"""Exit code of a command that met what it should not have."""

BAD_INPUT = 2
"""Exit code of a command that was used wrongly, or given what it cannot use."""

INTERRUPTED = 130
"""Exit code of a command ended with Ctrl-C, as shells have it."""

TERMINATED = 143
"""Exit code of a command ended by the system."""


def main() -> None:
    """Run the command line, or say what it needs."""
    if importlib.util.find_spec("typer") is None:
        print('The command line needs typer: pip install "unconfused[cli]"', file=sys.stderr)
        raise SystemExit(BAD_INPUT)
    try:
        signal.signal(signal.SIGTERM, _end)
        from unconfused.cli._app import app

        app(prog_name="unconfused")
    except KeyboardInterrupt:  # pressed before a command could begin
        raise SystemExit(INTERRUPTED) from None


def _end(*_: Any) -> None:
    """Leave by an exception, so that half-written files are removed on the way out."""
    raise SystemExit(TERMINATED)
