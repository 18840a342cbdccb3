"""Which labels are wrong: rows ranked by the probability that their label is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import has_fit_parameter

from unconfused._labels import MISSING, EncodedLabels, encode_labels
from unconfused._typing import ArrayLike, BoolArray, FloatArray, IntArray, Labels, Rows, Seed
from unconfused.confusion.cross_validated import (
    aligned_columns,
    in_row_order,
    make_folds,
    out_of_fold,
    refuse_other_length,
)
from unconfused.confusion.estimation.pooled import drawn_together
from unconfused.confusion.estimation.sharpness import best_power, posterior_given, sharpen
from unconfused.confusion.noisy import guess_counts, unmix_probabilities

Method = Literal["posterior", "self_confidence"]


@dataclass(frozen=True, eq=False, repr=False)
class LabelIssues:
    """Rows by how likely their label is wrong, the most suspicious first.

    Attributes
    ----------
    row : place of the row in X
    observed : the label it has
    suggested : the most likely class; the observed label itself where that is
    probability : posterior probability that the observed label is wrong
    """

    row: IntArray
    observed: Labels
    suggested: Labels
    probability: FloatArray

    def __len__(self) -> int:
        """Return the number of ranked rows."""
        return len(self.row)

    def __getitem__(self, which: slice | BoolArray | IntArray) -> LabelIssues:
        """Return some ranked rows: ``issues[:100]``, ``issues[issues.probability > 0.9]``."""
        if isinstance(which, (int, np.integer)):
            raise TypeError("LabelIssues takes slices, masks and arrays, such as issues[:10].")
        return LabelIssues(
            self.row[which], self.observed[which], self.suggested[which], self.probability[which]
        )

    @property
    def expected_errors(self) -> float:
        """How many of these labels are wrong, as far as the probabilities are right."""
        return float(self.probability.sum())

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one line per ranked row."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas: pip install 'unconfused[data]'. The columns are arrays of "
                "this object too: row, observed, suggested, probability."
            ) from error
        return pd.DataFrame(
            {
                "row": self.row,
                "observed": self.observed,
                "suggested": self.suggested,
                "probability": self.probability,
            }
        )

    def __repr__(self) -> str:
        """Show the first few."""
        lines = [f"LabelIssues({len(self)} rows, {self.expected_errors:.1f} wrong labels expected)"]
        first = self[:5]
        columns = first.row, first.observed, first.suggested, first.probability
        for row, observed, suggested, p in zip(*(c.tolist() for c in columns), strict=True):
            lines.append(f"  row {row}: {observed!r}, rather {suggested!r} (wrong: {p:.3f})")
        return "\n".join([*lines, "  ..."] if len(self) > len(first) else lines)


def rank_label_errors(
    estimator: Any,
    X: Rows,
    y: ArrayLike,
    *,
    y_true: ArrayLike | None = None,
    cv: int | Any = 5,
    method: Method = "posterior",
    cross_fit: bool = True,
    missing_label: Any = "auto",
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> LabelIssues:
    """Rank rows by the probability that their label is wrong, and suggest a better one.

    Each row is judged by a model that was not trained on it: one that was has seen the wrong label
    and may have learnt it. An estimator with `label_posterior` gives P(true class | x, label)
    itself. From any other classifier, which learns to predict the noisy labels, the confusion
    matrix is guessed as in `from_noisy`, with the same limits, and its effect taken out of the
    probabilities, which are then made as sure as the labels warrant, before Bayes' rule brings the
    label in. An estimator with rounds of relabelling has judged every row by models that had not
    seen it already, in folds of its own: it is fitted once, and `cv` is not used.

    Parameters
    ----------
    estimator : a classifier with `label_posterior(X, y)` or with `predict_proba`; it is cloned
    X : array, sparse matrix or frame
    y : labels to check; rows where they are missing are not ranked
    y_true : the truth where known. These rows are not ranked; they are passed on to an estimator
        whose `fit` takes `y_true`, and otherwise learnt from with their true label
    cv : number of stratified folds, or a splitter that tests every row once
    method : ``"posterior"`` as above. ``"self_confidence"``: 1 minus the model's probability of the
        label, which needs no confusion matrix, and suggests the class predicted
    cross_fit : whether to judge rows by models that have not seen them
    missing_label : a value that means "missing" besides None and NaN
    random_state : seed of the shuffling into folds
    n_jobs : how many folds to fit at a time, as in joblib

    Returns
    -------
    LabelIssues

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> y[7] = 2  # was 0
    >>> rank_label_errors(LogisticRegression(max_iter=1000), X, y, random_state=0)[:1]
    LabelIssues(1 rows, 1.0 wrong labels expected)
      row 7: 2, rather 0 (wrong: 1.000)
    """
    if method not in ("posterior", "self_confidence"):
        raise ValueError(f"method must be 'posterior' or 'self_confidence'; got {method!r}.")
    labels = encode_labels(y, y_true, missing_label=missing_label)
    (X,) = indexable(X)
    refuse_other_length(X, labels.observed, "y")
    usable = np.flatnonzero((labels.observed != MISSING) | (labels.truth != MISSING))
    used = EncodedLabels(labels.classes, labels.observed[usable], labels.truth[usable])
    judge = _Judge(estimator, used, method)
    posterior = judge.posterior(_safe_indexing(X, usable), cv, cross_fit, random_state, n_jobs)
    return _sorted(posterior, used, usable)


def _sorted(posterior: FloatArray, labels: EncodedLabels, place: IntArray) -> LabelIssues:
    ranked = np.flatnonzero((labels.truth == MISSING) & (labels.observed != MISSING))
    observed, table = labels.observed[ranked], posterior[ranked]
    own = table[np.arange(len(ranked)), observed]
    # A tie with the observed label is no reason to suggest another.
    suggested = np.where(own >= table.max(axis=1), observed, table.argmax(axis=1))
    wrong = np.clip(1.0 - own, 0.0, 1.0)
    order = np.argsort(-wrong, kind="stable")
    return LabelIssues(
        place[ranked][order],
        labels.classes[observed[order]],
        labels.classes[suggested[order]],
        wrong[order],
    )


class _Judge:
    """One estimator with the labels it learns from, and what it is asked about each row."""

    def __init__(self, estimator: Any, labels: EncodedLabels, method: Method) -> None:
        self.estimator, self.labels = estimator, labels
        final, prefix = _final_step(estimator)
        self.asks_posterior = method == "posterior" and hasattr(final, "label_posterior")
        self.rounds = bool(getattr(final, "relabel", 0))
        self.unmixes = method == "posterior" and not self.asks_posterior
        if not self.asks_posterior and not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"{type(estimator).__name__} has neither label_posterior nor predict_proba, so it "
                "cannot say how likely a label is wrong."
            )
        self.best_known = np.where(labels.truth != MISSING, labels.truth, labels.observed)
        self.params: dict[str, Labels] = {}
        self.targets = labels.classes[self.best_known]
        has_truth = bool(np.any(labels.truth != MISSING))
        if has_truth and has_fit_parameter(final, "y_true"):
            self.params = {f"{prefix}y_true": _decode(labels.truth, labels.classes)}
            self.targets = _decode(labels.observed, labels.classes)

    def posterior(
        self, X: Rows, cv: Any, cross_fit: bool, seed: Seed, n_jobs: int | None
    ) -> FloatArray:
        """Return P(true class | x, label) for every row."""
        classes = self.labels.classes
        if cross_fit and self.asks_posterior and self.rounds:
            fitted = clone(self.estimator).fit(X, self.targets, **self.params)
            final, _ = _final_step(fitted)
            if hasattr(final, "cross_fitted_posterior_"):
                return aligned_columns(final.cross_fitted_posterior_, final, classes)
        read = partial(_read, labels=self.labels, asks_posterior=self.asks_posterior)
        if cross_fit:
            splits = make_folds(self.best_known, classes, cv, seed)
            parts = out_of_fold(
                self.estimator, X, self.targets, splits, read, params=self.params, n_jobs=n_jobs
            )
            table = in_row_order(parts, splits)
        else:
            fitted = clone(self.estimator).fit(X, self.targets, **self.params)
            table = read(fitted, X, np.arange(len(self.best_known)))
        if self.asks_posterior:
            return self._calibrated(*np.hsplit(table, 2))
        return self._given_label(table) if self.unmixes else np.asarray(table)

    def _calibrated(self, probability: FloatArray, evidence: FloatArray) -> FloatArray:
        """Bring the labels in after making the models as sure as all labels together warrant."""
        noisy = (self.labels.truth == MISSING) & (self.labels.observed != MISSING)
        power = best_power(probability[noisy], evidence[noisy])
        return posterior_given(sharpen(probability, power), evidence)

    def _given_label(self, probability: FloatArray) -> FloatArray:
        """Bring the labels in: P(q | x, y) is proportional to C[q, y] P(q | x)."""
        noisy = (self.labels.truth == MISSING) & (self.labels.observed != MISSING)
        counts = guess_counts(probability[noisy], self.labels.observed[noisy], n_rounds=3)
        # One even answer per class: a pair never counted is unlikely, not impossible.
        matrix = drawn_together(counts, 1.0 / len(counts))
        truth = unmix_probabilities(probability, matrix)
        evidence = matrix[:, self.labels.observed].T
        power = best_power(truth[noisy], evidence[noisy])
        return posterior_given(sharpen(truth, power), evidence)


def _final_step(estimator: Any) -> tuple[Any, str]:
    """Return a pipeline's last step and the prefix of its parameters, or the estimator itself."""
    steps = getattr(estimator, "steps", None)
    return (steps[-1][1], f"{steps[-1][0]}__") if steps else (estimator, "")


