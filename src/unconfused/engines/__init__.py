"""Engines: the only part of the library that sees rows and columns."""

from typing import Any

from unconfused.engines.array_api.engine import ArrayEngine
from unconfused.engines.array_api.namespace import ArraySpace
from unconfused.engines.base import CellTables, Engine, LikelihoodPass, Partition

__all__ = [
    "ArrayEngine",
    "ArraySpace",
    "CellTables",
    "Engine",
    "LikelihoodPass",
    "LocalEngine",
    "Partition",
]


def __getattr__(name: str) -> Any:
    if name != "LocalEngine":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from unconfused.engines.local.engine import LocalEngine  # loads numba

    return LocalEngine
