"""Findings in words and HTML; here: text that is safe to print, and how to install an extra."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0, DEL and C1: what terminals take for commands
    "\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"  # unseen, or turning text round
    "\ud800-\udfff]"  # halves of characters, which no encoding can write
)


def printable(text: str) -> str:
    r"""Return text with control characters escaped, newlines and tabs too.

    A label or a file name may hold what a terminal takes for a command: to set the title of the
    window, to clear the screen, to show the rest of the line backwards.

    Examples
    --------
    >>> print(printable("cat\x1b]0;mine\x07\n"))
    cat\x1b]0;mine\x07\n
    >>> printable("naïve 猫")
    'naïve 猫'
    """
    return UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


NAME = "unconfused"


def pip_install(extra: str) -> str:
    """Return the command that installs an extra, to be run where this is printed.

    An installation from a clone is completed from that clone: the package need not be on an index,
    and what is there under its name may be another version.

    Examples
    --------
    >>> pip_install("plot").endswith('[plot]"')
    True
    """
    source = Path(__file__).resolve().parents[3]
    if (source / "pyproject.toml").is_file():  # an editable installation stays one
        return f'pip install -e "{_here(source)}[{extra}]"'
    clone = _installed_from()
    return f'pip install "{NAME if clone is None else _here(clone)}[{extra}]"'


def import_extra(module: str, extra: str, purpose: str) -> ModuleType:
    """Import a module that an extra brings, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{purpose} needs {module.split('.')[0]}: {pip_install(extra)} ({error})"
        ) from None


def _here(folder: Path) -> str:
    return "." if folder == Path.cwd() else str(folder)


def _installed_from() -> Path | None:
    """Return the folder that pip installed the package from, if it was one and is still there."""
    # Imported here: every import of the package would take longer.
    import json
    from importlib import metadata
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        told = metadata.distribution(NAME).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return None
    url = urlsplit(json.loads(told)["url"] if told else "")
    folder = Path(url2pathname(url.path))
    return folder if url.scheme == "file" and (folder / "pyproject.toml").is_file() else None
