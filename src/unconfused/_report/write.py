"""The report as a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples

from unconfused._atomic import refuse_target
from unconfused._report.gather import gather
from unconfused._report.html.page import write_page
from unconfused._report.tables import RowContents, RowListing
from unconfused._typing import ArrayLike, Seed


def _contents(X: Any, row_columns: Any) -> RowContents:
    (rows,) = indexable(X if row_columns is None else row_columns)
    if row_columns is not None and len(rows) != _num_samples(X):
        raise ValueError(f"row_columns has {len(rows)} rows, and X another number.")
    return RowContents(lambda some: _safe_indexing(rows, some))


def write_report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    y_true: ArrayLike | None = None,
    row_names: ArrayLike | None = None,
    row_text: ArrayLike | None = None,
    row_columns: Any = None,
    title: str | None = None,
    force: bool = False,
    max_rows: int = 1000,
    cross_fit: bool = True,
    sensitivity: bool = True,
    random_state: Seed = None,
) -> Path:
    """Write one HTML file that shows how wrong the labels are, where, and which rows to check.

    The file works offline. It shows the share of wrong labels, the confusion matrix, class shares
    before and after correction, the rows to check first (sortable and filterable), how the fit
    converged, whether its probabilities are calibrated, how sensitive the results are to the
    matrix, and the settings to reproduce them. Rows can be kept, changed or skipped in the page,
    and these verdicts downloaded as a file (see ``docs/review.md``). Labels, names and texts are
    escaped.

    Each row is scored by a model fitted without it, which takes five more fits with the model's
    matrix. If the model took all labels as right, the matrix is estimated from the labels alone
    (`confusion.from_noisy`), and the page says so. UMA has no probabilities: its rows are ranked by
    a logistic regression through the same matrix.

    Parameters
    ----------
    model : fitted UnconfusedLogisticRegression, UnconfusedClassifier or UMAClassifier, or a
        Pipeline that ends in one
    X, y : rows and their labels, or votes; usually those the model was fitted to
    path : output file
    y_true : the truth where known, missing elsewhere
    row_names : a name for each row; by default the index of a frame, if it has one of its own
    row_text : a text to show for each row, shortened if long; by default `X`, if it holds texts
    row_columns : frame with a line for each row. Its first eight columns are shown, and its content
        identifies the row in a verdict file. By default `X`, if it has named columns
    title : shown at the top
    force : overwrite an existing file
    max_rows : maximum number of rows to list
    cross_fit : score rows by models that have not seen them. False fits once, on all rows: faster,
        but finds fewer wrong labels
    sensitivity : whether to fit again with other matrices, on at most 5,000 rows
    random_state : seed of folds and samples, shown on the page

    Returns
    -------
    The path. The file is written completely or not at all.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from unconfused import UnconfusedLogisticRegression, noise, write_report
    >>> X, y = load_iris(return_X_y=True)
    >>> C = noise.pairwise(3, 0.2)
    >>> seen = noise.corrupt_labels(y, C, random_state=0)
    >>> model = UnconfusedLogisticRegression(C).fit(X, seen)
    >>> with TemporaryDirectory() as folder:
    ...     path = write_report(model, X, seen, Path(folder) / "report.html", random_state=0)
    ...     print("of the labels are probably wrong" in path.read_text(encoding="utf-8"))
    True
    """
    refuse_target(Path(path), force=force)  # before the work, not after it
    if row_text is None and np.ndim(X) == 1:
        row_text = X
    data = gather(
        model,
        X,
        y,
        y_true=y_true,
        listing=RowListing(max_rows, row_names, row_text, _contents(X, row_columns)),
        title=title,
        cross_fit=cross_fit,
        sensitivity=sensitivity,
        random_state=random_state,
    )
    return write_page(data, path, force=force)
