"""UMA as a scikit-learn classifier."""

from __future__ import annotations

from contextlib import nullcontext
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from unconfused._matrix import Unmixing, confusion_classes, make_unmixing
from unconfused._typing import ArrayLike, FloatArray
from unconfused.engines import LocalEngine
from unconfused.estimators._all_at_once import FitInterrupted, all_at_once
from unconfused.estimators._noisy import NoisyData, NoisyLabelClassifier, confusion_for
from unconfused.selection import SELECTIONS, Selection
from unconfused.solvers.uma import INTERRUPTED, UMA, UMAState
from unconfused.steps import STEPS, StepRule


class UMAClassifier(NoisyLabelClassifier):
    """Linear classifier for noisy labels with a known or estimated confusion matrix.

    UMA (Louche and Ralaivola, *Unconfused Ultraconservative Multiclass Algorithms*) groups the
    training rows by predicted class p and inverts the confusion matrix to estimate how many of them
    are truly of class q, and their sum. This gives one update vector for every pair (p, q): the
    mean of the rows predicted p that are truly q. The selected pair is used like one clean,
    misclassified example. With two classes this is the noise-tolerant Perceptron of Bylander and of
    Blum, Frieze, Kannan and Vempala.

    Parameters
    ----------
    confusion : array-like of shape (Q, Q), DataFrame, or None
        ``confusion[t, k]`` is the probability that a row of true class t has label k. Rows sum to
        1. A plain array follows the order of `classes`, or of the sorted labels; a DataFrame is
        aligned by its labels. None estimates it from the rows with a `y_true`; without any, labels
        are assumed clean, and UMA is a batch Perceptron.
    selection : {"error", "confusion", "random"} or callable
        Which pair to update next: the one that confuses the most rows, the largest share of its
        true class, or a random one. See `unconfused.selection`.
    step : {"perceptron", "uniform", "proportional", "mira", "passive_aggressive"} or callable
        How an update is distributed over the classes. See `unconfused.steps`.
    alpha : float
        Minimum margin of a prediction; other rows are ignored.
    init : {"zero", "means"}
        Initial weights: 0, as in the paper, or the unmixed class means (a nearest-mean classifier,
        if there is an intercept).
    average : bool
        Whether to use the average of the weights over all updates instead of the last ones.
    max_iter : int
        Maximum number of updates.
    tol : float or "auto"
        Stopping tolerance: training stops when no update vector has a norm above it. "auto" stops
        when no pair is statistically significant; if the unmixed class means have a lower estimated
        error, training restarts from them.
    fit_intercept : bool
        Whether to fit an intercept.
    classes : array-like or None
        All classes, if some may be missing from the observed labels; also the order of a plain
        `confusion`.
    missing_label : "auto" or a value
        Value that marks a missing label in `y` and `y_true`, besides None and NaN. "auto" means -1
        where that is unambiguous.
    warm_start : bool
        Whether to continue from the weights of the last fit.
    n_jobs : int or None
        Number of threads; -1 for all cores, None for the current OpenMP limit.
    random_state : int, RandomState or None
        Seed of ``selection="random"``.
    verbose : int
        Verbosity of progress messages.

    Attributes
    ----------
    classes_ : the sorted classes
    coef_, intercept_ : the weights; one row per class, or a single row with two classes
    confusion_ : (Q, Q), the confusion matrix used, in the order of `classes_`
    class_prior_ : (Q,), estimated share of each true class among the training rows
    n_iter_ : number of updates
    history_ : dict of arrays with one entry per update: `predicted` and `true` (the pair, as
        indices into `classes_`), `norm` of the update vector, `noise` (expected norm of its
        sampling error), `significance` (estimated mass over its standard error), `step` (of the
        true class)
    stopped_ : reason why the fit stopped
    means_at_ : number of updates before the restart from the class means (see `tol`); None without
        one

    Examples
    --------
    Three digits in ten are labelled as the next digit:

    >>> from sklearn.datasets import load_digits
    >>> from unconfused import UMAClassifier, noise
    >>> X, y = load_digits(return_X_y=True)
    >>> C = noise.pairwise(10, 0.3)
    >>> seen = noise.corrupt_labels(y, C, random_state=0)
    >>> print(f"{UMAClassifier().fit(X / 16, seen).score(X / 16, y):.1f}")
    0.8
    >>> print(f"{UMAClassifier(C).fit(X / 16, seen).score(X / 16, y):.1f}")
    0.9
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "confusion": "no_validation",
        "selection": [StrOptions(set(SELECTIONS)), callable],
        "step": [StrOptions(set(STEPS)), callable],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "init": [StrOptions({"zero", "means"})],
        "average": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "fit_intercept": ["boolean"],
        "classes": ["array-like", None],
        "missing_label": "no_validation",
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    confusion_: FloatArray
    class_prior_: FloatArray
    history_: dict[str, FloatArray]
    n_iter_: int
    stopped_: str
    means_at_: int | None
    _state: UMAState
    _pair_counts: FloatArray
    _order: ArrayLike | None

    def __init__(
        self,
        confusion: Any = None,
        *,
        selection: str | Selection = "error",
        step: str | StepRule = "perceptron",
        alpha: float = 0.0,
        init: str = "zero",
        average: bool = False,
        max_iter: int = 1000,
        tol: float | str = "auto",
        fit_intercept: bool = True,
        classes: ArrayLike | None = None,
        missing_label: Any = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.confusion = confusion
        self.selection = selection
        self.step = step
        self.alpha = alpha
        self.init = init
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.classes = classes
        self.missing_label = missing_label
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
        y : observed labels; may be missing where `y_true` is given
        y_true : true labels where known, missing elsewhere; they replace the observed ones
        sample_weight : frequency weight of every row

        Returns
        -------
        The fitted classifier. Ctrl-C keeps the current model and re-raises the interrupt; with
        ``warm_start=True`` the next call continues from there.
        """
        self._validate_params()
        data = self._check_data(X, y, y_true, sample_weight, self.classes, reset=True)
        again = self.warm_start and hasattr(self, "_state")
        state = self._resumed_state(data) if again else None
        unmixing = self._unmixing(data, self.classes, None)
        self.classes_ = data.labels.classes
        self._order = self.classes
        # tol="auto" can stop after few updates, where the class means may be better.
        try_means = self.tol == "auto" and self.init == "zero"
        try:
            self._run(data, unmixing, state, self.max_iter, try_means)
        finally:
            # Also after an interrupt. Only now: with many classes this is costly.
            self._pair_counts = data.pair_counts()
        return self

    @all_at_once
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        y_true: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Make one update from one chunk of a stream, the paper's online variant of UMA.

        The update vector is computed from this chunk alone, and only the weights are kept. With
        chunks as large as the batch algorithm needs (`unconfused.theory.sample_size`), O(1/margin²)
        chunks suffice for separable classes; smaller chunks give noisier vectors, and `tol="auto"`
        skips chunks without a significant pair. If the confusion matrix is not given, it is counted
        over the trusted rows of all chunks so far; labels of classes without trusted rows are
        assumed clean. `class_prior_` refers to the last chunk.

        Parameters
        ----------
        X, y, y_true, sample_weight : as for `fit`
        classes : all classes; required on the first call unless given to the constructor or by a
            labelled confusion matrix
        """
        self._validate_params()
        first = not hasattr(self, "_state")
        named = self._classes_for_chunks(classes, first)
        data = self._check_data(X, y, y_true, sample_weight, named, reset=first)
        counts = data.pair_counts() + (0 if first else self._pair_counts)
        order = self.classes if self.classes is not None else classes
        order = order if first else self._order
        unmixing = self._unmixing(data, order, counts)
        self.classes_, self._pair_counts, self._order = data.labels.classes, counts, order
        state = None if first else self._resumed_state(data)
        self._run(data, unmixing, state, 1, try_means=False)
        return self

    def _classes_for_chunks(self, classes: ArrayLike | None, first: bool) -> ArrayLike | None:
        if not first:
            self._refuse_other_classes(classes)
            return self.classes_
        labelled = self.confusion is not None and confusion_classes(self.confusion) is not None
        named = [one for one in (self.classes, classes) if one is not None]
        if len(named) == 2 and not np.array_equal(np.unique(named[0]), np.unique(named[1])):
            raise ValueError(
                f"classes={classes!r} differ from the constructor's classes={self.classes!r}."
            )
        if classes is None and self.classes is None and not labelled:
            raise ValueError(
                "classes must be passed on the first call to partial_fit: later chunks may show "
                "labels this one does not."
            )
        return self.classes if self.classes is not None else classes

    def _unmixing(
        self, data: NoisyData, order: ArrayLike | None, counts: FloatArray | None
    ) -> Unmixing:
        known = confusion_for(data, self.confusion, order, counts)
        return make_unmixing(
            known.matrix, data.labels.classes, trusted=data.trusted, counts=known.counts
        )

    def _resumed_state(self, data: NoisyData) -> UMAState:
        self._refuse_another_problem(data, self._state.weights)
        return self._state.copy()

    def _run(
        self,
        data: NoisyData,
        unmixing: Unmixing,
        state: UMAState | None,
        max_iter: int,
        try_means: bool,
    ) -> None:
        """Wrap the data in an engine, solve, and set the fitted attributes."""
        engine = self._engine(data.X, data.codes, data.n_codes, data.sample_weight)
        if state is None:
            state = UMAState(np.zeros((unmixing.n_classes, engine.n_features)))
        algorithm = UMA(
            selection=_named(self.selection, SELECTIONS),
            step=_named(self.step, STEPS),
            tol=None if isinstance(self.tol, str) else float(self.tol),
            max_iter=max_iter,
            average=self.average,
            init=self.init,
            try_means=try_means,
            rng=check_random_state(self.random_state),
            verbose=int(self.verbose),
        )
        with engine.at_work() if isinstance(engine, LocalEngine) else nullcontext():
            state = algorithm.run(engine, unmixing, float(self.alpha), state)
        self.confusion_ = unmixing.matrix
        self.class_prior_ = unmixing.prior(engine.code_counts, warn=False)
        self.n_iter_, self.stopped_ = state.n_updates, state.stopped
        self.means_at_ = state.means_at
        self.history_ = state.history()
        self._state = state
        weights = state.averaged() if self.average else state.weights
        self._publish_weights(weights, data.X, self.fit_intercept)
        if state.stopped == INTERRUPTED:
            raise FitInterrupted


def _named(choice: Any, table: Any) -> Any:
    """Return the built-in object with this name, or a custom one unchanged."""
    return table[choice] if isinstance(choice, str) else choice
