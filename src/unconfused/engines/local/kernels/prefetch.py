"""Prefetch instructions for compiled loops.

Rows to be rescored are scattered in memory. Prefetching the next ones halves the time per row.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.np import arrayobj

from unconfused._compilation import instruction

LINE_BYTES = 64
"""Size of a cache line."""


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Write the instruction for an array and an index per axis."""
    kind = signature.args[0]
    own = arrayobj.make_array(kind)(context, builder, arguments[0])
    place = [
        context.cast(builder, value, given, types.intp)
        for value, given in zip(arguments[1:], signature.args[1:], strict=True)
    ]
    shape = cgutils.unpack_tuple(builder, own.shape)
    strides = cgutils.unpack_tuple(builder, own.strides)
    pointer = cgutils.get_item_pointer2(
        context, builder, own.data, shape, strides, kind.layout, place, wraparound=False
    )
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    hint = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(ir.VoidType(), [byte, number, number, number]),
        "llvm.prefetch.p0i8",
    )
    # Read access (0), keep in all cache levels (3), data cache (1).
    flags = [ir.Constant(number, flag) for flag in (0, 3, 1)]
    builder.call(hint, [builder.bitcast(pointer, byte), *flags])
    return context.get_dummy_value()


@instruction(lambda *place: None)
def prefetch(typing_context: Any, array: Any, i: Any, j: Any) -> Any:
    """Prefetch the cache line of ``array[i, j]``; invalid addresses are ignored."""
    return types.void(array, i, j), _generate


@instruction(lambda *place: None)
def prefetch_entry(typing_context: Any, array: Any, i: Any) -> Any:
    """Prefetch the cache line of ``array[i]``; invalid addresses are ignored."""
    return types.void(array, i), _generate
