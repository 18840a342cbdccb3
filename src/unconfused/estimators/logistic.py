"""Logistic regression through the confusion matrix, as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from unconfused._typing import ArrayLike, BoolArray, FloatArray, Labels, Rows
from unconfused.estimators._all_at_once import FitInterrupted, all_at_once
from unconfused.estimators._lazy import is_dask
from unconfused.estimators._likelihood_fits import LikelihoodFits, refuse_relabelling
from unconfused.estimators._noisy import (
    KnownConfusion,
    NoisyData,
    confusion_for,
)
from unconfused.estimators._used_columns import UsedColumns
from unconfused.estimators.annotators.crowd import (
    STEPS_PER_ROUND,
    are_votes,
    evidence_of,
    fit_votes,
    posterior_of_votes,
)
from unconfused.estimators.annotators.voted_rows import LocalVotes, check_votes
from unconfused.estimators.relabel.evidence import seen_in_votes, seen_through
from unconfused.solvers.likelihood import Likelihood, LikelihoodState


class UnconfusedLogisticRegression(LikelihoodFits):
    """Logistic regression for labels seen through a confusion matrix.

    Maximises the likelihood of the labels that were observed: the true class follows the softmax
    of the scores, and the label follows the true class's row of the confusion matrix. Rows whose
    truth is known count with their truth. Nothing is inverted, so the noise is not magnified as
    it is by UMA; the probabilities are those of the true classes, and `label_posterior` says
    which labels are probably wrong. Without a matrix and without known truths it is multinomial
    logistic regression.

    Parameters
    ----------
    confusion : array-like of shape (Q, Q), DataFrame, ConfusionEstimate or None
        As for `UMAClassifier`. A singular one, or nearly so, is warned of, not refused.
    refine : "auto" or bool
        Find the matrix in turn with the weights, held to the counts it comes from. "auto" does
        so for a matrix counted from few labels, and leaves a given one alone. With votes, False
        holds the annotators' matrices that the votes alone give.
    prior_strength : float
        How many times each of those counts counts.
    noisy_weight : float in [0, 1] or "auto"
        What a noisy row counts beside a trusted one. "auto": the largest weight that predicts
        held-out trusted rows as well as the best; 1 without trusted rows, and with votes, where
        each annotator's matrix says what an answer is worth.
    relabel : int or "auto"
        At most so many rounds after the fit, each of which fits anew to the classes that rows
        probably have, judged by fits that have not seen the row; labels of rows in doubt count
        less. A round costs six fits, and fifteen go before the first, to see that it does no
        harm. "auto": 4, but none on Dask collections or fewer than 30 rows per class.
    l2 : float or "auto"
        Strength of the penalty on the weights: the objective is the weighted mean loss plus
        ``l2 / 2`` times the squared weights, the intercept's left out. It is scikit-learn's with
        ``C = 1 / (l2 * total weight)``. "auto": see Notes.
    fit_intercept, classes, missing_label, n_jobs : as for `UMAClassifier`
    max_iter, tol : at most so many steps; stop when neither a derivative nor what is left to gain
        exceeds `tol`
    warm_start : bool
        Start at the weights (and the refined matrix) of the last fit. Votes always start afresh.
    random_state : int, RandomState or None
        Chance for the folds; with None they are always the same.
    verbose : int
        Report progress.

    Attributes
    ----------
    classes_, coef_, intercept_ : as for scikit-learn's LogisticRegression
    confusion_ : (Q, Q), the matrix in use, refined or not, in the order of `classes_`
    class_prior_ : (Q,), estimated share of each true class among the training rows
    l2_, noisy_weight_ : float, the penalty and the weight in use
    relabel_ : int, number of rounds made
    choice_ : dict of arrays, one entry per combination tried where any was: `l2`, `noisy_weight`,
        `believed` (labels taken as they are), the held-out `loss`, and which was `chosen`
    annotators_, annotator_confusion_ : the annotators, and their matrices (A, Q, Q), where the
        labels were votes; `confusion_` is then that of all annotators together
    cross_fitted_posterior_ : (n, Q), P(true class | row, label) of every training row by models
        that had not seen the row, where there were rounds of relabelling; not saved in files
    noise_depends_on_rows_ : bool, whether rounds found that mistakes depend on more than the class
        (asked if C was passed, no guess, and labels count in full), and held to C by counts
    n_iter_ : number of steps
    history_ : dict with the `objective` after every step; with `relabel`, `relabelled`:
        the share of the rows fitted with another class than before in each round that was made

    Notes
    -----
    Settings left at "auto" are chosen together, in five folds, by the log-loss of held-out rows at
    the temperature that suits their scores best: of the truth of trusted rows, or, where C is given
    or labels are believed, of every label seen through C; of the votes, where there are several
    (through the matrices that votes alone give). Penalties tried are from 1e-6 to 0.01 times the
    mean squared distance of a row from the mean; with votes on Dask collections, or fewer than 3
    trusted rows or 30 others per class, it is 3e-4 times that. If believing the labels, or the
    trusted rows alone, predict held-out truths clearly better than the model through C after its
    rounds, that is the model.

    With noise the objective is not convex. The fit starts at the trusted rows' solution; without
    trusted rows of every class, at the class means seen through C, where every class stands out of
    the label noise, or else at 0. Poor optima are then rare while the right
    label stays the likeliest of its row of C; beyond that, trusted rows are what decides which
    class is which. See "When a local optimum hurts" in ``docs/choosing_a_model.md``.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "confusion": "no_validation",
        "refine": [StrOptions({"auto"}), "boolean"],
        "prior_strength": [Interval(Real, 0, None, closed="left")],
        "noisy_weight": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
        "relabel": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "l2": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "fit_intercept": ["boolean"],
        "classes": ["array-like", None],
        "missing_label": "no_validation",
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    confusion_: FloatArray
    class_prior_: FloatArray
    noisy_weight_: float
    noise_depends_on_rows_: bool
    relabel_: int
    choice_: dict[str, FloatArray]
    history_: dict[str, FloatArray]
    n_iter_: int
    annotators_: Labels
    annotator_confusion_: FloatArray
    _state: LikelihoodState

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
        """Learn from rows and their noisy labels.

        Parameters
        ----------
        X : array, CSR matrix, frame or Dask collection of shape (n, d); see ``docs/scaling.md``
        y : the observed labels; may be missing where `y_true` is given. Two or more columns, or
            the result of `confusion.votes_from_long`, are votes, one annotator each
        y_true : the truth where known, missing elsewhere. Such rows count with their truth
        sample_weight : how many rows each row stands for

        Returns
        -------
        The fitted classifier. Interrupted with Ctrl-C, the model so far is kept, and the
        interrupt is passed on; with ``warm_start=True`` the next call goes on from there.
        """
        self._validate_params()
        stale = ["annotators_", "annotator_confusion_"] + ["choice_"] * (not self._goes_on)
        for name in stale:
            self.__dict__.pop(name, None)
        refuse_relabelling(self.relabel, X)
        if are_votes(y):
            return self._fit_votes(X, y, y_true, sample_weight)
        data = self._check_data(X, y, y_true, sample_weight, self.classes, reset=True)
        known = self._steadied(confusion_for(data, self.confusion, self.classes))
        self._warn_of_matrix(data, known)
        whole, used = data.X, UsedColumns.of(data.X)
        if self._goes_on:
            self._refuse_another_problem(data, self._state.weights)
        if used is not None:
            data = replace(data, X=used.take(whole))
        data = self._with_metric(data)
        state = self._first_state(data, known, used)
        self.classes_ = data.labels.classes
        try:
            if state.interrupted:
                raise KeyboardInterrupt
            search = self._choose(data, known)
        except KeyboardInterrupt:
            if state.posterior is None:  # of the means: no model yet
                raise
            # The search started at the trusted rows' solution: that is the model.
            self.noisy_weight_, state.interrupted = 0.0, True
        if not state.interrupted:
            settings = self._likelihood(data, known, self.noisy_weight_, self.max_iter)
            state = settings.run(self._engine_without(data, None), state)
            judged = self._relabel_noisy(data, settings, state, known.matrix)
            if search is not None:
                state = self._fall_back(data, known, search, state, judged)
                self.choice_ = search.table()
        if used is not None:
            state.weights = used.widen(state.weights)
        self._publish(whole, state)
        return self

    def _relabel_noisy(
        self, data: NoisyData, settings: Likelihood, state: LikelihoodState, given: FloatArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """Fit again to the classes that rows probably have, if labels may be wrong (in place)."""
        nothing_to_mend = np.array_equal(state.matrix, np.eye(len(state.matrix)))
        if not self.relabel or not data.in_memory or nothing_to_mend or data.known.all():
            return None
        fixed = replace(settings, prior_counts=None, verbose=0)

        def fit_without(held: BoolArray) -> LikelihoodState:
            # Not from the weights of all rows: from there a fit may not take a single step.
            start = self._trusted_start(data, KnownConfusion(state.matrix), held)
            return fixed.run(self._engine_without(data, held), start)

        seen = seen_through(data, state.matrix, self.noisy_weight_)
        prior_counts = settings.prior_counts
        return self._relabel(data.X, seen, state, fit_without, prior_counts, given, data.metric)

    def _first_state(
        self, data: NoisyData, known: KnownConfusion, used: UsedColumns | None
    ) -> LikelihoodState:
        """Go on from the last fit if asked to, and start at the trusted rows' solution if not."""
        if not self._goes_on:
            return self._trusted_start(data, known)
        # A copy: whatever happens before the end, the last fit stays as it was.
        state = replace(self._state, interrupted=False, objective=[*self._state.objective])
        state.noise_depends_on_rows, state.relabelled, state.row_posterior = False, [], None
        if used is not None:
            state.weights = used.narrow(state.weights)
        if not self._refines(known):
            state.matrix = known.matrix
        return state

    def _fit_votes(self, X: Any, y: Any, y_true: Any, sample_weight: Any) -> Self:
        """Fit with one confusion matrix per annotator."""
        if self.confusion is not None:
            raise ValueError(
                "With votes of several annotators each has a confusion matrix of their own, found "
                "by the fit: leave confusion=None."
            )
        # What an answer is worth is in its annotator's matrix: no more is taken off unasked.
        noisy = 1.0 if isinstance(self.noisy_weight, str) else float(self.noisy_weight)
        rows = check_votes(self, X, y, y_true, sample_weight, noisy)
        self.classes_, self.annotators_ = rows.classes, rows.annotators
        search = self._choose_for_votes(rows, sample_weight)
        if search is not None:
            self.choice_ = search.table()
        settings = Likelihood(
            self.l2_, 1.0, None, STEPS_PER_ROUND, float(self.tol), int(self.verbose)
        )
        found = fit_votes(
            rows,
            settings,
            float(self.prior_strength),
            refine=bool(self.refine),  # "auto" too: the votes alone know nothing of the rows
        )
        self.annotator_confusion_, self.noisy_weight_ = found.matrices, noisy
        if self.relabel and isinstance(rows, LocalVotes):
            evidence, _ = evidence_of(rows.crowd, found.matrices)

            def fit_without(held: BoolArray) -> LikelihoodState:
                start = LikelihoodState(0.0 * found.likelihood.weights, found.likelihood.matrix)
                kept = np.where(held, 0.0, rows.engine.weights)
                engine = self._local_engine(rows.X, np.arange(len(kept)), len(kept), kept)
                quiet = replace(found.settings, max_iter=int(self.max_iter), verbose=0)
                return quiet.run(engine, start, evidence)

            weight = self._check_weight(sample_weight, rows.X)
            seen = seen_in_votes(evidence, rows.crowd.truth, noisy, weight)
            metric = found.settings.metric
            self._relabel(rows.X, seen, found.likelihood, fit_without, metric=metric)
        self._publish(rows.X, found.likelihood)
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
                stacklevel=4,
            )

    @property
    def cross_fitted_posterior_(self) -> FloatArray:
        """P(true class | row, label) of every training row, (n, Q), if there were rounds."""
        state: LikelihoodState | None = getattr(self, "_state", None)
        if state is None or state.row_posterior is None:
            raise AttributeError(
                "Only a fit with relabel > 0 leaves behind what models that had not seen a row say "
                "of it, and a model loaded from a file has none: use confusion.rank_label_errors."
            )
        return state.row_posterior

    def label_posterior(self, X: Any, y: ArrayLike) -> FloatArray:
        """Return P(true class | row, observed label), (n, Q); of the row alone where y is missing.

        One minus the entry of the observed label is the probability that this label is wrong. `y`
        may be votes of the annotators the model was fitted with. Lazy on Dask collections.
        """
        if not are_votes(y) or is_dask(X):
            return super().label_posterior(X, y)
        return posterior_of_votes(self, X, y)
