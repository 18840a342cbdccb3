"""What the commands print with: nothing that they read gets to command the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from unconfused._printable import printable


class SafeConsole(Console):
    """A console that escapes control characters in whatever it prints, but for line ends."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print objects; text is escaped before it is laid out, so that lines keep their width."""
        super().print(*(_lines(one) if isinstance(one, str) else one for one in objects), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield what is to be printed; everything passes here: tables, bars and text."""
        for text, style, control in super().render(renderable, options):
            # Commands of the console's own are marked as such, and are not text.
            yield Segment(text if control else _lines(text), style, control)


def console(*, stderr: bool = False) -> SafeConsole:
    """Return stdout, or stderr: colours on a terminal only, lines as long as they are elsewhere."""
    plain = SafeConsole(highlight=False, markup=False, emoji=False, stderr=stderr)
    plain.soft_wrap = not plain.is_terminal
    return plain


def print_json(found: dict[str, Any]) -> None:
    """Print one JSON object; JSON escapes control characters, but not the last of ASCII."""
    print(json.dumps(found, indent=2).replace("\x7f", "\\u007f"))


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))
