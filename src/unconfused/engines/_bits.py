"""Two instructions on the bits of a number that numba has no name for."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from unconfused.engines._compile import instruction


@instruction(lambda word: int(word).bit_count())
def count_bits(typing_context: Any, word: Any) -> Any:
    """Return how many bits of a number are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@instruction(lambda word: (int(word) & -int(word)).bit_length() - 1)
def lowest_bit(typing_context: Any, word: Any) -> Any:
    """Return the place of the lowest bit that is set; there must be one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate
