"""The engine for rows in this machine's memory: dense or CSR, incremental, threaded."""

from unconfused.engines.local.engine import LocalEngine

__all__ = ["LocalEngine"]