def _decode(codes: IntArray, classes: Labels) -> Labels:
    """Turn codes back into labels, None where missing."""
    if np.all(codes != MISSING):
        return np.asarray(classes[codes])
    labels = classes.astype(object)[codes]
    labels[codes == MISSING] = None
    return np.asarray(labels)


def _read(
    fitted: Any, X: Rows, test: IntArray, *, labels: EncodedLabels, asks_posterior: bool
) -> FloatArray:
    """Ask a fitted model about rows.

    Returns
    -------
    (n, Q) probabilities; if posteriors are asked for, (n, 2 Q): probabilities of the true classes,
    then the chance of the label given each, 1 where the model never met the label
    """
    classes, codes = labels.classes, labels.observed[test]
    final, _ = _final_step(fitted)
    if not asks_posterior:
        return aligned_columns(fitted.predict_proba(X), fitted, classes)
    met = encode_labels(final.classes_, classes=classes, missing_label=None).observed
    rows = np.flatnonzero(np.isin(codes, met))
    table = aligned_columns(fitted.predict_proba(X), final, classes)
    evidence = np.ones(table.shape)
    if hasattr(final, "confusion_"):
        chances = np.zeros((len(classes), len(classes)))
        chances[np.ix_(met, met)] = final.confusion_
        evidence[rows] = chances[:, codes[rows]].T
    elif len(rows):
        inner = _safe_indexing(X, rows)
        inner = inner if final is fitted else fitted[:-1].transform(inner)
        asked = final.label_posterior(inner, classes[codes[rows]])
        table[rows] = aligned_columns(asked, final, classes)
    return np.hstack([table, evidence])
