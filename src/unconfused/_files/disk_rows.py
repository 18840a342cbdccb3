"""A memory-mapped feature matrix, written in blocks: `DiskRows`."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from unconfused._files import DataFileError


@contextlib.contextmanager
def scratch_file(folder: Path) -> Iterator[IO[bytes]]:
    """Yield an anonymous file, gone when it is closed or the process dies."""
    with _in_words(folder), tempfile.TemporaryFile(dir=folder, prefix=".unconfused-") as file:
        yield file


class DiskRows:
    """Append blocks of rows, and get one memory-mapped matrix; its files have no names.

    `n_nonzero` is how many entries a sparse matrix will have; None makes a dense one.
    """

    def __init__(self, folder: Path, width: int, n_nonzero: int | None = None) -> None:
        self._folder, self._width, self._is_sparse = folder, width, n_nonzero is not None
        # Indices all of one type: SciPy would copy them into memory to make them so.
        self._index = np.int64 if n_nonzero and n_nonzero >= 2**31 else np.int32
        self._ends = [np.zeros(1, dtype=self._index)]
        self._files = contextlib.ExitStack()
        self._values = self._files.enter_context(scratch_file(folder))
        self._columns = self._files.enter_context(scratch_file(folder))
        self._n_rows = self._n_values = 0

    def __enter__(self) -> DiskRows:
        """Return the rows themselves."""
        return self

    def __exit__(self, *error: object) -> None:
        """Free the disk space."""
        self._files.close()

    def append(self, rows: Any) -> None:
        """Append rows."""
        with _in_words(self._folder):
            if self._is_sparse:
                rows = sparse.csr_matrix(rows)
                rows.sort_indices()
                self._ends.append((rows.indptr[1:] + self._n_values).astype(self._index))
                self._columns.write(rows.indices.astype(self._index).tobytes())
                values = rows.data
            else:
                values = np.asarray(rows)
            self._values.write(values.astype(np.float64, order="C").tobytes())
        self._n_rows += rows.shape[0]
        self._n_values += values.size

    def matrix(self) -> Any:
        """Return all rows: an array, or a CSR matrix, in which values may be changed."""
        values = self._mapped(self._values, np.float64)
        if not self._is_sparse:
            return values.reshape(self._n_rows, self._width)
        parts = values, self._mapped(self._columns, self._index), np.concatenate(self._ends)
        return sparse.csr_matrix(parts, shape=(self._n_rows, self._width), copy=False)

    def _mapped(self, file: IO[bytes], kind: Any) -> Any:
        if not self._n_values:
            return np.empty(0, kind)
        with _in_words(self._folder):
            file.flush()
        return np.memmap(file, dtype=kind, mode="r+", shape=(self._n_values,))


@contextlib.contextmanager
def _in_words(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataFileError(
            f"The rows cannot be kept in {folder} meanwhile ({error.strerror or error}); "
            "choose another place."
        ) from None
