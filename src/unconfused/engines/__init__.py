"""Engines: the only part of the library that sees rows and columns."""

from unconfused.engines._quiet_blas import thread_pools
from unconfused.engines.array_api.engine import ArrayEngine
from unconfused.engines.array_api.namespace import ArraySpace
from unconfused.engines.base import (
    BoundedPartition,
    CellTables,
    Engine,
    LikelihoodPass,
    Partition,
)
from unconfused.engines.choose import make_engine
from unconfused.engines.local import LocalEngine

__all__ = [
    "ArrayEngine",
    "ArraySpace",
    "BoundedPartition",
    "CellTables",
    "Engine",
    "LikelihoodPass",
    "LocalEngine",
    "Partition",
    "make_engine",
    "thread_pools",
]
