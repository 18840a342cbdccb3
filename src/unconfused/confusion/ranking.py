"""Rank rows by the probability that their label is wrong."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples

from unconfused._labels import (
    MISSING,
    EncodedLabels,
    encode_labels,
    label_array,
    refuse_other_length,
)
from unconfused._matrix import LabelNoiseWarning
from unconfused._matrix_labels import is_rectangular
from unconfused._pipelines import final_step
from unconfused._text import import_extra
from unconfused._typing import ArrayLike, BoolArray, FloatArray, IntArray, Labels, Rows, Seed
from unconfused.confusion._label_scores import LabelScorer, ranking_folds
from unconfused.confusion.estimation.calibration import judged_labels
from unconfused.confusion.estimation.label_quality import Criterion

USUAL_FOLDS = 5

MANY_ROWS, FEW_ROWS_REPEATS = 5_000, 3
"""Sets of folds for fewer rows than these. Three sets gain up to 0.008 in average precision on
Music (700 rows) and Digits (3,823), and nothing on Reuters (7,305)."""

Method = Literal["auto", "posterior", "self_confidence"]


@dataclass(frozen=True, eq=False, repr=False)
class LabelIssues:
    """Rows ranked by how likely their label is wrong, most suspicious first.

    Attributes
    ----------
    row : row number in X
    observed : label of the row
    suggested : most likely class, which may be the observed label
    probability : probability that the observed label is wrong, or a score; see `criterion`
    criterion : "posterior": `probability` is P(label wrong | x, label). "self_confidence": it is
        1 - P(label | x), a score for ranking only, which is too high where classes overlap
    """

    row: IntArray
    observed: Labels
    suggested: Labels
    probability: FloatArray
    criterion: Criterion = "posterior"

    def __len__(self) -> int:
        """Return the number of ranked rows."""
        return len(self.row)

    def __getitem__(self, which: slice | BoolArray | IntArray) -> LabelIssues:
        """Return some ranked rows: ``issues[:100]``, ``issues[issues.probability > 0.9]``."""
        if isinstance(which, (int, np.integer)):
            raise TypeError("LabelIssues takes slices, masks and arrays, such as issues[:10].")
        observed, suggested = self.observed[which], self.suggested[which]
        probability = self.probability[which]
        return LabelIssues(self.row[which], observed, suggested, probability, self.criterion)

    @property
    def expected_errors(self) -> float:
        """Expected number of wrong labels, the sum of `probability`.

        With the criterion "self_confidence" this is too high wherever classes overlap.
        """
        return float(self.probability.sum())

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one line per ranked row."""
        pandas = import_extra("pandas", "data", "to_frame")
        names = ("row", "observed", "suggested", "probability")
        return pandas.DataFrame({name: getattr(self, name) for name in names})

    def __repr__(self) -> str:
        """Show the first few."""
        summary, what = f"{self.expected_errors:.1f} wrong labels expected", "P(wrong)"
        if self.criterion == "self_confidence":
            summary, what = "ranked by self-confidence", "score"
        lines = [f"LabelIssues({len(self)} rows, {summary})"]
        columns = (self.row, self.observed, self.suggested, self.probability)
        for row, observed, suggested, p in zip(*(c[:5].tolist() for c in columns), strict=True):
            better = "" if suggested == observed else f", suggested {suggested!r}"
            lines.append(f"  row {row}: label {observed!r}{better}, {what} {p:.3f}")
        return "\n".join([*lines, *["  ..."] * (len(self) > 5)])


