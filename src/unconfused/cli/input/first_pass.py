"""First pass over a streamed file: labels, column names, and which columns are text."""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused.cli.input.label_columns import code_labels
from unconfused.cli.input.parts import Parts


class CodedColumn:
    """A column of labels as integer codes, collected chunk by chunk."""

    def __init__(self) -> None:
        self._codes: list[Any] = []
        self._texts: dict[str, int] = {}

    def add(self, column: Any) -> None:
        """Add a chunk."""
        codes, texts = code_labels(column)
        new = [self._texts.setdefault(text, len(self._texts)) for text in texts]
        self._codes.append(np.array([*new, -1], dtype=np.int32)[codes])

    def series(self) -> Any:
        """Return the column as a pandas categorical."""
        import pandas as pd

        found = pd.Categorical.from_codes(np.concatenate(self._codes), pd.Index(list(self._texts)))
        return pd.Series(found)


class FirstPass:
    """The result of the first pass.

    Attributes
    ----------
    labels : a frame of the columns asked for that are there, all rows
    words : columns that must be read as text, as not all their parts are numbers or dates
    """

    def __init__(self, parts: Parts, wanted: list[str], as_text: list[str]) -> None:
        import pandas as pd

        coded: dict[str, CodedColumn] = {}
        sorts: dict[str, set[str]] = {}
        for part in parts(as_text):
            for name in part.columns:
                sorts.setdefault(str(name), set()).update(_sort(part[name]))
            for name in wanted:
                if name in part.columns:
                    if name not in coded:
                        coded[name] = CodedColumn()
                        coded[name].add([None] * parts.n_rows)
                    coded[name].add(part[name])
                elif name in coded:
                    coded[name].add([None] * len(part))
            parts.n_rows += len(part)
        parts.names = list(sorts)
        self.labels = pd.DataFrame({name: one.series() for name, one in coded.items()})
        self.words = [name for name, found in sorts.items() if len(found) > 1 or "words" in found]


def _sort(column: Any) -> set[str]:
    """Return the kind of the cells; empty if there are none."""
    kind = column.dtype.kind
    if not column.notna().any():
        return set()
    if kind == "M":
        return {"dates" if column.dt.tz is None else "dates with a zone"}
    if kind in "iuf":
        return {"numbers"}
    return {"truth" if kind == "b" or column.dropna().map(type).eq(bool).all() else "words"}
