"""`unconfused info`: versions and hardware, for bug reports."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from unconfused import __version__
from unconfused.cli import options as opt
from unconfused.cli.console import print_json

EXAMPLES = ["info", "info --json"]

PACKAGES = (
    "numpy", "scipy", "scikit-learn", "numba", "typer", "matplotlib", "pandas", "pyarrow", "skops",
    "onnx", "onnxruntime", "skl2onnx",
)  # fmt: skip


def info(
    as_json: bool = opt.plain("--json", "Print JSON.", default=False),
) -> None:
    """Show versions, cores, threads and the engine in use, for a bug report."""
    from threadpoolctl import threadpool_info

    from unconfused.engines.local.engine import LocalEngine
    from unconfused.estimators._arrays import thread_count

    pools = {f"{pool['internal_api']} {pool['num_threads']}" for pool in threadpool_info()}
    found: dict[str, str | int | None] = {
        "unconfused": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": thread_count(None),
        "engine": f"{LocalEngine.__name__}, loops compiled by numba",
        "threads": ", ".join(sorted(pools)) or "not known",
    }
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    if as_json:
        print_json(found)
        return
    for name, value in found.items():
        print(f"{name:<13} {'not installed' if value is None else value}")
