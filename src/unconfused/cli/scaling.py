"""Pipelines for files without column names, and how these are scaled."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler

EQUAL_LENGTHS = 0.01
"""Relative difference up to which row norms count as equal."""


class SparseColumns:
    """Statistics for scaling sparse rows, collected chunk by chunk.

    Columns are divided by their largest entry, unless all rows are of one length: then someone has
    weighed the columns already, as TF-IDF does, and dividing would make the rarest words as large
    as all others.
    """

    def __init__(self, width: int) -> None:
        self._largest = np.zeros(width)
        self._shortest, self._longest = np.inf, 0.0

    def add(self, rows: Any) -> None:
        """Add a chunk."""
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
        """Return the fitted scaler."""
        scaler = as_they_are() if self.all_of_one_length() else MaxAbsScaler()
        return scaler.fit(sparse.csr_matrix(self._largest))

    def all_of_one_length(self) -> bool:
        """Return whether all non-empty rows have the same norm."""
        return self._longest <= (1.0 + EQUAL_LENGTHS) * self._shortest


def as_they_are() -> FunctionTransformer:
    """Return an identity step; unlike "passthrough" it checks the number of columns."""
    return FunctionTransformer(accept_sparse=True)


def scaler_for(rows: Any, as_is: bool) -> Any:
    """Return an unfitted scaler for these rows."""
    if as_is:
        return as_they_are()
    if not sparse.issparse(rows):
        return StandardScaler()
    columns = SparseColumns(rows.shape[1])
    columns.add(rows.tocsr())
    return as_they_are() if columns.all_of_one_length() else MaxAbsScaler()


def plain_pipeline(rows: Any, learner: Any, *, as_is: bool, for_trees: bool) -> Pipeline:
    """Return the pipeline for rows without column names."""
    if for_trees:  # trees split gaps off like any value, and need no scales
        return Pipeline([("scale", as_they_are()), ("learner", learner)])
    steps = [("scale", scaler_for(rows, as_is)), ("learner", learner)]
    if sparse.issparse(rows):
        return Pipeline(steps)
    return Pipeline([("fill", SimpleImputer(strategy="median", keep_empty_features=True)), *steps])