def rank_label_errors(
    estimator: Any,
    X: Rows,
    y: ArrayLike,
    *,
    y_true: ArrayLike | None = None,
    cv: int | Any = USUAL_FOLDS,
    n_repeats: int | Literal["auto"] = "auto",
    method: Method = "auto",
    cross_fit: bool = True,
    missing_label: Any = "auto",
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> LabelIssues:
    """Rank rows by the probability that their label is wrong, and suggest a better one.

    Each row is scored out of fold, because a model trained on a wrong label may have learnt it.
    Rows whose truth is known are part of every training fold.

    With a confusion matrix or known truths, rows are ranked by the posterior P(true class | x,
    label) of an estimator with `label_posterior`. With nothing known, and for any other classifier,
    the matrix is estimated as in `from_probabilities`. If that estimate is good, the posterior
    finds far more wrong labels than self-confidence, 1 - P(label | x); if mistakes depend on the
    features or classes overlap, it finds fewer. Therefore it is used only if held-out labels are
    predicted clearly better (by two paired standard errors) through the estimate than without it.
    Otherwise rows are ranked by self-confidence. `criterion` of the result says which was used.

    Settings that the estimator leaves at "auto" are chosen once, in a fit on all rows. If this fit
    has scored all rows out of fold well enough (after rounds of relabelling, or from 5,000 rows on,
    where one set of folds suffices), its posteriors are returned; with `y_true` they are averaged
    with those of further fits with these settings.

    Parameters
    ----------
    estimator : a classifier with `label_posterior(X, y)` or with `predict_proba`; it is cloned
    X : array, sparse matrix or frame
    y : labels to check; rows where they are missing are not ranked
    y_true : the truth where known. These rows are not ranked. If `fit` of the estimator takes no
        `y_true`, their true labels take the place of the observed ones
    cv : number of stratified folds, or a splitter that tests every row once
    n_repeats : number of times the folds are drawn; probabilities are averaged, which ranks better.
        "auto": 3, or 1 from 5,000 rows on, where models of different folds hardly differ. A
        splitter is used once
    method : ``"auto"`` as above, ``"posterior"`` in any case, or ``"self_confidence"``: 1 minus the
        model's own probability of the label; the predicted class is suggested
    cross_fit : whether to score each row by models that were not trained on it
    missing_label : a value that means "missing" besides None and NaN
    random_state : seed of the shuffling into folds
    n_jobs : number of folds fitted in parallel, as in joblib

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
    LabelIssues(1 rows, ranked by self-confidence)
      row 7: label 2, suggested 0, score 1.000
    """
    if method not in ("auto", "posterior", "self_confidence"):
        raise ValueError(
            f"method must be 'auto', 'posterior' or 'self_confidence'; got {method!r}."
        )
    if isinstance(estimator, type):
        raise TypeError(f"estimator must be an instance: pass {estimator.__name__}().")
    if n_repeats == "auto":
        n_repeats = FEW_ROWS_REPEATS if len(label_array(y)) < MANY_ROWS else 1
    if not n_repeats >= 1:
        raise ValueError(f"n_repeats must be at least 1; got {n_repeats}.")
    if is_rectangular(getattr(final_step(estimator)[0], "confusion", None)):
        raise ValueError(
            "A label that is no class is neither right nor wrong, so there is nothing to rank with "
            "a rectangular matrix: fit the estimator and use its label_posterior."
        )
    if np.ndim(y) == 2:
        raise ValueError(
            "y must hold one label per row, not votes: for these, fit the estimator and use its "
            "label_posterior."
        )
    labels = encode_labels(y, y_true, missing_label=missing_label)
    (X,) = indexable(X)
    refuse_other_length(_num_samples(X), len(labels.observed))
    if np.all(labels.truth != MISSING):
        raise ValueError("y_true gives the truth of every row, so there is no label to rank.")
    usable = np.flatnonzero((labels.observed != MISSING) | (labels.truth != MISSING))
    used = EncodedLabels(labels.classes, labels.observed[usable], labels.truth[usable])
    folds = ranking_folds(used, cv, n_repeats, random_state) if cross_fit else None
    criterion = None if method == "auto" else method
    scorer = LabelScorer(estimator, _safe_indexing(X, usable), used, criterion, folds, n_jobs)
    # Wrong labels are ranked here.
    with warnings.catch_warnings(action="ignore", category=LabelNoiseWarning):
        scores = scorer.score(n_repeats == 1 and isinstance(cv, Integral) and cv == USUAL_FOLDS)
    ranked = scorer.ranked
    observed = used.observed[ranked]
    wrong, suggested = judged_labels(scores.table[ranked], observed)
    order = np.argsort(-wrong, kind="stable")
    return LabelIssues(
        usable[ranked][order],
        used.classes[observed[order]],
        used.classes[suggested[order]],
        wrong[order],
        scores.criterion,
    )
