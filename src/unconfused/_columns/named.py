"""Columns of a frame by their names, however many: `Named`."""

from __future__ import annotations

from typing import Any

import numpy as np


class Named:
    """Tell a ColumnTransformer which columns to take.

    Given a list of names, scikit-learn looks for each among all columns, one after the other, in
    every fit: with 100,000 columns that takes minutes, and a saved model describes each name by
    itself.

    Parameters
    ----------
    names : of the columns

    Examples
    --------
    >>> import pandas as pd
    >>> Named(["c", "a"])(pd.DataFrame({"a": [1], "b": [2], "c": [3]}))
    [2, 0]
    """

    def __init__(self, names: list[str]) -> None:
        self.names = np.array(names, dtype=np.str_)

    def __call__(self, frame: Any) -> list[int]:
        """Return where the columns are in a frame."""
        places = frame.columns.get_indexer(self.names)
        if (places < 0).any():
            raise ValueError(f"There is no column {str(self.names[places < 0][0])!r}.")
        return [int(place) for place in places]  # what converters to ONNX look for

    def __repr__(self) -> str:
        return f"Named({self.names.tolist()!r})"


def names_in(columns: Any) -> list[str]:
    """Return the names in what a ColumnTransformer was given: `Named`, a list, or one name."""
    found = columns.names.tolist() if isinstance(columns, Named) else columns
    return [found] if isinstance(found, str) else [str(name) for name in found]
