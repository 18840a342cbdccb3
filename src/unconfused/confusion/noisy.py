"""The confusion matrix from noisy labels alone, without any truth."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

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
    refuse_negative,
    refuse_uncounted,
)
from unconfused.confusion.estimation.calibration import best_power, sharpen
from unconfused.confusion.estimation.class_probabilities import guess_counts, unmix_probabilities
from unconfused.confusion.estimation.neighbours import (
    Neighbourly,
    from_neighbours,
    label_log_likelihood,
)
from unconfused.confusion.estimation.pooled import shrink_to_symmetric

CAVEAT = "No truth was seen: check some rows of every class by hand before relying on it."

SOURCES = {
    "confident": "confident predictions",
    "neighbours": "the labels of nearest neighbours",
}

INVERSE_PENALTIES = (0.01, 0.1, 1.0)
"""What the default model's `C` is chosen from, by the likelihood of the labels left out."""

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

    A model of the noisy labels predicts every row out of fold. A row counts as truly of class q if
    its probability of q is at least the average among the rows labelled q; cross-tabulated with the
    labels, these rows are the first estimate (the confident joint of Northcutt, Jiang and Chuang,
    2021). Each further round unmixes the probabilities with the current estimate and counts again.
    Counts are scaled to the label frequencies of `y`, and shrunk towards mistakes that are spread
    evenly, as far as the counts of all classes agree with that.

    For numeric rows, such as embeddings, there is a second estimate, from the agreement of the
    labels of nearest neighbours (the consensus equations of Zhu, Song and Liu, 2021), which assumes
    that neighbours share a class instead of a linear model. The estimate that predicts held-out
    labels better is returned; `caveat` says which. Remove duplicate rows first: they agree with
    each other whatever their class.

    **Limitations.** No truth is known, so the estimate fails

    - if more than half of a class has the label of one other class: the two are swapped, and only
      trusted rows can tell;
    - if mistakes depend on the features, so that the model learns them;
    - if the noise is so strong, or the rows so few, that the model predicts the noisy labels hardly
      better than their frequencies do;
    - if classes overlap: rows of one that resemble another are mistaken for wrong labels.

    Intervals show the sampling error only, as if the estimated truths were known; the error of an
    entry can be several times as large. The verdict names doubtful classes: those that are rare
    compared with the wrong labels of another class, and those that overlap others. With trusted
    rows, use `from_trusted`.

    Parameters
    ----------
    X : array, sparse matrix or frame
    y : noisy labels; rows where they are missing (None, NaN) are left out
    estimator : a classifier with `predict_proba`. By default a logistic regression on scaled
        features, its penalty chosen among three by the likelihood of left-out labels
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
    if method not in ("auto", *SOURCES):
        raise ValueError(f"method must be 'auto', 'confident' or 'neighbours'; got {method!r}.")
    refuse_negative(smoothing)
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
        which = _say_which(score, near.score)
        if near.score > score:
            matrix, counts = shrink_to_symmetric(near.counts, smoothing), near.counts
    doubted = classes[_doubted(probability, observed, counts, matrix)]
    caveat = " ".join(filter(None, [CAVEAT, _say_doubt(doubted), which]))
    if smoothing == 0:
        refuse_uncounted(counts, classes, "no row is clearly of that class.")
    return ConfusionEstimate(matrix, counts, classes, caveat=caveat)


def _say_which(confident: float, neighbours: float) -> str:
    """Say which estimate was taken, and why."""
    scores = sorted([(confident, "confident"), (neighbours, "neighbours")])
    (worse, other), (better, best) = scores
    return (
        f"It comes from {SOURCES[best]}, which explain held-out labels better (log-likelihood "
        f"{better:.3f} per row) than {SOURCES[other]} ({worse:.3f})."
    )


def _say_doubt(doubted: Labels) -> str:
    if not len(doubted):
        return ""
    return (
        f"Least reliable is what it says of {name_classes(doubted)}: rarer than the wrong labels "
        "of another class, or overlapping with other classes."
    )


def _doubted(
    probability: FloatArray, observed: IntArray, counts: FloatArray, matrix: FloatArray
) -> BoolArray:
    """Return the classes whose rows of the matrix may be far off, whatever their counts.

    If more labels of some other class are wrong than a class has rows, those may be what was taken
    for it. If rows predicted to be of a class are hardly more likely of it than of others, counts
    of the two are mixed.
    """
    n_classes = len(counts)
    wrong = counts.sum(axis=1) - np.diag(counts)
    others = np.where(np.eye(n_classes) > 0, 0.0, wrong).max(axis=1)
    truth, evidence = unmix_probabilities(probability, matrix), matrix[:, observed].T
    sure = sharpen(truth, best_power(truth, evidence))
    predicted = sure.argmax(axis=1)
    total = np.bincount(predicted, sure.max(axis=1), n_classes)
    overlaps = total < TOLD_APART * np.bincount(predicted, minlength=n_classes)
    never = np.bincount(predicted, minlength=n_classes) == 0
    return np.asarray((others > counts.sum(axis=1)) | overlaps | never)


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
    candidates = [estimator] if estimator is not None else _default_models(X)
    read = partial(class_probabilities, classes=classes)
    best, least = np.empty(0), np.inf
    for candidate in candidates:
        table = out_of_fold(candidate, X, classes[codes], splits, read, n_jobs=n_jobs)
        loss = -np.log(np.maximum(table[np.arange(len(codes)), codes], 1e-12)).mean()
        if loss < least:
            best, least = table, loss
    return np.asarray(best)


def _default_models(X: Rows) -> list[Any]:
    scaler = MaxAbsScaler() if sparse.issparse(X) else StandardScaler()
    return [
        make_pipeline(scaler, LogisticRegression(C=penalty, max_iter=1000))
        for penalty in INVERSE_PENALTIES
    ]
