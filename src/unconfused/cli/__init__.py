"""The command line: `unconfused fit`, `predict`, `estimate`, `audit` and more."""

from __future__ import annotations

import importlib.util
import signal
import sys
import traceback
from typing import Any

from unconfused._text import pip_install, printable
from unconfused.cli.errors import BAD_INPUT, INTERRUPTED, TERMINATED

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say which package it needs."""
    if importlib.util.find_spec("typer") is None:
        print(f"The command line needs typer: {pip_install('cli')}", file=sys.stderr)
        raise SystemExit(BAD_INPUT)
    try:
        signal.signal(signal.SIGTERM, _end)
        sys.excepthook = _print_traceback
        from unconfused.cli.app import app

        app(prog_name="unconfused")
    except KeyboardInterrupt:  # before a command has started
        raise SystemExit(INTERRUPTED) from None


def _print_traceback(*error: Any) -> None:
    """Print the traceback for --debug, with control characters escaped."""
    lines = "".join(traceback.format_exception(*error)).splitlines()
    print("\n".join(map(printable, lines)), file=sys.stderr)


def _end(*_: Any) -> None:
    """Exit by an exception, so that partial files are removed."""
    raise SystemExit(TERMINATED)
