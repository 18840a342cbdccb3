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

MOST = 2**31 - 1
"""Entries of a sparse matrix: more need wider indices."""


class DiskRows:
    """Append blocks of rows, dense or sparse, and get one memory-mapped matrix.

    When `files` are closed, the disk space is free again.
    """

    def __init__(self, folder: Path, files: contextlib.ExitStack, *, is_sparse: bool) -> None:
        self._folder, self._files, self._is_sparse = folder, files, is_sparse
        self._values, self._columns = self._new_file(), self._new_file()
        self._ends = [np.zeros(1, dtype=np.int64)]
        self._n_rows = self._n_values = 0

    def _new_file(self) -> IO[bytes]:
        """Return an anonymous file, gone when it is closed or the process dies."""
        with _in_words(self._folder):
            return self._files.enter_context(
                tempfile.TemporaryFile(dir=self._folder, prefix=".unconfused-")
            )

    def append(self, rows: Any) -> None:
        """Append rows."""
        with _in_words(self._folder):
            if self._is_sparse:
                rows = sparse.csr_matrix(rows)
                rows.sort_indices()
                self._ends.append(rows.indptr[1:] + np.int64(self._n_values))
                self._columns.write(rows.indices.astype(np.int32).tobytes())
            values = rows.data if self._is_sparse else np.asarray(rows)
            self._values.write(values.astype(np.float64, order="C").tobytes())
        self._n_rows += rows.shape[0]
        self._n_values += values.size
        if self._is_sparse and self._n_values > MOST:
            raise DataFileError(
                f"The features of these rows have more than {MOST:,} entries; take fewer rows, or "
                "leave out columns of text and categories."
            )

    def matrix(self, width: int) -> Any:
        """Return all rows: an array, or a CSR matrix."""
        values = self._mapped(self._values, np.float64)
        if not self._is_sparse:
            return values.reshape(self._n_rows, width)
        # Indices all of one type: SciPy would copy them into memory to make them so.
        columns = self._mapped(self._columns, np.int32)
        ends = np.concatenate(self._ends).astype(np.int32)
        return sparse.csr_matrix((values, columns, ends), shape=(self._n_rows, width))

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
