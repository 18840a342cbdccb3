"""The confusion of a classifier, from predictions on rows it was not trained on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples, has_fit_parameter

from unconfused._arguments import check_weight
from unconfused._arguments import random_state as make_random_state
from unconfused._labels import MISSING, count_pairs, encode_labels, refuse_other_length
from unconfused._pipelines import aligned_columns
from unconfused._typing import ArrayLike, FloatArray, IntArray, Labels, Rows, Seed
from unconfused.confusion.estimate import ConfusionEstimate, name_classes, refuse_uncounted

Split = tuple[IntArray, IntArray]

ROWS_AT_A_TIME = 2**16
"""Test rows that are predicted at a time: they may not fit into memory together."""


def from_cross_validation(
    estimator: Any,
    X: Rows,
    y_true: ArrayLike,
    *,
    cv: int | Any = 5,
    sample_weight: ArrayLike | None = None,
    smoothing: float = 0.0,
    classes: ArrayLike | None = None,
    missing_label: Any = "auto",
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> ConfusionEstimate:
    r"""Estimate the confusion matrix of a classifier by cross-validation.

    Use it for labels that a classifier has predicted, whose mistakes are then the label noise. An
    example is a classifier trained on the few rows with a known truth (Example 1 of Louche and
    Ralaivola). As the classifier of each fold is trained on fewer rows than the final one, the
    noise is slightly overestimated; more folds reduce that.

    Parameters
    ----------
    estimator : the classifier that makes the labels; it is cloned
    X : array, sparse matrix or frame, one row per label
    y_true : the truth; rows where it is missing (None, NaN) are left out
    cv : number of stratified folds, or a splitter or list of splits that tests each row once. With
        fewer rows of every class than folds, there are as many folds as the largest class has rows
    sample_weight : frequency weight of every row, also passed to `fit` if that takes weights
    smoothing : added to every count. With 0, a class without any row is an error
    classes : all classes, if `y_true` may not show every one
    missing_label : a value that means "missing" besides None and NaN
    random_state : seed of the shuffling into folds
    n_jobs : number of folds fitted in parallel, as in joblib

    Returns
    -------
    ConfusionEstimate

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> print(from_cross_validation(GaussianNB(), X, y, random_state=0))
    true \ observed      0     1     2
    0                 1.00  0.00  0.00
    1                 0.00  0.94  0.06
    2                 0.00  0.06  0.94
    150 counts, noise rate 0.04, condition number 1.14
    Precise enough to learn with: entries are known to within 0.07.
    """
    n_rows = _num_samples(X)
    X, truth, names, known = labelled_rows(X, y_true, "y_true", classes, missing_label)
    weight = check_weight(sample_weight, n_rows)[known]
    takes_weights = sample_weight is not None and has_fit_parameter(estimator, "sample_weight")
    params = {"sample_weight": weight} if takes_weights else {}
    splits = make_folds(truth, names, cv, random_state)
    predicted = out_of_fold(
        estimator, X, names[truth], splits, _predictions, params=params, n_jobs=n_jobs
    )
    codes = encode_labels(predicted, classes=names, missing_label=None).observed
    counts = count_pairs(truth, codes, len(names), weight)
    if smoothing == 0:
        refuse_uncounted(counts, names, "no row is known to be of that class.")
    return ConfusionEstimate.from_counts(counts, names, smoothing)


def labelled_rows(
    X: Rows, y: ArrayLike, name: str, classes: ArrayLike | None, missing_label: Any
) -> tuple[Rows, IntArray, Labels, IntArray]:
    """Return the rows with a label, its codes, the classes, and the indices of these rows."""
    labels = encode_labels(y, classes=classes, missing_label=missing_label)
    (X,) = indexable(X)
    refuse_other_length(_num_samples(X), len(labels.observed), second=name)
    known = np.flatnonzero(labels.observed != MISSING)
    return _safe_indexing(X, known), labels.observed[known], labels.classes, known


def make_folds(
    codes: IntArray, classes: Labels, cv: Any, seed: Seed, anchored: IntArray | None = None
) -> list[Split]:
    """Split rows into training and test parts, so that each row is tested once.

    A class with fewer rows than folds is absent from some test parts, never from training.
    `anchored` are codes of further rows, which the caller adds to every training part.
    """
    sizes = np.bincount(codes, minlength=len(classes))
    rows_besides = np.bincount(() if anchored is None else anchored, minlength=len(classes))
    if not len(codes) or np.count_nonzero(sizes + rows_besides) < 2:
        raise ValueError(
            f"Cross-validation needs labelled rows of at least two classes; there are {len(codes)} "
            f"labelled rows, of {name_classes(classes[sizes > 0]) if len(codes) else 'no class'}."
        )
    if not isinstance(cv, Integral):
        return given_splits(cv, codes)
    if cv < 2:
        raise ValueError(f"cv must be at least 2 folds; got {cv}.")
    alone = (sizes == 1) & (rows_besides == 0)
    if np.any(alone):
        raise ValueError(
            f"There is only one row of {name_classes(classes[alone])}: left out for testing, "
            "it leaves none to learn from. Add rows of that class, or leave that row out."
        )
    return stratified_folds(codes, min(int(cv), int(sizes.max())), make_random_state(seed))


def stratified_folds(codes: IntArray, n_folds: int, seed: Seed) -> list[Split]:
    """Split rows into stratified folds, or at random if every class is smaller than `n_folds`.

    Unlike scikit-learn, this does not warn of classes with fewer rows than folds.
    """
    enough = np.bincount(codes).max() >= n_folds
    folds = (StratifiedKFold if enough else KFold)(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return list(folds.split(np.zeros(len(codes)), codes))


def given_splits(cv: Any, codes: IntArray) -> list[Split]:
    """Return a splitter's or a user's splits as indices; each row must be tested once."""
    rows = np.arange(len(codes))
    try:
        splits = list(check_cv(cv, codes, classifier=True).split(codes, codes))
    except ValueError as error:
        if "groups" not in str(error):
            raise
        raise ValueError(
            "These folds need groups: pass the splits, as in cv=list(cv.split(X, y, groups))."
        ) from None
    places = [(rows[train], rows[test]) for train, test in splits]
    tested = np.concatenate([rows[:0], *(test for _, test in places)])
    if not np.array_equal(np.sort(tested), rows):
        raise ValueError(
            "cv must test every row exactly once; these splits do not. Pass a number of folds, "
            "StratifiedKFold(...), or a list of such (train, test) splits."
        )
    return places


def out_of_fold(
    estimator: Any,
    X: Rows,
    y: Any,
    splits: Iterable[Split],
    read: Callable[[Any, Rows, IntArray], Any],
    *,
    params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
) -> Any:
    """Fit a clone on every training part and return what `read` finds on the test rows, by row.

    `read` gets the fitted clone, some test rows and their indices, and must be picklable. `params`
    are arguments of `fit` with one entry per row. Rows that no split tests get 0.
    """
    splits, given = list(splits), params or {}
    parts = Parallel(n_jobs=n_jobs)(
        delayed(_fit_and_read)(clone(estimator), X, y, train, test, given, read)
        for train, test in splits
    )
    found = np.concatenate(parts)
    table = np.zeros((_num_samples(X), *found.shape[1:]), dtype=found.dtype)
    table[np.concatenate([test for _, test in splits])] = found
    return table


def _fit_and_read(
    estimator: Any,
    X: Rows,
    y: Any,
    train: IntArray,
    test: IntArray,
    params: Mapping[str, Any],
    read: Callable[[Any, Rows, IntArray], Any],
) -> Any:
    taken = {name: values[train] for name, values in params.items()}
    fitted = estimator.fit(_safe_indexing(X, train), y[train], **taken)
    blocks = np.array_split(test, max(1, -(-len(test) // ROWS_AT_A_TIME)))
    return np.concatenate([read(fitted, _safe_indexing(X, rows), rows) for rows in blocks])


def _predictions(fitted: Any, X: Rows, test: IntArray) -> Labels:
    return np.asarray(fitted.predict(X))


def class_probabilities(fitted: Any, X: Rows, test: IntArray, *, classes: Labels) -> FloatArray:
    """Return a model's probabilities, (n, Q); for `out_of_fold`."""
    return aligned_columns(fitted.predict_proba(X), fitted, classes)
