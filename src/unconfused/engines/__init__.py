"""Engines: the only part of the library that sees rows and columns."""

from unconfused.engines.base import (
    BoundedPartition,
    CellTables,
    Engine,
    LikelihoodPass,
    Partition,
)
from unconfused.engines.local import LocalEngine

__all__ = [
    "BoundedPartition",
    "CellTables",
    "Engine",
    "LikelihoodPass",
    "LocalEngine",
    "Partition",
]
