"""Exit codes of the commands; 0 is success."""

OUR_FAULT = 1
"""A bug of ours."""

BAD_INPUT = 2
"""Wrong usage, or input that cannot be used."""

INTERRUPTED = 130
"""Ctrl-C: 128 plus the number of the signal, as in shells."""

TERMINATED = 143
"""SIGTERM, likewise."""
