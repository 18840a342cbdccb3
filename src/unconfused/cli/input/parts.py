"""A file that is read part by part, several times: `Parts`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unconfused._files.formats import find_source
from unconfused._files.read import iter_tables
from unconfused.cli.input.label_options import ReadOptions

STREAM_ABOVE = 512 * 2**20
"""Bytes of a file above which `fit` streams it, unless the user says otherwise."""

CELLS = 2**22
"""Cells of a part, about: 32 MB if they are numbers."""

FEWEST_ROWS, MOST_ROWS = 2**8, 2**16
"""Rows of a part, however wide or narrow the table."""

WHOLE_FORMATS = ("npz",)
"""Formats that cannot be read in parts."""

Count = Callable[[int], None]
"""Told how many rows were read."""


def is_streamed(path: Path, reading: ReadOptions, wanted: bool | None) -> bool:
    """Decide whether to read a file in parts: as the user says, else by its size."""
    found = find_source(path, reading.format)
    if wanted and found.format in WHOLE_FORMATS:
        raise ValueError(f"{path}: {found.name} cannot be read in parts, so --stream cannot be.")
    if wanted is not None:
        return wanted
    return found.format not in WHOLE_FORMATS and found.path.stat().st_size > STREAM_ABOVE


class Parts:
    """The frames of a file, all with the same columns, their index that of the rows."""

    def __init__(
        self, path: Path, reading: ReadOptions, count: Count, rows: int | None = None
    ) -> None:
        self.path, self._reading, self._count = path, reading, count
        self._rows, self.names, self.n_rows = rows, list[str](), 0
        """Of the columns and rows: known after the first reading."""

    def __call__(
        self, as_text: Collection[str] = (), kept: np.ndarray[Any, Any] | None = None
    ) -> Iterator[Any]:
        """Yield the frames; with `kept`, a truth value per row of the file, only those rows."""
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
        """Return the cells of a column in these rows, by their numbers in the file."""
        wanted = np.unique(np.asarray(rows, dtype=np.int64))
        found: dict[int, Any] = {}
        for part in self([name]):
            here = wanted[(wanted >= part.index[0]) & (wanted <= part.index[-1])]
            # A line of JSON may lack a name that others have.
            cells = part.reindex(columns=[name])[name].loc[here]
            found.update(zip(here.tolist(), cells.tolist(), strict=True))
        return [found[int(row)] for row in rows]

    def first_row(self) -> Any:
        """Return a frame with the first row alone."""
        return next(self._frames(1, ()))

    def _frames(self, rows: int, as_text: Collection[str]) -> Iterator[Any]:
        return iter_tables(
            self.path,
            rows=rows,
            as_text=as_text,
            format=self._reading.format,
            encoding=self._reading.encoding,
            delimiter=self._reading.delimiter,
        )
