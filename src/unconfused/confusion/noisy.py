"""The confusion matrix from noisy labels alone, without any truth."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from unconfused._arguments import check_not_negative
from unconfused._typing import ArrayLike, BoolArray, FloatArray, IntArray, Labels, Rows, Seed
from unconfused.confusion.cross_validated import (
    Split,
    class_probabilities,
    labelled_rows,
    make_folds,
    out_of_fold,
)
from unconfused.confusion.estimate import (
    ConfusionEstimate,
    name_classes,
    refuse_uncounted,
)
from unconfused.confusion.estimation.calibration import sharpened
from unconfused.confusion.estimation.class_probabilities import guess_counts, unmix_probabilities
from unconfused.confusion.estimation.neighbours import (
    Neighbourly,
    from_neighbours,
    label_log_likelihood,
)
from unconfused.confusion.estimation.pooled import shrink_to_symmetric

CAVEAT = "No true labels were known: check some rows of every class by hand before relying on it."

INVERSE_PENALTIES = (0.01, 0.1, 1.0)
"""What the default model's `C` is chosen from, by the likelihood of the labels left out."""

ROWS_TO_COMPARE_BY = 1000
"""It is chosen on the fewest folds that hold this many rows."""

TOLD_APART = 0.75
"""Mean probability of a class among the rows predicted to be of it, below which the class overlaps
others. Settled on Digits and Reuters."""


