"""Numbers that several threads count at once, in loops that have released the interpreter.

Nothing is compiled when this file is imported; what a call compiles is cached on disk.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.np import arrayobj

from unconfused.engines._compile import compiled, instruction

INSIDE, CLOSED = 0, 1
"""Places in a gate: how many helpers are inside, and whether any more may enter."""

SPINS = 20_000
"""How often it is asked whether all helpers have left, before it is left to the caller to pause."""


def _write_addition(typing_context: Any, array: Any, place: Any, value: Any) -> Any:
    """Write the instruction for an array of int64, the place of an entry, and a number."""
    if array.dtype != types.int64 or array.ndim != 1 or array.layout != "C":
        raise TypingError(f"Only entries of a line of int64 can be counted, not of {array}.")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        own = arrayobj.make_array(signature.args[0])(context, builder, arguments[0])
        at, added = (
            context.cast(builder, given, kind, types.int64)
            for given, kind in zip(arguments[1:], signature.args[1:], strict=True)
        )
        pointer = cgutils.gep(builder, own.data, at)
        return builder.atomic_rmw("add", pointer, added, "seq_cst")

    return types.int64(array, place, value), generate


_lock = Lock()


def _add_in_python(array: Any, place: int, value: int) -> int:
    with _lock:
        before = int(array[place])
        array[place] += value
    return before


add_to: Any = instruction(_add_in_python)(_write_addition)
"""Add a number to an entry of an array of int64, and return what it was before."""


@compiled
def enter(gate: Any) -> bool:
    """Let a helper in, unless the gate is closed."""
    add_to(gate, INSIDE, 1)
    # Asked after it was counted: who closes the gate sees it inside, or it sees the gate closed.
    if add_to(gate, CLOSED, 0) == 0:
        return True
    add_to(gate, INSIDE, -1)
    return False


@compiled
def leave(gate: Any) -> None:
    """Let a helper out."""
    add_to(gate, INSIDE, -1)


@compiled
def close(gate: Any) -> bool:
    """Let nobody in any more, and wait a while; say whether nobody is left inside."""
    add_to(gate, CLOSED, 1)
    spins = 0
    while spins < SPINS and add_to(gate, INSIDE, 0) > 0:
        spins += 1
    return spins < SPINS
