"""Read svmlight in chunks: `iter_svmlight`."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from sklearn.datasets import load_svmlight_file

from unconfused._files.errors import DataFileError, reading
from unconfused._files.formats import TableFile
from unconfused._files.sparse import MOST_FEATURES, first_bad_line, refuse_extremes
from unconfused._typing import FloatArray

BLOCK = 16 * 2**20
"""Bytes read at a time; a line may be longer."""


def iter_svmlight(source: TableFile, block: int | None = None) -> Iterator[tuple[Any, FloatArray]]:
    r"""Yield CSR matrices, as wide as what they hold, and their labels.

    Features have the numbers they have in the file: whether they count from 0 or from 1 is known
    only at its end.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unconfused._files.formats import find_source
    >>> path = Path(tempfile.mkdtemp()) / "a.svm"
    >>> _ = path.write_text("1 2:0.5\n0 1:3\n")
    >>> [(X.shape, y.tolist()) for X, y in iter_svmlight(find_source(path), block=8)]
    [((1, 3), [1.0]), ((1, 2), [0.0])]
    """
    n_rows = 0
    with reading(source.path, source.name), source.open() as stream:
        while lines := _whole_lines(stream, block or BLOCK):
            try:
                X, y = load_svmlight_file(io.BytesIO(lines), zero_based=True)
            except MemoryError:
                raise
            except Exception as error:  # the parser does not say where
                raise DataFileError(first_bad_line(source, error)) from None
            if X.shape[1] > MOST_FEATURES:
                raise DataFileError(f"it has a feature numbered {X.shape[1]}; that is too many.")
            refuse_extremes(X, n_rows)
            n_rows += len(y)
            if len(y):  # not comments alone
                yield X, y


def _whole_lines(stream: Any, block: int) -> bytes:
    found = stream.read(block)
    return bytes(found) if not found or found.endswith(b"\n") else bytes(found + stream.readline())
