"""Several columns of labels: votes, or something that only looks like them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from unconfused._labels import encode_labels, is_missing, label_array
from unconfused._typing import ArrayLike, FloatArray, IntArray, Labels
from unconfused.confusion.votes import Votes, votes_from_wide

FEWEST_ROWS = 30
"""Rows needed to tell whether columns answer the same question."""


def columns_as_votes(
    y: Any, *, classes: ArrayLike | None = None, missing_label: Any = "auto"
) -> Votes:
    """Collect votes from the columns of y; refuse what does not look like votes.

    Examples
    --------
    >>> columns_as_votes([[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    Traceback (most recent call last):
    ...
    ValueError: y looks like an indicator matrix: ...
    """
    if not sparse.issparse(y):
        _refuse_no_votes(np.asarray(y) if hasattr(y, "columns") else label_array(y), classes)
    return votes_from_wide(y, classes=classes, missing_label=missing_label)


def with_truth(
    votes: Votes,
    y_true: ArrayLike | None,
    classes: ArrayLike | None = None,
    missing_label: Any = "auto",
) -> tuple[Votes, IntArray]:
    """Give votes and gold labels common classes; return both coded by them."""
    gold = label_array([None] * votes.n_items if y_true is None else y_true)
    if gold.shape != (votes.n_items,):
        raise ValueError(
            f"y_true must hold one label per item: {votes.n_items}, not shape {gold.shape}."
        )
    named = classes
    if named is None and len(votes.classes) > 2:
        # With -1 among three classes or more, someone has already said that it is a class.
        named = votes.classes if -1 in votes.classes.tolist() else None
    # Both columns must be as long as the longer one: repeating the shorter changes no class.
    length = max(len(votes.classes), len(gold))
    shown = np.resize(votes.classes, length) if len(votes.classes) else np.full(length, None)
    filled = np.resize(gold, length) if len(gold) else np.full(length, None)
    encoded = encode_labels(shown, filled, classes=named, missing_label=missing_label)
    label = encoded.observed[: len(votes.classes)][votes.label]
    return replace(votes, label=label, classes=encoded.classes), encoded.truth[: len(gold)]


def _refuse_no_votes(table: Labels, classes: ArrayLike | None) -> None:
    if table.ndim != 2 or table.shape[1] < 2 or not table.size or table.dtype.kind not in "biufO":
        return
    if table.dtype.kind == "O" and any(isinstance(entry, str) for entry in table.ravel()):
        return  # classes have names, which may be written in digits
    try:
        numbers = np.where(is_missing(table), np.nan, table).astype(np.float64)
    except (TypeError, ValueError):
        return
    settle = (
        "If these are votes nevertheless, one column per annotator, say so with "
        "confusion.votes_from_wide(y)."
    )
    if np.any((numbers % 1 != 0) & np.isfinite(numbers)):
        raise ValueError(
            "y has several columns and holds fractions, which look like probabilities or other "
            "soft labels, not like classes that annotators named. Give the likeliest class of each "
            "row as y. For several models give a Votes object with a column per model: "
            "confusion.votes_from_wide(classes_by_model, weight=confidences). " + settle
        )
    if classes is not None:
        return  # who names the classes has said what the entries are
    if not np.isin(numbers, (0.0, 1.0)).all():
        if len(numbers) >= FEWEST_ROWS and np.ptp(numbers.sum(axis=1)) == 0 and np.ptp(numbers):
            raise ValueError(
                "y looks like counts of votes: every row has the same sum. Who gave each vote is "
                "needed, one column per annotator; with counts alone, give the most frequent class "
                "of each row, classes[y.argmax(axis=1)]. " + settle
            )
        return
    if np.all(numbers.sum(axis=1) == 1):
        raise ValueError(
            "y looks like an indicator matrix: every row holds one 1, in the column of its class. "
            "Give one label per row, as in classes[y.argmax(axis=1)]. " + settle
        )
    if len(numbers) >= FEWEST_ROWS and not _agree(numbers):
        raise ValueError(
            "y looks like a multi-label problem: its columns of 0 and 1 agree no more than by "
            "chance, so they do not answer the same question. Fit one model per column, each with "
            "its own confusion matrix; where all columns share one, "
            "sklearn.multioutput.MultiOutputClassifier(UnconfusedLogisticRegression(C)) does so. "
            + settle
        )


def _agree(table: FloatArray) -> bool:
    """Return whether columns correlate, in the mean, by more than a standard error."""
    varied = table[:, np.ptp(table, axis=0) > 0]
    if varied.shape[1] < 2:
        return True
    correlation = np.atleast_2d(np.corrcoef(varied, rowvar=False))
    pairs = correlation[np.triu_indices(varied.shape[1], k=1)]
    return bool(pairs.mean() > 1.0 / np.sqrt(len(table) * len(pairs)))
