"""Compiled loops over sets of rows. All release the interpreter.

Nothing is compiled when this file is imported; what a call compiles is cached on disk.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines._bits import count_bits, lowest_bit
from unconfused.engines._compile import compiled
from unconfused.engines.snapshots import WORD

COUNTED_TOGETHER = 128
"""Numbers of a set whose bits are counted before it is asked whether it is still worth while."""

ONE = np.uint64(1)
NOTHING = np.uint64(0)


@compiled
def mark_rows(region: Any, wanted: int, out: Any) -> None:
    """Write the set of the rows in one region."""
    n_rows = len(region)
    for w in range(len(out)):
        own = region[w * WORD : min((w + 1) * WORD, n_rows)]
        word = NOTHING
        for k in range(len(own)):
            word |= np.uint64(own[k] == wanted) << np.uint64(k)
        out[w] = word


@compiled
def nearest_set(
    rows: Any, sets: Any, held: Any, n_added: IntArray, most: int, likely: int
) -> tuple[int, int, int]:
    """Return which of the sets that are held differs from some rows in the fewest, and in how many.

    None may have had more rows added to it, with those, than `most`; the last of the sets, which
    is that of no rows, always does. The third number is how many rows there are. If the `likely`
    one is near, others are soon known to be farther away.
    """
    nearest, n_rows = len(sets) - 1, 0
    for w in range(len(rows)):
        n_rows += count_bits(rows[w])  # type: ignore[call-arg]
    fewest = n_rows
    for place in range(len(sets)):
        # The likely one first; it comes again in its turn, and is no nearer then.
        k = likely if place == 0 else place - 1
        if not held[k]:
            continue
        own, count = sets[k], 0
        for start in range(0, len(rows), COUNTED_TOGETHER):
            for w in range(start, min(start + COUNTED_TOGETHER, len(rows))):
                count += count_bits(rows[w] ^ own[w])  # type: ignore[call-arg]
            if count >= fewest:
                break
        if count < fewest and n_added[k] + count <= most:
            nearest, fewest = k, count
    return nearest, fewest, n_rows


@compiled
def weigh_difference(
    rows: Any, others: Any, codes: IntArray, weights: FloatArray, row_norms: FloatArray,
    masses: FloatArray,
) -> None:  # fmt: skip
    """Add up, by code, how long the rows are together that are in one of two sets only."""
    for w in range(len(rows)):
        word = rows[w] ^ others[w]
        while word != NOTHING:
            i = w * WORD + lowest_bit(word)  # type: ignore[call-arg]
            masses[codes[i]] += weights[i] * row_norms[i]
            word &= word - ONE


@compiled
def compare_regions(
    region: Any, regions: IntArray, sets: Any, is_measured: Any, codes: IntArray,
    weights: FloatArray, row_norms: FloatArray, masses: FloatArray, likely: IntArray,
    nearest: IntArray,
) -> None:  # fmt: skip
    """Find regions that are closer to a set that was measured than `masses` says.

    Their masses, by code, are made those of the difference, and `nearest` says which set it is; -1
    for regions that are not.
    """
    rows, own = np.empty(sets.shape[1], dtype=np.uint64), np.empty(masses.shape[1])
    n_added = np.zeros(len(sets), dtype=np.int64)
    for k in range(len(regions)):
        mark_rows(region, regions[k], rows)
        found, _, _ = nearest_set(rows, sets, is_measured, n_added, len(region), likely[regions[k]])
        own[:] = 0.0
        weigh_difference(rows, sets[found], codes, weights, row_norms, own)
        nearest[k] = -1
        if own.sum() < masses[regions[k]].sum():
            nearest[k] = found
            masses[regions[k]] = own


@compiled
def list_difference(
    rows: Any, others: Any, first: int, last: int, codes: IntArray, weights: FloatArray,
    n_codes: int, out_rows: Any, out_codes: Any, out_weights: FloatArray,
) -> Any:  # fmt: skip
    """List the rows that are in one of two sets only, sorted by code; return how many.

    Those of words first..last. They count negatively if they are among the others.
    """
    ends = np.zeros(n_codes + 1, dtype=np.int64)
    for w in range(first, last):
        word = rows[w] ^ others[w]
        while word != NOTHING:
            ends[codes[w * WORD + lowest_bit(word)] + 1] += 1  # type: ignore[call-arg]
            word &= word - ONE
    for code in range(n_codes):
        ends[code + 1] += ends[code]
    for w in range(first, last):
        word = rows[w] ^ others[w]
        while word != NOTHING:
            place: Any = lowest_bit(word)  # type: ignore[call-arg]
            i = w * WORD + place
            at = ends[codes[i]]
            ends[codes[i]] += 1
            joins = (rows[w] >> np.uint64(place)) & ONE
            out_rows[at], out_codes[at] = i, codes[i]
            out_weights[at] = weights[i] if joins else -weights[i]
            word &= word - ONE
    return ends[n_codes]
