"""Cells as text, independent of the column's type."""

from __future__ import annotations

from typing import Any

import numpy as np


def cells_as_text(column: Any, missing: Any = np.nan) -> Any:
    """Return a column of text, `missing` where there is nothing.

    A whole number has no point, gaps in the column or not: with gaps, pandas makes floats of it.

    Examples
    --------
    >>> import pandas as pd
    >>> cells_as_text(pd.Series([7, None, 8.5])).tolist()
    ['7', nan, '8.5']
    """
    import pandas as pd

    cells = zip(column.tolist(), column.isna().tolist(), strict=True)
    texts = np.empty(len(column), dtype=object)
    texts[:] = [missing if absent else _text(cell) for cell, absent in cells]
    return pd.Series(texts, index=column.index, dtype=object)


def _text(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)
