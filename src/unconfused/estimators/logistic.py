"""Logistic regression through the confusion matrix, as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from unconfused._typing import ArrayLike, FloatArray, IntArray, Rows
from unconfused.engines.base import Engine
from unconfused.estimators._arrays import blas_threads_for, n_entries, rows_at
from unconfused.estimators._base import (
    FitInterrupted,
    SoftmaxClassifier,
    all_at_once,
    refuse_relabelling,
)
from unconfused.estimators._likelihood_fits import used_columns
from unconfused.estimators._noisy import (
    NoisyData,
    confusion_for,
    is_open,
)
from unconfused.estimators.annotators.crowd import (
    are_votes,
    log_vote_chances,
    posterior_of_votes,
)
from unconfused.estimators.annotators.fit import fit_model_to_votes
from unconfused.estimators.automatic.choose import Choice
from unconfused.estimators.dask.data import check_dask
from unconfused.estimators.dask.lazy import lazy_on_dask
from unconfused.solvers.likelihood import LikelihoodState

MOST_COPIED, FEWEST_KEPT = 2**23, 0.9
"""Rows of weight 0, such as a held-out fold, are left out by a copy of the others if these are less
than a share of `FEWEST_KEPT`, and the rows have at most `MOST_COPIED` entries: passes get shorter.
"""


class UnconfusedLogisticRegression(SoftmaxClassifier):
    """Logistic regression for noisy labels, through a confusion matrix.

    Predicts the true class. The fit maximises the likelihood of the observed labels: the true class
    follows the softmax of the scores, and the label follows the row of the confusion matrix that
    belongs to the true class. Rows with a known truth (`y_true`) enter with their truth.
    `predict_proba` has the probabilities of the true classes, and `label_posterior` shows which
    labels are probably wrong.

    With the default settings, a fit is a cross-validation that needs no clean labels; see Notes.

    Parameters
    ----------
    confusion : array-like of shape (Q, Q) or (Q, S), DataFrame, ConfusionEstimate, "auto" or None
        ``confusion[t, k]`` is the probability that a row of true class t has label k; rows sum to
        1. An array follows `classes`, or the sorted classes; a DataFrame or an estimate is aligned
        by its labels, and may have columns that are not classes, such as "unsure".
        None: counted on the rows with a `y_true`; without any, labels are taken as right. "auto":
        as None, but without any `y_true` the matrix is estimated from the noisy labels, and used
        if held-out labels support it.
    refine : "auto" or bool
        Whether to re-estimate the matrix together with the weights. "auto" does so if the matrix
        was counted on fewer than 1,000 labels in some row, and keeps a matrix given without counts.
        With votes, False keeps the annotators' matrices as estimated from the votes alone.
    prior_strength : float
        How much the counts behind the matrix weigh when it is refined: with 1 each of them weighs
        as much as one row, with 0 the noisy rows alone decide. With votes, the matrix of each
        annotator is shrunk towards that of all annotators, which weighs as much as
        ``5 * prior_strength`` answers per class.
    noisy_weight : float in [0, 1] or "auto"
        Weight of a noisy row relative to a trusted one. "auto": the largest weight that predicts
        held-out trusted rows as well as the best one does; 1 without trusted rows, and with votes.
    relabel : int or "auto"
        Maximum number of rounds of relabelling, in which the model is fitted again to the probable
        classes of the rows. They end before held-out labels become less likely. A round takes six
        fits, and trying the first takes fifteen. "auto": 4, but none on Dask collections or with
        fewer than 30 rows per class.
    l2 : float or "auto"
        Strength of the penalty: the objective is the weighted mean loss plus ``l2 / 2`` times the
        sum of squared weights, intercepts not included. This is scikit-learn's objective with
        ``C = 1 / (l2 * total weight)``. "auto": chosen by cross-validation.
    class_weight : "balanced", dict, array-like of shape (Q, Q), or None
        Cost of a mistake by *true* class. "balanced" gives all classes the same total weight; a
        dict maps classes to weights (1 for others); a matrix has the cost of each prediction
        (columns) for each true class (rows). Only `predict` uses it, so it can be changed by
        `set_params` without fitting again.
    fit_intercept : bool
        Whether to fit an intercept per class.
    classes : array-like or None
        All classes, if some may be missing from the labels; also the order of a plain `confusion`.
    missing_label : object
        A value that marks missing labels, besides None and NaN. "auto": -1 among integer labels,
        where that is unambiguous; None: no other value.
    max_iter : int
        Maximum number of optimizer steps of a fit.
    tol : float
        The optimizer stops when neither an entry of the gradient nor the estimated remaining gain
        exceeds this.
    warm_start : bool
        Whether to continue from the weights of the last fit, with its settings; not with votes.
    n_jobs : int or None
        Number of threads; -1 for all cores, None for the current OpenMP limit.
    random_state : int, RandomState or None
        Seed of the folds; None always gives the same folds.
    verbose : int
        Verbosity of progress messages; 0 for none.

    Attributes
    ----------
    classes_ : (Q,), sorted
    coef_, intercept_ : weights as in scikit-learn's LogisticRegression, after calibration
    confusion_ : (Q, S), the matrix in use, refined or not, in the order of `classes_`
    labels_ : (S,), the labels of the columns of `confusion_`, only if they are not the classes
    guessed_confusion_ : ConfusionEstimate, only if the matrix was estimated from noisy labels alone
        (``confusion="auto"``). It is a guess: check rows by hand before relying on it
    class_prior_ : (Q,), estimated share of each true class among the training rows
    l2_, noisy_weight_ : float, the penalty and the weight in use; if the model is an average, those
        of the fit through the matrix
    relabel_ : int, number of rounds made
    choice_ : dict of arrays with one entry per candidate, only if something was chosen: `l2`,
        `noisy_weight`, whether labels were `believed` (taken as right), the held-out `loss`, the
        `share` in the averaged model (rounds included), and `chosen`, 1 for the candidate with the
        largest share
    annotators_, annotator_confusion_ : the annotators and their matrices, (A, Q, Q), if the labels
        were votes; `confusion_` is then that of all answers together
    annotator_silence_ : (A, Q), probability that an annotator gives no answer, by true class, if
        some annotators only ever give one label, as rules do; NaN for the others
    cross_fitted_posterior_ : (n, Q), out-of-fold P(true class | row, label) of every training row,
        if rounds were made or truths weighed several models; not saved in files
    noise_depends_on_rows_ : bool, whether relabelling found that mistakes depend on more than the
        class, so that the matrix holds only on average (tested if a matrix was given and noisy rows
        have weight 1)
    n_iter_ : number of steps
    history_ : dict with the `objective` after every step and, with `relabel`, `relabelled`: the
        share of the rows fitted with another class than before in each round

    Notes
    -----
    Settings left at "auto" are chosen on held-out rows. With at least 3 trusted rows per class the
    model is then an average of up to four, which include one that takes the labels as right and one
    of the trusted rows alone. Finally the weights are scaled so that probabilities are calibrated;
    if the matrix was estimated from noisy labels, calibration is not guaranteed. If every setting
    is a number, the weights minimise the objective, and nothing is scaled. The candidates and
    criteria are described in "Automatic settings" in ``docs/choosing_a_model.md``.

    With noise the objective is not convex. Poor optima are rare if the right label is the most
    frequent one in every class; otherwise only trusted rows can tell which class is which. See
    "When a local optimum hurts" on the same page.

    Without a matrix or trusted rows, a `LabelNoiseWarning` says if held-out predictions contradict
    the labels. A `GuessedConfusionWarning` says that an estimated matrix is used, and a
    `ConfusionWarning` that a class has no trusted row: it is then assumed to have the average error
    rate.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from unconfused import UnconfusedLogisticRegression, noise
    >>> X, y = load_digits(return_X_y=True)
    >>> C = noise.pairwise(10, 0.4)
    >>> seen = noise.corrupt_labels(y, C, random_state=0)
    >>> clf = UnconfusedLogisticRegression(C, l2=1e-3).fit(X / 16, seen)
    >>> print(f"{clf.score(X / 16, y):.1f}")
    1.0
    """

    _check_dask = check_dask
    _log_vote_chances = log_vote_chances  # for scorers
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SoftmaxClassifier._parameter_constraints,
        "refine": [StrOptions({"auto"}), "boolean"],
        "prior_strength": [Interval(Real, 0, None, closed="left")],
        "noisy_weight": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
        "relabel": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "l2": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "class_weight": [dict, StrOptions({"balanced"}), "array-like", None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        confusion: Any = None,
        *,
        refine: str | bool = "auto",
        prior_strength: float = 1.0,
        noisy_weight: float | str = "auto",
        relabel: int | str = "auto",
        l2: float | str = "auto",
        fit_intercept: bool = True,
        class_weight: Any = None,
        classes: ArrayLike | None = None,
        missing_label: Any = "auto",
        max_iter: int = 500,
        tol: float = 1e-4,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.confusion = confusion
        self.refine = refine
        self.prior_strength = prior_strength
        self.noisy_weight = noisy_weight
        self.relabel = relabel
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.classes = classes
        self.missing_label = missing_label
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @all_at_once
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        y_true: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the model to noisy labels.

        Parameters
        ----------
        X : array, CSR matrix, frame or Dask collection of shape (n, d); see ``docs/scaling.md``
        y : the observed labels. Two or more columns, or a `confusion.Votes`, are votes, one
            annotator each. Rows without a label, vote or truth are unlabelled: they do not count
            in the objective, but rounds of relabelling learn from them
        y_true : the truth where known, missing elsewhere. Such rows count with their truth. Without
            a matrix or votes, at least one must be known
        sample_weight : frequency weight of every row

        Returns
        -------
        The fitted classifier. Ctrl-C keeps the current model and re-raises the interrupt; with
        ``warm_start=True`` the next call continues from there.
        """
        self._validate_params()
        stale = ["annotators_", "annotator_confusion_", "annotator_silence_", "_pair_counts"]
        stale += ["_checked"]
        stale += [] if self._warm_started else ["choice_", "guessed_confusion_"]
        for name in stale:
            self.__dict__.pop(name, None)
        if are_votes(y):
            return self._fit_votes(X, y, y_true, sample_weight)
        data = self._check_data(X, y, y_true, sample_weight, self.classes, reset=True)
        refuse_relabelling(self.relabel, data)
        with blas_threads_for(data.X):
            return self._fit_labels(data)

    def _fit_labels(self, data: NoisyData) -> Self:
        """Fit to one label per row, and known truths."""
        known = confusion_for(data, self.confusion, self.classes)
        if known.source == "identity" and hasattr(self, "guessed_confusion_"):
            known = confusion_for(data, self.guessed_confusion_, self.classes)
        known = known.shrunk()
        if self._warm_started:
            self._refuse_another_problem(data, self._state.weights)
        whole, used = data.X, used_columns(data.X)
        places: IntArray | slice = slice(None)
        if used is not None:
            data = replace(data, X=data.X[:, used])
            places = np.append(used, whole.shape[1]) if self.fit_intercept else used
        choice = Choice(self, data, known)
        choice.warn_of_matrix()
        state = choice.first_state(places)
        self._publish_labels(data.labels)
        try:
            if state.interrupted:
                raise KeyboardInterrupt
            choice.choose()
            if choice.known is not known:
                state = choice.first_state(places)
        except KeyboardInterrupt:
            if state.posterior is None:  # of the means: no model yet
                raise
            # The search started at the trusted rows' solution: that is the model.
            self.noisy_weight_, state.interrupted = 0.0, True
        if not state.interrupted:
            state = choice.fit(state)
        if used is not None:
            weights = np.zeros((len(state.weights), whole.shape[1] + self.fit_intercept))
            weights[:, places] = state.weights
            state.weights = weights
        self._pair_counts = data.pair_counts()
        self._publish(whole, state)
        return self

    def _fit_votes(self, X: Any, y: Any, y_true: Any, sample_weight: Any) -> Self:
        """Fit with one confusion matrix per annotator."""
        if not is_open(self.confusion):
            raise ValueError(
                "With votes the fit estimates one confusion matrix per annotator: leave "
                "confusion=None."
            )
        with blas_threads_for(X):
            X, state = fit_model_to_votes(self, X, y, y_true, sample_weight)
        self._publish(X, state)
        return self

    def _publish(self, X: Rows, state: LikelihoodState) -> None:
        if state.posterior is None:  # interrupted before anything was measured
            raise KeyboardInterrupt
        self._state = state
        self.confusion_, self.n_iter_ = state.matrix, state.n_iter
        self.noise_depends_on_rows_ = state.noise_depends_on_rows
        self.history_ = {"objective": np.array(state.objective)}
        self.relabel_ = len(state.relabelled)
        if state.relabelled or (self.relabel and self.relabel != "auto"):
            self.history_["relabelled"] = np.array(state.relabelled)
        self.class_prior_ = state.shares()
        self._publish_weights(state.weights, X, self.fit_intercept)
        if state.interrupted:
            raise FitInterrupted
        if state.exhausted:
            warnings.warn(
                f"The fit did not converge (max_iter={self.max_iter}): raise max_iter, loosen "
                "`tol`, or scale the features.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the predictions of the training rows, which grow with their number."""
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_checked", None)
        return state

    @property
    def _warm_started(self) -> bool:
        return self.warm_start and hasattr(self, "_state")

    def _engine(self, X: Rows, codes: IntArray, n_codes: int, weight: FloatArray | None) -> Engine:
        """Wrap rows, label codes and weights for the solvers."""
        if weight is not None and n_entries(X) <= MOST_COPIED:
            kept = np.flatnonzero(weight)
            if 0 < len(kept) < FEWEST_KEPT * len(weight):
                X, codes, weight = rows_at(X, kept), codes[kept], weight[kept]
        return super()._engine(X, codes, n_codes, weight)

    @property
    def cross_fitted_posterior_(self) -> FloatArray:
        """P(true class | row, label) of every training row, (n, Q), where the fit found it."""
        state: LikelihoodState | None = getattr(self, "_state", None)
        if state is None or state.row_posterior is None:
            raise AttributeError(
                "cross_fitted_posterior_ exists only after a fit with rounds of relabelling or an "
                "average of models, and is not saved in files; use confusion.rank_label_errors."
            )
        return state.row_posterior

    @lazy_on_dask
    def label_posterior(self, X: Any, y: ArrayLike) -> FloatArray:
        """Return P(true class | row, observed label), (n, Q); of the row alone where y is missing.

        One minus the entry of the observed label is the probability that this label is wrong. `y`
        may be votes of the annotators the model was fitted with. Lazy on Dask collections.
        """
        if are_votes(y):
            return posterior_of_votes(self, X, y)
        return super().label_posterior(X, y)