def from_noisy(
    X: Rows,
    y: ArrayLike,
    *,
    estimator: Any = None,
    method: Literal["auto", "confident", "neighbours"] = "auto",
    cv: int | Any = 5,
    n_rounds: int = 3,
    smoothing: float = 0.0,
    classes: ArrayLike | None = None,
    missing_label: Any = "auto",
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> ConfusionEstimate:
    """Estimate the confusion matrix from features and noisy labels alone.

    Use it if nothing is known about the noise; with trusted rows, use `from_trusted`. There are two
    estimates, and the one that predicts held-out labels better is returned; `caveat` says which.

    - A model of the noisy labels predicts every row out of fold. A row counts as truly of class q
      if its probability of q is at least the average among the rows labelled q. These rows,
      cross-tabulated with the labels, are the first estimate (the confident joint of Northcutt,
      Jiang and Chuang, 2021). Each further round corrects the probabilities by the current estimate
      and counts again.
    - For numeric rows, such as embeddings, the labels of nearest neighbours are compared (the
      consensus equations of Zhu, Song and Liu, 2021). This assumes that neighbours share a class.
      Remove duplicate rows first, because they agree with each other whatever their class.

    Counts are scaled to the label frequencies of `y`, and shrunk towards mistakes that are spread
    evenly, as far as the counts of all classes agree with that.

    **Limitations.** As no truth is known, the estimate fails

    - if more than half of a class has the label of one other class: the two are swapped, which only
      trusted rows can show;
    - if mistakes depend on the features, so that the model learns them;
    - if the noise is so strong, or the rows so few, that the model predicts the noisy labels hardly
      better than their frequencies do;
    - if classes overlap: rows of one class that resemble another are mistaken for wrong labels.

    Intervals show the sampling error only, as if the estimated truths were known. The error of an
    entry can be several times as large. The verdict names doubtful classes: those that are rare
    compared with the wrong labels of another class, and those that overlap others.

    Parameters
    ----------
    X : array, sparse matrix or frame
    y : noisy labels; rows where they are missing (None, NaN) are left out
    estimator : a classifier with `predict_proba`. By default a logistic regression on scaled
        features, with one of three penalties, chosen by the likelihood of held-out labels
    method : "confident" (rows that a model is sure of), "neighbours", or "auto": the better of the
        two, or "confident" if there is an `estimator`
    cv : number of stratified folds, or a splitter that tests every row once
    n_rounds : number of rounds after the first estimate
    smoothing : added to every count. With 0, a class without counted rows is an error; with more,
        it is assumed to be mislabelled like the others
    classes : all classes, if `y` may not show every one
    missing_label : a value that means "missing" besides None and NaN
    random_state : seed of the shuffling into folds
    n_jobs : number of folds fitted in parallel, as in joblib

    Returns
    -------
    ConfusionEstimate

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from unconfused.noise import corrupt_labels
    >>> X, truth = make_blobs(900, centers=3, cluster_std=1.0, random_state=1)
    >>> y = corrupt_labels(truth, [[0.7, 0.3, 0.0], [0.0, 0.9, 0.1], [0.0, 0.0, 1.0]], 0)
    >>> from_noisy(X, y, random_state=0).matrix.round(1)
    array([[0.7, 0.3, 0. ],
           [0. , 0.9, 0.1],
           [0. , 0. , 1. ]])
    """
    if method not in ("auto", "confident", "neighbours"):
        raise ValueError(f"method must be 'auto', 'confident' or 'neighbours'; got {method!r}.")
    check_not_negative(smoothing, "smoothing")
    X, observed, names, _ = labelled_rows(X, y, "y", classes, missing_label)
    confident = method == "confident" or (method == "auto" and estimator is not None)
    near = None if confident else from_neighbours(X, observed, len(names))
    if method == "neighbours":
        if near is None:
            raise ValueError(
                "Neighbours cannot say how labels are confused: the rows are not all numbers, too "
                "few, or too mixed to keep every class. Use method='confident'."
            )
        return ConfusionEstimate(near.matrix, near.counts, names, caveat=CAVEAT)
    splits = make_folds(observed, names, cv, random_state)
    probability = left_out_probabilities(estimator, X, observed, names, splits, n_jobs)
    return estimate_from(probability, observed, names, near, n_rounds, smoothing)


def estimate_from(
    probability: FloatArray,
    observed: IntArray,
    classes: Labels,
    near: Neighbourly | None = None,
    n_rounds: int = 3,
    smoothing: float = 0.0,
) -> ConfusionEstimate:
    """Return the estimate of `from_noisy` from out-of-fold probabilities of the labels, (n, Q).

    That of neighbours, `near`, is returned if it predicts the labels better.
    """
    counts = guess_counts(probability, observed, n_rounds)
    matrix, which = shrink_to_symmetric(counts, smoothing), ""
    if near is not None:
        score = label_log_likelihood(unmix_probabilities(probability, matrix), matrix, observed)
        (worse, other), (better, best) = sorted(
            [(score, "confident predictions"), (near.score, "the labels of nearest neighbours")]
        )
        which = (
            f" Of two estimates, the one from {best} is used: it predicts held-out labels "
            f"better (log-likelihood {better:.3f} per row) than the one from {other} ({worse:.3f})."
        )
        if near.score > score:
            matrix, counts = shrink_to_symmetric(near.counts, smoothing), near.counts
    caveat, doubted = CAVEAT, classes[_doubted(probability, observed, counts, matrix)]
    if len(doubted):
        caveat += (
            f" It is least reliable for {name_classes(doubted)}, which may be rarer than the wrong "
            "labels of another class, or overlap with other classes."
        )
    if smoothing == 0:
        refuse_uncounted(counts, classes, "no row is clearly of that class.")
    return ConfusionEstimate(matrix, counts, classes, caveat=caveat + which)


def _doubted(
    probability: FloatArray, observed: IntArray, counts: FloatArray, matrix: FloatArray
) -> BoolArray:
    """Return the classes whose rows of the matrix may be far off, whatever their counts.

    A class is doubted if it has fewer rows than some other class has wrong labels, because these
    may have been taken for it. It is also doubted if rows predicted to be of this class are hardly
    more likely of it than of another, because their counts are then mixed.
    """
    n_classes, labels = len(counts), counts.sum(axis=1)
    others = np.where(np.eye(n_classes) > 0, 0.0, labels - np.diag(counts)).max(axis=1)
    sure = sharpened(unmix_probabilities(probability, matrix), matrix[:, observed].T)
    predicted = sure.argmax(axis=1)
    size = np.bincount(predicted, minlength=n_classes)
    overlaps = np.bincount(predicted, sure.max(axis=1), n_classes) < TOLD_APART * size
    return np.asarray((others > labels) | overlaps | (size == 0))


def left_out_probabilities(
    estimator: Any,
    X: Rows,
    codes: IntArray,
    classes: Labels,
    splits: list[Split],
    n_jobs: int | None = None,
) -> FloatArray:
    """Return the probability of every label on every row, from models that did not see the row."""
    if estimator is not None and not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"{type(estimator).__name__} has no predict_proba; pass a classifier that has, such as "
            "CalibratedClassifierCV around this one."
        )
    read = partial(class_probabilities, classes=classes)
    if estimator is None:
        if sparse.issparse(X):
            # Optimizing over weights of columns without an entry took most of the time on texts.
            X = sparse.csr_array(X)
            X = X[:, np.union1d(X.indices, 0)]
        scaler = MaxAbsScaler() if sparse.issparse(X) else StandardScaler()
        models = [LogisticRegression(C=penalty, max_iter=1000) for penalty in INVERSE_PENALTIES]
        candidates = [make_pipeline(scaler, model) for model in models]
    else:
        candidates = [estimator]

    def predicted(candidate: Any, some: list[Split]) -> FloatArray:
        """Return the probabilities of rows that these splits test, and 0 of others."""
        found = out_of_fold(candidate, X, classes[codes], some, read, n_jobs=n_jobs)
        return np.asarray(found)

    def likelihood(table: FloatArray) -> float:
        return float(np.log(np.maximum(table[tested, codes[tested]], 1e-12)).mean())

    n_tested = np.cumsum([len(test) for _, test in splits])
    n_first = 1 + int(np.searchsorted(n_tested[:-1], ROWS_TO_COMPARE_BY))
    tested = np.concatenate([test for _, test in splits[:n_first]])
    tables = [predicted(candidate, splits[:n_first]) for candidate in candidates]
    best = max(range(len(tables)), key=lambda one: likelihood(tables[one]))
    rest = splits[n_first:]
    return tables[best] + predicted(candidates[best], rest) if rest else tables[best]
