"""Changed copies of rows, made block by block."""

from __future__ import annotations

from tempfile import TemporaryFile
from typing import Any

import numpy as np
from scipy import sparse

from unconfused.engines.base import RowMap
from unconfused.engines.local.moments import row_blocks
from unconfused.engines.local.rows import Rows


def mapped_rows(rows: Rows, change: RowMap) -> Any:
    """Return changed copies of the rows, of their type.

    Scaled CSR rows share the indices of the old ones. Copies of memory-mapped rows are in a
    temporary file, deleted when they are no longer used.
    """
    if len(rows.stored) > 1 and change.matrix.ndim == 1:
        data, indices, pointers = rows.stored
        scaled = (data * change.matrix[indices]).astype(rows.dtype, copy=False)
        return sparse.csr_array((scaled, indices, pointers), shape=(rows.n_rows, rows.n_columns))
    shape = (rows.n_rows, rows.n_columns)
    if isinstance(rows.stored[0], np.memmap):
        with TemporaryFile() as file:  # the mapping outlives the handle
            mapped: Any = np.memmap(file, dtype=rows.dtype, shape=shape)
    else:
        mapped = np.empty(shape, dtype=rows.dtype)
    for start, stop in row_blocks(0, rows.n_rows, rows.n_columns):
        mapped[start:stop] = change.apply(rows.block(start, stop))
    return mapped
