"""`unconfused info`: versions and hardware, for bug reports."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from unconfused import __version__
from unconfused.cli import options as opt
from unconfused.cli.console import print_json

EXAMPLES = ["info", "info --json"]

REQUIRED = ("numpy", "scipy", "scikit-learn", "numba")
OPTIONAL = ("typer", "matplotlib", "pandas", "pyarrow", "skops", "onnx", "onnxruntime", "skl2onnx")


def info(
    as_json: bool = opt.plain("--json", "Print JSON.", default=False),
) -> None:
    """Show versions, cores, threads and the engine in use, for a bug report."""
    found = collect_info()
    if as_json:
        print_json(found)
        return
    for name, value in found.items():
        print(f"{name:<13} {'not installed' if value is None else value}")


def collect_info() -> dict[str, str | int | None]:
    """Return versions by package, None for those not installed, and the engine in use."""
    from unconfused.engines.local.engine import LocalEngine
    from unconfused.engines.local.threads import thread_count

    info: dict[str, str | int | None] = {
        "unconfused": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": thread_count(None),
        "engine": f"{LocalEngine.__name__}, loops compiled by numba",
        "threads": _linear_algebra(),
    }
    info.update({name: _version(name) for name in (*REQUIRED, *OPTIONAL)})
    return info


def _linear_algebra() -> str:
    """Return the BLAS and OpenMP libraries and their numbers of threads."""
    from threadpoolctl import threadpool_info

    pools = {f"{pool['internal_api']} {pool['num_threads']}" for pool in threadpool_info()}
    return ", ".join(sorted(pools)) or "not known"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
