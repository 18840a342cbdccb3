"""Logistic regression through the confusion matrix, as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from unconfused._typing import ArrayLike, FloatArray, Rows
from unconfused.engines.local.threads import blas_threads_for
from unconfused.estimators._base import FitInterrupted, all_at_once
from unconfused.estimators._likelihood_fits import LikelihoodFits
from unconfused.estimators._noisy import (
    NoisyData,
    confusion_for,
    is_open,
    refuse_relabelling,
)
from unconfused.estimators._used_columns import UsedColumns
from unconfused.estimators.annotators.crowd import are_votes, posterior_of_votes
from unconfused.estimators.annotators.fit import fit_model_to_votes
from unconfused.estimators.automatic.choose import Choice
from unconfused.estimators.dask.data import check_dask
from unconfused.estimators.dask.lazy import lazy_on_dask
from unconfused.solvers.likelihood import LikelihoodState


class UnconfusedLogisticRegression(LikelihoodFits):
    """Logistic regression for noisy labels, through a confusion matrix.

    Maximises the likelihood of the observed labels: the true class follows the softmax of the
    scores, and the label follows the true class's row of the confusion matrix. Rows whose truth is
    known enter with their truth. Nothing is inverted, so noise is not amplified as it is by UMA;
    probabilities are those of the true classes, and `label_posterior` shows which labels are
    probably wrong. With ``confusion=None`` and no known truths this is multinomial logistic
    regression.

    By default the penalty, the weight of noisy rows and rounds of relabelling are chosen by
    cross-validation, without clean labels; see Notes.

    Parameters
    ----------
    confusion : array-like of shape (Q, Q) or (Q, S), DataFrame, estimate, None, "auto"
        ``confusion[t, k]`` is the probability that a row of true class t is labelled k; rows sum to
        1. An array follows `classes`, or sorted order; frames, whose columns may be labels that are
        not classes ("unsure"), and estimates are aligned by their labels. None: counted on the rows
        with a known truth; without any, labels are taken as right, with a `LabelNoiseWarning` if
        held-out labels show that they are not. "auto": as None, but without known truths the matrix
        is estimated from features and labels alone (`confusion.from_noisy`) and used if it predicts
        held-out labels better than trusting them, with a `GuessedConfusionWarning`.
    refine : "auto" or bool
        Re-estimate the matrix together with the weights, starting from the one given or counted.
        "auto" does so if the matrix was counted on fewer than 1,000 labels in some row, and keeps a
        matrix given without counts. With votes, False keeps the annotators' matrices estimated from
        the votes alone.
    prior_strength : float
        Weight of the counts behind the matrix while it is refined: 1 counts each of them as one
        row, 0 lets the noisy rows alone decide, larger values keep the matrix closer to the counts.
        With votes, an annotator's matrix is drawn towards that of all annotators with
        ``5 * prior_strength`` answers per class.
    noisy_weight : float in [0, 1] or "auto"
        Weight of a noisy row relative to a trusted one. "auto": the largest weight that predicts
        held-out trusted rows as well as the best one does; 1 without trusted rows, and with votes.
    relabel : int or "auto"
        Maximum number of rounds of relabelling after the fit. A round refits to the classes that
        rows probably have according to out-of-fold models; labels of doubtful rows count less.
        Rounds end before held-out labels become less likely. A round takes six fits,
        and trying the first takes fifteen. "auto": 4, but none on Dask collections or with
        fewer than 30 rows per class.
    l2 : float or "auto"
        Strength of the penalty: the objective is the weighted mean loss plus ``l2 / 2`` times the
        sum of squared weights, intercepts not included. This is scikit-learn's objective with
        ``C = 1 / (l2 * total weight)``. "auto": chosen by cross-validation.
    class_weight : "balanced", dict, array-like of shape (Q, Q), or None
        Cost of a mistake by *true* class: "balanced" gives all classes the same total weight, a
        dict maps classes to weights (1 for others), a matrix has the cost of each prediction
        (columns) for each true class (rows). `predict` returns the class with the lowest expected
        cost. Fit and probabilities do not depend on it, so it can be changed by `set_params`
        without fitting again.
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
        Stop when neither an entry of the gradient nor the estimated remaining gain exceeds this.
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
    labels_ : (S,), what its columns stand for, only if labels are not the classes
    guessed_confusion_ : ConfusionEstimate, only if the matrix was estimated from noisy labels alone
        (``confusion="auto"``). It is a guess: check rows by hand before relying on it
    class_prior_ : (Q,), estimated share of each true class among the training rows
    l2_, noisy_weight_ : float, the penalty and the weight in use; of the model through C, where it
        is averaged with others
    relabel_ : int, number of rounds made
    choice_ : dict of arrays with one entry per candidate: `l2`, `noisy_weight`, whether labels were
        `believed` (taken as right), the held-out `loss`, the `share` in the averaged model (rounds
        included), and `chosen`, 1 for the one with the largest share. Only if something was chosen
    annotators_, annotator_confusion_ : the annotators and their matrices, (A, Q, Q), if the labels
        were votes; `confusion_` is then that of all answers together
    annotator_silence_ : (A, Q), chance that an annotator gives no answer, by true class, if some
        only ever give one label, as rules do, so that their silence is informative. NaN for others
    cross_fitted_posterior_ : (n, Q), out-of-fold P(true class | row, label) of every training row,
        if rounds were made; not saved in files
    noise_depends_on_rows_ : bool, whether rounds found that mistakes depend on more than the class
        (tested if C was given and noisy rows have weight 1); C then holds only on average
    n_iter_ : number of steps
    history_ : dict with the `objective` after every step and, with `relabel`, `relabelled`: the
        share of the rows fitted with another class than before in each round

    Notes
    -----
    Settings left at "auto" are chosen on held-out rows, in up to five folds, by the log-loss at the
    best temperature: penalties by the truths of trusted rows and by all labels seen through C, or
    by votes; weights of noisy rows by the truths alone. Penalties are tried in steps of a factor
    of 3 around 3e-4 times the mean squared distance of a row from the mean, as long as held-out
    labels become likelier. With fewer than 30 labelled and 3 trusted rows per class nothing is
    chosen, and that penalty is used. On Dask collections only trusted rows are held out. A class
    without a trusted row is assumed to have the average error rate, with a `ConfusionWarning`.

    With at least 3 trusted rows per class the model is an average of the fit through C (or to the
    votes), the same after rounds of relabelling, and two simple ones: labels (or the majority of
    the votes) taken as right, and the trusted rows alone, with the weights that make held-out
    truths likeliest. An average of linear models is linear.

    Where anything was chosen, or rounds were made, the weights are finally scaled to the
    temperature at which those held-out truths, labels or votes are likeliest, and intercepts are
    moved so that class shares stay; without truths these are drawn towards even ones as far as
    chance explains the label frequencies. `predict_proba` is calibrated if mistakes depend on the
    class alone. With an estimated matrix this is not guaranteed, as temperature and noise cannot be
    told apart. With every setting a number the weights minimise the objective, and nothing is
    scaled.

    With noise the objective is not convex. The fit starts at the solution of the trusted rows;
    without trusted rows of every class, at the class means seen through C, or at 0 if some class
    is indistinguishable from noise. Poor optima are rare while the right label is the likeliest of
    its row of C; beyond that, only trusted rows can tell which class is which. See "When a local
    optimum hurts" in ``docs/choosing_a_model.md``.

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
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LikelihoodFits._parameter_constraints,
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
        y_true : the truth where known, missing elsewhere. Such rows count with their truth
        sample_weight : frequency weight of every row

        Returns
        -------
        The fitted classifier. Ctrl-C keeps the current model and re-raises the interrupt; with
        ``warm_start=True`` the next call continues from there.
        """
        self._validate_params()
        stale = ["annotators_", "annotator_confusion_", "annotator_silence_", "_pair_counts"]
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
        known = self._shrunk(known)
        self._warn_of_matrix(data, known)
        whole, used = data.X, UsedColumns.of(data.X)
        if self._warm_started:
            self._refuse_another_problem(data, self._state.weights)
        if used is not None:
            data = replace(data, X=used.take(whole))
        data = self._with_preconditioner(data)
        last = self._state.calibration if self._warm_started else None
        state = self._first_state(data, known, used)
        self._publish_labels(data.labels)
        choice = Choice(self, data, known)
        try:
            if state.interrupted:
                raise KeyboardInterrupt
            choice.choose()
            if choice.known is not known:
                known, state = choice.known, self._first_state(data, choice.known, used)
        except KeyboardInterrupt:
            if state.posterior is None:  # of the means: no model yet
                raise
            # The search started at the trusted rows' solution: that is the model.
            self.noisy_weight_, state.interrupted = 0.0, True
        if not state.interrupted:
            settings = self._likelihood(data, known, self.noisy_weight_, self.max_iter)
            choice.begin(settings, engine := self._engine_without(data, None), state)
            state = settings.run(engine, state)
            given = known.matrix if known.source == "given" else None
            plain = replace(state)
            rounds = self._relabel_noisy(data, settings, state, given, choice.search)
            if state.calibration is None and last is not None:
                state.calibrate(last[0], last[1:], self.fit_intercept)
            state = choice.conclude(plain, state, rounds)
        if used is not None:
            state.weights = used.widen(state.weights)
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
        shares = state.posterior.sum(axis=0)
        self.class_prior_ = shares / shares.sum()
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

    @property
    def cross_fitted_posterior_(self) -> FloatArray:
        """P(true class | row, label) of every training row, (n, Q), if there were rounds."""
        state: LikelihoodState | None = getattr(self, "_state", None)
        if state is None or state.row_posterior is None:
            raise AttributeError(
                "cross_fitted_posterior_ exists only after a fit with rounds of relabelling, and "
                "is not saved in files; use confusion.rank_label_errors."
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
