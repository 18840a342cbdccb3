"""Confusion matrices of annotators, estimated from their votes, and columns read as votes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from unconfused._arguments import check_count, check_not_negative
from unconfused._labels import encode_labels, is_missing, label_array
from unconfused._matrix import ConfusionWarning
from unconfused._text.wrong_labels import Basis, WrongLabels
from unconfused._typing import ArrayLike, FloatArray, IntArray, Labels
from unconfused.confusion._dawid_skene import Crowd, CrowdFit, fit_crowd
from unconfused.confusion.estimate import ConfusionEstimate, divide_rows, refuse_uncounted
from unconfused.confusion.votes import Votes, votes_from_wide

TIED_WITHIN = 1e-9
"""Posteriors this close are tied: the order in which votes are added must not matter."""

MANY_ANNOTATORS = 20
"""Columns above which a table with fewer rows may be transposed."""

MANY_ANSWERS = 20
"""Distinct answers above which those of an annotator may be no classes."""

FEWEST_ROWS = 30
"""Rows needed to tell whether columns answer the same question."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AnnotatorEstimate(ConfusionEstimate):
    """Confusion matrices of annotators, and the consensus of their votes.

    `matrix` and `counts` are those of all votes together, whoever gave them.

    Attributes
    ----------
    annotators : (A,) who voted
    annotator_matrices : (A, Q, Q) confusion matrix of each annotator, shrunk towards that of all
    annotator_counts : (A, Q, Q) expected number of answers behind each entry
    consensus : (n_items,) the most likely class of every item; on a tie, the lowest
    posterior : (n_items, Q) probability of each class given the votes
    n_iter : number of iterations
    history : objective after each iteration: log-likelihood of votes and gold labels plus log-prior
    """

    annotators: Labels
    annotator_matrices: FloatArray
    annotator_counts: FloatArray
    consensus: Labels
    posterior: FloatArray
    n_iter: int
    history: FloatArray

    @property
    def annotator_noise_rates(self) -> FloatArray:
        """Share of wrong answers to expect of each annotator on items drawn from all classes."""
        right = np.einsum("aqq,q->a", self.annotator_matrices, np.asarray(self.class_prior))
        return np.asarray(np.maximum(0.0, 1.0 - right))

    def wrong_labels(self, basis: Basis | None = None) -> WrongLabels:
        """Return the share of wrong answers with its interval, and the most frequent mix-up."""
        return super().wrong_labels(basis or "votes")

    def _summary(self) -> str:
        crowd = f"{len(self.annotators)} annotators, {len(self.consensus)} items, "
        return crowd + super()._summary()


