"""Rows without column names: svmlight and NPZ."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from unconfused._files import DataFileError, LabelledRows, TableFile, reading
from unconfused._text import one_line
from unconfused._typing import Labels

SPARSE_PARTS = {"format", "data", "shape"}
"""What scipy.sparse.save_npz writes, among other things."""

MOST_FEATURES = 2**31 - 1

LARGEST = 1e150
"""Larger numbers have squares that overflow."""


def read_svmlight(source: TableFile) -> LabelledRows:
    """Read lines such as ``1 3:0.5 7:2``: a label, then features that are not zero."""
    with reading(source.path, source.name), source.open() as stream:
        try:
            X, y = load_svmlight_file(stream)
        except MemoryError:
            raise
        except Exception as error:  # the parser does not say where
            raise DataFileError(first_bad_line(source, error)) from None
        if X.shape[1] > MOST_FEATURES:
            raise DataFileError(f"it has a feature numbered {X.shape[1]}; that is too many.")
        if not X.shape[0]:
            raise DataFileError("it holds no rows.")
        refuse_extremes(X)
        return LabelledRows(X, plain_labels(y))


def refuse_extremes(X: Any) -> None:
    """Raise if an entry is not finite, or its square is not; NaN in a dense matrix is missing."""
    if X.dtype.kind != "f":
        return
    if sparse.issparse(X):
        wrong = np.flatnonzero(~(np.abs(X.data) <= LARGEST))
        rows, values = np.searchsorted(X.indptr, wrong, side="right") - 1, X.data[wrong]
    else:
        far = np.abs(X) > LARGEST
        rows, values = far.nonzero()[0], X[far]
    if len(rows):
        raise DataFileError(
            f"row {rows[0]} (from 0) holds {values[0]:g}, which no learner can take. "
            "Correct it, or leave the row out."
        )


def plain_labels(y: Labels) -> Labels:
    """Return svmlight labels as integers, if all are whole."""
    if not np.isfinite(y).all():
        raise DataFileError("it has labels that are not finite numbers.")
    whole = np.all(y == np.round(y)) and np.all(np.abs(y) < 2**53)
    return y.astype(np.int64) if whole else y


def first_bad_line(source: TableFile, error: Exception) -> str:
    """Describe the first line that the parser does not take by itself."""
    with source.open() as stream:
        for number, line in enumerate(stream, start=1):
            try:
                load_svmlight_file(io.BytesIO(line))
            except Exception as why:
                said = line[:60].decode(errors="replace").strip()
                return (
                    f"line {number} is {said!r} ({one_line(why)}); a line must be a number, the "
                    "label, and then pairs FEATURE:VALUE of numbers, features rising. Labels that "
                    "are words need numbers, or a CSV file."
                )
    return f"it is not well formed ({error})."


def read_npz(source: TableFile) -> LabelledRows:
    """Read arrays ``X`` and ``y``, or what `scipy.sparse.save_npz` wrote."""
    with (
        reading(source.path, source.name),
        source.open() as stream,  # NumPy would leave a damaged file open
        np.load(stream, allow_pickle=False) as file,
    ):
        names = set(file.files)
        X: Any
        if names >= SPARSE_PARTS:
            X = sparse.csr_matrix(sparse.load_npz(source.path))
            # A damaged file may hold indices that point anywhere: look before they are followed.
            X.check_format(full_check=True)
        elif "X" in names:
            X = file["X"]
        else:
            raise DataFileError(
                f"it holds {', '.join(sorted(names)[:6]) or 'nothing'}; it must hold X, and y if "
                "there are labels, or be written by scipy.sparse.save_npz."
            )
        if X.ndim != 2 or X.dtype.kind not in "fiub":
            raise DataFileError(
                f"X must be a table of numbers; it has {X.ndim} dimensions of type {X.dtype}."
            )
        y = file["y"] if "y" in names else None
        if not X.shape[0]:
            raise DataFileError("it holds no rows.")
        if y is not None and y.shape != (X.shape[0],):
            raise DataFileError(f"y has shape {y.shape}, but X has {X.shape[0]} rows.")
        refuse_extremes(X)
        return LabelledRows(X, y)
