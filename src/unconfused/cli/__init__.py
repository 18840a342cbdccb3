"""The command line: `unconfused fit`, `predict`, `estimate`, `audit` and more."""

from __future__ import annotations

import importlib.util
import signal
import sys
import traceback
from typing import Any

from unconfused._printable import printable
from unconfused.cli.exit_codes import BAD_INPUT, INTERRUPTED, TERMINATED

__all__ = ["main"]

AGAIN = 30.0
"""Seconds after which a command that was told to end, and did not, is told again: longer than it
takes to remove a file on a slow disk, which that would cut short."""


def main() -> None:
    """Run the command line, or say what it needs."""
    if importlib.util.find_spec("typer") is None:
        print('The command line needs typer: pip install "unconfused[cli]"', file=sys.stderr)
        raise SystemExit(BAD_INPUT)
    try:
        signal.signal(signal.SIGTERM, _end)
        sys.excepthook = _print_traceback
        from unconfused.cli.app import app

        app(prog_name="unconfused")
    except KeyboardInterrupt:  # pressed before a command could begin
        raise SystemExit(INTERRUPTED) from None
    finally:
        if hasattr(signal, "setitimer"):  # it is ending: it need not be told again
            signal.setitimer(signal.ITIMER_REAL, 0.0)


def _print_traceback(*error: Any) -> None:
    """Print what --debug shows; an error may quote what is not safe to print."""
    lines = "".join(traceback.format_exception(*error)).splitlines()
    print("\n".join(map(printable, lines)), file=sys.stderr)


def _end(*_: Any) -> None:
    """Leave by an exception, so that half-written files are removed on the way out.

    It may come where Python drops exceptions, in a destructor or a callback of a library. So it
    comes again.
    """
    if hasattr(signal, "setitimer"):  # not on Windows
        signal.signal(signal.SIGALRM, _end)
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
    raise SystemExit(TERMINATED)
