"""A file read in chunks, several times: `Parts`, and the first pass over it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused.cli.input.label_columns import code_labels

if TYPE_CHECKING:
    from unconfused.cli.input.label_options import ReadOptions

CELLS = 2**22
"""Cells per chunk, roughly: 32 MB of numbers."""

FEWEST_ROWS, MOST_ROWS = 2**8, 2**16
"""Bounds on the rows per chunk."""


class Parts:
    """The chunks of a file as frames with the same columns, indexed by row number."""

    def __init__(
        self, path: Path, reading: ReadOptions, count: Callable[[int], None] | None = None
    ) -> None:
        self.path, self._reading, self._count = path, reading, count
        self._rows, self.names, self.n_rows = 0, list[str](), 0
        """Known after the first pass."""

    def __call__(
        self, as_text: Collection[str] = (), kept: np.ndarray[Any, Any] | None = None
    ) -> Iterator[Any]:
        """Yield the chunks; with `kept`, a mask over the rows of the file, only those rows."""
        if not self._rows:
            self._rows = int(np.clip(CELLS // self.first_row().shape[1], FEWEST_ROWS, MOST_ROWS))
        for part in self._frames(self._rows, as_text):
            if self._count is not None:  # of the rows read, for those who wait
                self._count(len(part))
            if kept is None:
                yield part
            elif (rows := kept[part.index]).any():
                # Names that no line of this part has are those of other lines (JSON).
                yield part.reindex(columns=self.names)[rows]

    def rows(
        self, rows: Collection[int], as_text: Collection[str] = (), columns: Any = None
    ) -> Any:
        """Return the rows with these numbers as a frame, in this order; all columns, or some."""
        import pandas as pd

        wanted = np.unique(np.asarray(rows, dtype=np.int64))
        found = []
        for part in self(as_text):
            here = wanted[(wanted >= part.index[0]) & (wanted <= part.index[-1])]
            if len(here):
                # A line of JSON may lack a name that others have.
                some = part if columns is None else part.reindex(columns=columns)
                found.append(some.loc[here].astype(object))
        return pd.concat(found).loc[list(rows)]

    def first_row(self) -> Any:
        """Return a frame with the first row only."""
        return next(self._frames(1, ()))

    def _frames(self, rows: int, as_text: Collection[str]) -> Iterator[Any]:
        return self._reading.parts(self.path, rows, as_text)


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
