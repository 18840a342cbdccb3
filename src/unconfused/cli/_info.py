"""What a bug report should say: versions and cores."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from unconfused import __version__

REQUIRED = ("numpy", "scipy", "scikit-learn", "numba")
OPTIONAL = ("typer", "matplotlib", "pandas")


def collect_info() -> dict[str, str | int | None]:
    """Return versions by package, None for what is not installed, and the cores we may use.

    Examples
    --------
    >>> info = collect_info()
    >>> sorted(info)[:3]
    ['cores', 'matplotlib', 'numba']
    """
    from unconfused.estimators._base import thread_count

    info: dict[str, str | int | None] = {
        "unconfused": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": thread_count(None),
    }
    info.update({name: _version(name) for name in (*REQUIRED, *OPTIONAL)})
    return info


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
