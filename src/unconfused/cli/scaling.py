"""How the columns of a file without names are scaled, if at all."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler

EQUAL_LENGTHS = 0.01
"""Rows are of one length if the longest is longer than the shortest by no more than this part."""


class SparseColumns:
    """What must be known of sparse rows to scale them, from the rows part by part.

    Columns are divided by their largest entry, unless all rows are of one length: then someone has
    weighed the columns already, as TF-IDF does, and dividing would make the rarest words as large
    as all others.

    Examples
    --------
    >>> rows = sparse.csr_matrix([[3.0, 4.0], [5.0, 0.0], [0.0, 0.0]])
    >>> columns = SparseColumns(2)
    >>> columns.add(rows)
    >>> columns.all_of_one_length()
    True
    >>> columns.add(rows * 2)
    >>> columns.scaler().scale_
    array([10.,  8.])
    """

    def __init__(self, width: int) -> None:
        self._largest = np.zeros(width)
        self._shortest, self._longest = np.inf, 0.0

    def add(self, rows: Any) -> None:
        """Look at some rows more."""
        np.maximum.at(self._largest, rows.indices, np.abs(rows.data))
        # Counts come as integers, small ones whose squares would overflow.
        squares = rows.data.astype(np.float64) ** 2
        squares = sparse.csr_matrix((squares, rows.indices, rows.indptr), rows.shape)
        lengths = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
        lengths = lengths[lengths > 0]
        if len(lengths) > 0:
            self._shortest = min(self._shortest, float(lengths.min()))
            self._longest = max(self._longest, float(lengths.max()))

    def scaler(self) -> Any:
        """Return the step of a pipeline, fitted."""
        scaler = as_they_are() if self.all_of_one_length() else MaxAbsScaler()
        return scaler.fit(sparse.csr_matrix(self._largest))

    def all_of_one_length(self) -> bool:
        """Return whether all rows but empty ones have the same length."""
        return self._longest <= (1.0 + EQUAL_LENGTHS) * self._shortest


def as_they_are() -> FunctionTransformer:
    """Return the step that leaves rows alone; unlike "passthrough" it knows how many columns."""
    return FunctionTransformer(accept_sparse=True)


def scaler_for(rows: Any, as_is: bool) -> Any:
    """Return the step of a pipeline that scales these rows, not fitted."""
    if as_is:
        return as_they_are()
    if not sparse.issparse(rows):
        return StandardScaler()
    columns = SparseColumns(rows.shape[1])
    columns.add(rows.tocsr())
    return as_they_are() if columns.all_of_one_length() else MaxAbsScaler()
