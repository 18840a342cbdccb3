"""Solvers: the algorithms themselves, on engines, strategies and rules."""
