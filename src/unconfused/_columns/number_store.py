"""Columns of numbers on disk: written by blocks of rows, read one column at a time."""

from __future__ import annotations

from typing import IO

import numpy as np

from unconfused._typing import FloatArray


class NumberStore:
    """Columns larger than memory, each of which fits.

    Parameters
    ----------
    file : open for reading and writing bytes, empty

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     store = NumberStore(file)
    ...     store.add({"a": np.array([1.0, 2.0]), "b": np.array([5.0, 6.0])}, 2)
    ...     store.add({"a": np.array([3.0])}, 1)
    ...     store.column("a"), store.column("b")
    (array([1., 2., 3.]), array([ 5.,  6., nan]))
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._blocks: list[tuple[int, dict[str, int]]] = []
        """The rows of each block, and where each column of it begins."""

    def add(self, columns: dict[str, FloatArray], n_rows: int) -> None:
        """Write a block of rows; a column that it lacks is missing in all of them."""
        starts: dict[str, int] = {}
        for name, column in columns.items():
            starts[name] = self._file.tell()
            self._file.write(np.ascontiguousarray(column, dtype=np.float64).tobytes())
        self._blocks.append((n_rows, starts))

    def column(self, name: str) -> FloatArray:
        """Read a column."""
        found = np.full(sum(n_rows for n_rows, _ in self._blocks), np.nan)
        begun = 0
        for n_rows, starts in self._blocks:
            if name in starts:
                self._file.seek(starts[name])
                found[begun : begun + n_rows] = np.frombuffer(self._file.read(8 * n_rows))
            begun += n_rows
        self._file.seek(0, 2)  # where the next block goes
        return found
