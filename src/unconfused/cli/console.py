"""What is printed: consoles that escape control characters, notes, JSON, progress bars."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.segment import Segment

from unconfused._text import printable


class SafeConsole(Console):
    """A console that escapes control characters, except line ends."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print objects; text is escaped before layout, so that widths are right."""
        super().print(*(_lines(one) if isinstance(one, str) else one for one in objects), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield escaped segments; everything printed passes here, tables and bars included."""
        for text, style, control in super().render(renderable, options):
            # Commands of the console's own are marked as such, and are not text.
            yield Segment(text if control else _lines(text), style, control)


def console(*, stderr: bool = False) -> SafeConsole:
    """Return a console on stdout or stderr, with colours and wrapping on a terminal only."""
    plain = SafeConsole(highlight=False, markup=False, emoji=False, stderr=stderr)
    plain.soft_wrap = not plain.is_terminal
    return plain


def tell(as_json: bool, found: dict[str, Any], lines: list[Any], notes: Iterable[str] = ()) -> None:
    """Print what was found: as JSON, or in lines, of which the first stands out, and notes."""
    if as_json:
        print_json(found)
        return
    out = console()
    for place, line in enumerate(lines):
        out.print(line, style=None if place else "bold")
    say_notes(notes)


def print_json(found: dict[str, Any]) -> None:
    """Print one JSON object; JSON escapes all control characters but DEL."""
    print(json.dumps(found, indent=2).replace("\x7f", "\\u007f"))


def say_notes(notes: Iterable[str]) -> None:
    """Print notes on stderr."""
    for note in notes:
        print(f"note: {printable(note)}", file=sys.stderr)


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


class Stages(Progress):
    """A line on stderr, on a terminal only, that says what a command is doing."""

    def __init__(self) -> None:
        stderr = console(stderr=True)
        columns = SpinnerColumn(), TextColumn("{task.description}", markup=False)
        off = not stderr.is_terminal
        super().__init__(*columns, TimeElapsedColumn(), console=stderr, transient=True, disable=off)
        self._shown = self.add_task("Starting", total=None)
        self._what, self._rows = "", 0

    def __call__(self, what: str) -> None:
        """Start the next stage."""
        self._what, self._rows = what, 0
        self.update(self._shown, description=what)

    def rows(self, more: int) -> None:
        """Add to the number of rows shown for this stage."""
        self._rows += more
        self.update(self._shown, description=f"{self._what} ({self._rows:,} rows)")
