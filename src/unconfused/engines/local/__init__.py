"""Incremental, multithreaded engine for dense or CSR rows in memory."""

from unconfused.engines.local.engine import LocalEngine

__all__ = ["LocalEngine"]
