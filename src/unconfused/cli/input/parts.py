"""A file read in chunks, several times: `Parts`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unconfused._files.formats import find_source
from unconfused.cli.input.label_options import ReadOptions

STREAM_ABOVE = 512 * 2**20
"""File size in bytes above which files are streamed by default."""

CELLS = 2**22
"""Cells per chunk, roughly: 32 MB of numbers."""

FEWEST_ROWS, MOST_ROWS = 2**8, 2**16
"""Bounds on the rows per chunk."""

WHOLE_FORMATS = ("npz",)
"""Formats that cannot be streamed."""

Count = Callable[[int], None]
"""Called with the number of rows read."""


def is_streamed(path: Path, reading: ReadOptions, wanted: bool | None) -> bool:
    """Decide whether to stream a file: as the user says, else by its size."""
    found = find_source(path, reading.format)
    if wanted and found.format in WHOLE_FORMATS:
        raise ValueError(f"{path}: {found.name} cannot be read in parts; drop --stream.")
    if wanted is not None:
        return wanted
    return found.format not in WHOLE_FORMATS and found.path.stat().st_size > STREAM_ABOVE


class Parts:
    """The chunks of a file as frames with the same columns, indexed by row number."""

    def __init__(
        self, path: Path, reading: ReadOptions, count: Count, rows: int | None = None
    ) -> None:
        self.path, self._reading, self._count = path, reading, count
        self._rows, self.names, self.n_rows = rows, list[str](), 0
        """Known after the first pass."""

    def __call__(
        self, as_text: Collection[str] = (), kept: np.ndarray[Any, Any] | None = None
    ) -> Iterator[Any]:
        """Yield the chunks; with `kept`, a mask over the rows of the file, only those rows."""
        if self._rows is None:
            self._rows = int(np.clip(CELLS // self.first_row().shape[1], FEWEST_ROWS, MOST_ROWS))
        for part in self._frames(self._rows, as_text):
            self._count(len(part))
            if kept is None:
                yield part
            elif (rows := kept[part.index]).any():
                # Names that no line of this part has are those of other lines (JSON).
                yield part.reindex(columns=self.names)[rows]

    def cells(self, name: str, rows: Collection[int]) -> list[Any]:
        """Return the cells of a column at these row numbers."""
        wanted = np.unique(np.asarray(rows, dtype=np.int64))
        found: dict[int, Any] = {}
        for part in self([name]):
            here = wanted[(wanted >= part.index[0]) & (wanted <= part.index[-1])]
            # A line of JSON may lack a name that others have.
            cells = part.reindex(columns=[name])[name].loc[here]
            found.update(zip(here.tolist(), cells.tolist(), strict=True))
        return [found[int(row)] for row in rows]

    def rows(self, rows: Collection[int], as_text: Collection[str] = ()) -> Any:
        """Return the rows with these numbers as a frame, in this order."""
        import pandas as pd

        wanted = np.unique(np.asarray(rows, dtype=np.int64))
        found = []
        for part in self(as_text):
            here = wanted[(wanted >= part.index[0]) & (wanted <= part.index[-1])]
            if len(here):
                found.append(part.loc[here].astype(object))
        return pd.concat(found).loc[list(rows)]

    def first_row(self) -> Any:
        """Return a frame with the first row only."""
        return next(self._frames(1, ()))

    def _frames(self, rows: int, as_text: Collection[str]) -> Iterator[Any]:
        return self._reading.parts(self.path, rows, as_text)
