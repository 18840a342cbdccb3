"""How to install what an extra brings."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

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