def from_annotators(
    votes: Votes | Any,
    *,
    y_true: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    max_iter: int = 100,
    tol: float = 1e-5,
    prior_strength: float = 5.0,
    smoothing: float = 0.0,
    missing_label: Any = "auto",
) -> AnnotatorEstimate:
    """Estimate each annotator's confusion matrix, and the true classes, from votes.

    Dawid and Skene's model, fitted by expectation maximisation from the majority vote. Most
    annotators give few answers, so each matrix is shrunk towards that of all annotators, which
    counts as `prior_strength` answers per class.

    Missing votes are ignored, except those of annotators who only ever give one label (in at least
    20 votes), as most rules do. Their silence is informative, and is modelled as another answer.
    Matrices and counts refer to the votes that were given.

    Annotators are assumed to err independently given the true class. If they copy from one another,
    or find the same items hard, the posterior is overconfident.

    Parameters
    ----------
    votes : Votes, or array or frame with a row per item and a column per annotator, missing entries
        (None, NaN) where someone did not answer
    y_true : (n_items,) gold labels where known, missing elsewhere
    classes : all classes, if votes and gold labels may not show every one
    max_iter : maximum number of iterations, for the shared matrix and for those of annotators
    tol : stop when the objective per item increases by less than this
    prior_strength : weight of the shared matrix in that of each annotator, in answers per class; 0
        uses each annotator's own answers only
    smoothing : added to every count of the pooled `matrix`. With 0, a class that is the most likely
        truth of no item is an error
    missing_label : a value that means "missing" besides None and NaN

    Returns
    -------
    AnnotatorEstimate

    Warns
    -----
    ConfusionWarning
        If items have neither a vote nor a gold label; their posterior is the class shares.

    Examples
    --------
    Carl answers "b" to everything, so his votes carry no information:

    >>> votes = [["a", "a", "b"], ["b", "b", "b"], ["a", None, "b"], ["b", "b", "b"]]
    >>> crowd = from_annotators(votes, prior_strength=0.5)
    >>> crowd.consensus.tolist()
    ['a', 'b', 'a', 'b']
    >>> crowd.annotator_noise_rates.round(1)
    array([0.1, 0.1, 0.5])
    """
    check_count(max_iter, "max_iter", 1)
    check_not_negative(tol, "tol")
    check_not_negative(prior_strength, "prior_strength")
    check_not_negative(smoothing, "smoothing")
    if not isinstance(votes, Votes):
        votes = columns_as_votes(votes, classes=classes, missing_label=missing_label)
        if votes.n_annotators > max(MANY_ANNOTATORS, votes.n_items):
            warnings.warn(
                f"The table has {votes.n_items:,} rows (items) and {votes.n_annotators:,} columns "
                "(annotators). If it is the other way round, transpose it.",
                ConfusionWarning,
                stacklevel=2,
            )
    votes, truth = with_truth(votes, y_true, classes, missing_label)
    if not len(votes):
        raise ValueError("There is no vote to learn from.")
    _warn_of_unlabelled(votes, truth)
    crowd = Crowd.of(votes, truth, votes.one_sided)
    fit = fit_crowd(crowd, prior_strength, max_iter, tol)
    if not fit.converged:
        warnings.warn(
            f"from_annotators stopped after {max_iter} iterations before it converged; raise "
            "max_iter, or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    posterior, _ = crowd.posterior(fit.used_matrices, fit.prior)
    return _publish(fit, posterior, votes, smoothing)


def _warn_of_unlabelled(votes: Votes, truth: IntArray) -> None:
    bare = (np.bincount(votes.item, minlength=votes.n_items) == 0) & (truth < 0)
    if bare.any():
        warnings.warn(
            f"{np.count_nonzero(bare)} of {len(truth)} items have neither a vote nor a gold label: "
            "their posterior is the class shares, their consensus the most frequent class.",
            ConfusionWarning,
            stacklevel=3,
        )


def _publish(
    fit: CrowdFit, posterior: FloatArray, votes: Votes, smoothing: float
) -> AnnotatorEstimate:
    n_classes = len(votes.classes)
    given = fit.expected.counts[:, :, :n_classes]  # without silence
    spoken = fit.matrices[:, :, :n_classes]
    counts = given.sum(axis=0)
    if smoothing == 0:
        refuse_uncounted(counts, votes.classes, "it is not the likeliest class of any item.")
    best = posterior.max(axis=1, keepdims=True)
    consensus = (posterior >= best - TIED_WITHIN).argmax(axis=1)
    return AnnotatorEstimate(
        divide_rows(counts, smoothing),
        counts,
        votes.classes,
        class_prior=fit.prior,
        annotators=votes.annotators,
        annotator_matrices=spoken / spoken.sum(axis=2, keepdims=True),
        annotator_counts=given,
        consensus=votes.classes[consensus],
        posterior=posterior,
        n_iter=len(fit.objective),
        history=np.array(fit.objective),
    )


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
        refuse_no_votes(np.asarray(y) if hasattr(y, "columns") else label_array(y), classes)
    votes = votes_from_wide(y, classes=classes, missing_label=missing_label)
    refuse_measurements(votes)
    return votes


def refuse_measurements(votes: Votes) -> None:
    """Raise if nearly all answers of an annotator are distinct, and given by nobody else."""
    n_answers = np.bincount(votes.annotator, minlength=votes.n_annotators)
    annotator, label = np.unique(np.column_stack([votes.annotator, votes.label]), axis=0).T
    n_givers = np.bincount(label, minlength=len(votes.classes))
    n_own = np.bincount(annotator[n_givers[label] == 1], minlength=votes.n_annotators)
    for place in np.flatnonzero(n_own > np.maximum(MANY_ANSWERS, n_answers / 2))[:1]:
        name = votes.annotators.tolist()[place]
        raise ValueError(
            f"The column {name!r} has {n_own[place]:,} different values "
            f"in {n_answers[place]:,} rows, which no other column has: these are measurements or "
            "identifiers, not answers of an annotator. Leave it out."
        )


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
    shown = votes.classes.tolist()
    if classes is None and len(shown) > 2 and -1 in shown:
        classes = votes.classes  # someone has already said that -1 is a class
    # Both columns have to be equally long: repeating a truth changes no class.
    truths = gold.tolist() or [None]
    voted, given = [*[None] * len(truths), *shown], [*truths, *truths[:1] * len(shown)]
    encoded = encode_labels(voted, given, classes=classes, missing_label=missing_label)
    label = encoded.observed[len(truths) :][votes.label]
    return replace(votes, label=label, classes=encoded.classes), encoded.truth[: len(gold)]


def refuse_no_votes(table: Labels, classes: ArrayLike | None) -> None:
    """Raise if columns of numbers look like anything but the answers of annotators."""
    if table.ndim != 2 or table.shape[1] < 2 or not table.size or table.dtype.kind not in "biufO":
        return
    if table.dtype.kind == "O" and any(isinstance(entry, str) for entry in table.ravel()):
        return  # classes have names, which may be written in digits
    try:
        numbers = np.where(is_missing(table), np.nan, table).astype(np.float64)
    except (TypeError, ValueError):
        return
    if (other := _what_numbers_are(numbers, classes is not None)) is not None:
        raise ValueError(
            f"y {other} If these are votes nevertheless, one column per annotator, say so with "
            "confusion.votes_from_wide(y)."
        )


def _what_numbers_are(table: FloatArray, named: bool) -> str | None:
    """Say what columns of numbers look like if not like votes; `named`: classes were given."""
    sums, enough = table.sum(axis=1), len(table) >= FEWEST_ROWS
    if np.any((table % 1 != 0) & np.isfinite(table)):
        return (
            "has several columns and holds fractions, which look like probabilities or other "
            "soft labels, not like classes that annotators named. Give the likeliest class of each "
            "row as y. For several models give a Votes object with a column per model: "
            "confusion.votes_from_wide(classes_by_model, weight=confidences)."
        )
    if named:
        return None
    if not np.isin(table, (0.0, 1.0)).all():
        if not enough or np.ptp(sums) != 0 or not np.ptp(table):
            return None
        return (
            "looks like counts of votes: every row has the same sum. Who gave each vote is needed, "
            "one column per annotator; with counts alone, give the most frequent class of each "
            "row, classes[y.argmax(axis=1)]."
        )
    if np.all(sums == 1):
        return (
            "looks like an indicator matrix: every row holds one 1, in the column of its class. "
            "Give one label per row, as in classes[y.argmax(axis=1)]."
        )
    if not enough or _agree(table):
        return None
    return (
        "looks like a multi-label problem: its columns of 0 and 1 agree no more than by chance, so "
        "they do not answer the same question. Fit one model per column, each with its own "
        "confusion matrix; where all columns share one, "
        "sklearn.multioutput.MultiOutputClassifier(UnconfusedLogisticRegression(C)) does so."
    )


def _agree(table: FloatArray) -> bool:
    """Return whether columns correlate, in the mean, by more than a standard error."""
    varied = table[:, np.ptp(table, axis=0) > 0]
    if varied.shape[1] < 2:
        return True
    correlation = np.atleast_2d(np.corrcoef(varied, rowvar=False))
    pairs = correlation[np.triu_indices(varied.shape[1], k=1)]
    return bool(pairs.mean() > 1.0 / np.sqrt(len(table) * len(pairs)))
