"""Confusion matrices of annotators, estimated from their votes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from unconfused._matrix import ConfusionWarning
from unconfused._text.wrong_labels import Basis, WrongLabels
from unconfused._typing import ArrayLike, FloatArray, IntArray, Labels
from unconfused.confusion._columns_as_votes import columns_as_votes, with_truth
from unconfused.confusion._dawid_skene import Crowd, CrowdFit, fit_crowd
from unconfused.confusion.estimate import ConfusionEstimate, divide_rows, refuse_uncounted
from unconfused.confusion.votes import Votes

TIED_WITHIN = 1e-9
"""Posteriors this close are a tie, whatever the order in which votes were added up."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AnnotatorEstimate(ConfusionEstimate):
    """Confusion matrices of annotators, and the consensus of their votes.

    `matrix` and `counts` are those of all votes together, whoever gave them.

    Attributes
    ----------
    annotators : (A,) who voted
    annotator_matrices : (A, Q, Q) confusion matrix of each annotator, pulled towards the shared one
    annotator_counts : (A, Q, Q) expected answers behind them
    consensus : (n_items,) the most likely class of every item; on a tie, the lowest
    posterior : (n_items, Q) probability of each class given the votes
    n_iter : number of iterations
    history : what they maximised: log-likelihood of votes and gold labels plus the log-prior
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

    Missing votes are ignored, except of annotators who only ever give one label (in at least 20
    votes), as most rules do: their silence is informative, and is modelled as another answer.
    Matrices and counts are of the votes that were given.

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
    smoothing : added to every count of the pooled `matrix`. With 0, a class that is the likely
        truth of no item with a vote is an error
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
    Carl says "b" to everything, so his vote tells nothing:

    >>> votes = [["a", "a", "b"], ["b", "b", "b"], ["a", None, "b"], ["b", "b", "b"]]
    >>> crowd = from_annotators(votes, prior_strength=0.5)
    >>> crowd.consensus.tolist()
    ['a', 'b', 'a', 'b']
    >>> crowd.annotator_noise_rates.round(1)
    array([0.1, 0.1, 0.5])
    """
    _check_settings(max_iter, tol, prior_strength, smoothing)
    if not isinstance(votes, Votes):
        votes = columns_as_votes(votes, classes=classes, missing_label=missing_label)
    votes, truth = with_truth(votes, y_true, classes, missing_label)
    if not len(votes):
        raise ValueError("There is no vote to learn from.")
    _warn_of_unlabelled(votes, truth)
    indicators = votes.indicators(silent=votes.one_sided)
    crowd = Crowd(indicators, truth, votes.n_annotators, len(votes.classes))
    fit = fit_crowd(crowd, crowd.summed(crowd.majority()), prior_strength, max_iter, tol)
    if not fit.converged:
        warnings.warn(
            f"from_annotators stopped after {max_iter} iterations before it converged; raise "
            "max_iter, or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    posterior, _ = crowd.posterior(fit.seen_through, fit.prior)
    return _publish(fit, posterior, votes, smoothing)


def _check_settings(max_iter: int, tol: float, prior_strength: float, smoothing: float) -> None:
    if not isinstance(max_iter, Integral) or max_iter < 1:
        raise ValueError(f"max_iter must be a whole number from 1 on; got {max_iter!r}.")
    named = {"tol": tol, "prior_strength": prior_strength, "smoothing": smoothing}
    for name, value in named.items():
        if not 0 <= value < np.inf:
            raise ValueError(f"{name} must be a finite number, at least 0; got {value}.")


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
