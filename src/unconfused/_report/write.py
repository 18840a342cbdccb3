"""The report as a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from unconfused._atomic import refuse_target
from unconfused._report.gather import gather
from unconfused._report.html.page import write_page
from unconfused._report.tables import listing_of
from unconfused._typing import ArrayLike, Seed


def write_report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    y_true: ArrayLike | None = None,
    row_columns: Any = None,
    row_text: str | None = None,
    title: str | None = None,
    force: bool = False,
    max_rows: int = 1000,
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
    row_columns : frame with a line for each row, by default `X`. Its first eight columns are shown,
        its index names the rows, if it has one of its own, and its content identifies the row in a
        verdict file
    row_text : column of it that holds longer texts
    title : shown at the top
    force : overwrite an existing file
    max_rows : maximum number of rows to list
    sensitivity : whether to show what other matrices would change
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
    data = gather(
        model,
        X,
        y,
        y_true=y_true,
        listing=listing_of(X, row_columns, row_text, max_rows),
        title=title,
        sensitivity=sensitivity,
        random_state=random_state,
    )
    return write_page(data, path, force=force)
