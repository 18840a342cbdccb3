"""The command line: `unconfused demo`, `unconfused info`."""

from __future__ import annotations

import importlib.util
import sys

__all__ = ["main"]

INTERRUPTED = 130
"""Exit code of a command ended with Ctrl-C, as shells have it."""


def main() -> None:
    """Run the command line, or say what it needs."""
    if importlib.util.find_spec("typer") is None:
        print('The command line needs typer: pip install "unconfused[cli]"', file=sys.stderr)
        raise SystemExit(1)
    try:
        from unconfused.cli._app import app

        app(prog_name="unconfused")
    except KeyboardInterrupt:  # pressed before a command could begin
        raise SystemExit(INTERRUPTED) from None
