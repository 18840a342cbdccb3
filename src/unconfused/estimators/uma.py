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
    """Linear classifier learnt from noisy labels through their confusion matrix.

    UMA (Louche and Ralaivola, *Unconfused Ultraconservative Multiclass Algorithms*) cuts the
    training rows by what the current weights predict (p), and undoes the confusion matrix to
    learn what each cut truly holds (q). That gives one vector for every pair of classes: the rows
    predicted p that are truly q. The pair that stands out most makes the next step, as if it were
    one clean example. With two classes this is the noise-tolerant Perceptron of Bylander and of
    Blum, Frieze, Kannan and Vempala.

    Parameters
    ----------
    confusion : array-like of shape (Q, Q), DataFrame, or None
        ``confusion[t, k]``: the chance that a row truly of class t carries label k. Rows sum to 1.
        A plain array follows `classes`, or their sorted order; a DataFrame is aligned by its
        labels. None: estimated from the rows with a `y_true`; without any, labels are taken as
        they are, and UMA is a batch Perceptron.
    selection : {"error", "confusion", "random"} or callable
        Which pair goes next: the one with the most rows, with the largest share of its true
        class, or any. See `unconfused.selection`.
    step : {"perceptron", "uniform", "proportional", "mira", "passive_aggressive"} or callable
        How a step is divided among the classes. See `unconfused.steps`.
    alpha : float
        Only rows predicted with at least this margin count.
    init : {"zero", "means"}
        Start at 0, as the paper does, or at the class means seen through the confusion matrix
        (with an intercept: the class with the nearest mean, as far as the means can be relied on).
    average : bool
        Use the mean of the weights after each update instead of the last ones.
    max_iter : int
        At most so many updates.
    tol : float or "auto"
        A pair must have a vector longer than this to make a step. "auto" asks instead that the
        rows it stands for be more than label noise could feign: later steps would learn the
        noise. Where no pair stands out any more but the class means seen through the confusion
        matrix make fewer mistakes by the estimate, it goes on from these.
    fit_intercept : bool
        Append a constant feature.
    classes : array-like or None
        All classes, if the observed labels may not show every one; also the order of a plain
        `confusion`.
    missing_label : "auto" or a value
        What means "missing" in `y` and `y_true`, besides None and NaN. "auto": -1, where it can
        be nothing else.
    warm_start : bool
        Go on from the weights of the last fit.
    n_jobs : int or None
        Threads that share the rows; -1 for all cores, None for as many as OpenMP may use just now.
    random_state : int, RandomState or None
        Chance for ``selection="random"``.
    verbose : int
        Report progress.

    Attributes
    ----------
    classes_ : the classes, sorted
    coef_, intercept_ : the weights; one row per class, or one in all with two classes
    confusion_ : (Q, Q), the matrix that was used, in the order of `classes_`
    class_prior_ : (Q,), estimated share of each true class among the training rows
    n_iter_ : number of updates
    history_ : dict of arrays, one entry per update: `predicted` and `true` (the pair, as indices
        into `classes_`), `norm` of its vector, `noise` (the length chance alone would give it),
        `significance` (its rows over their standard error), `step` (of the true class)
    stopped_ : why the fit ended
    means_at_ : after how many updates the weights were replaced by the class means (see `tol`),
        None if they were not

    Examples
    --------
    Three digits in ten carry the label of the next digit:

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
        """Learn from rows and their noisy labels.

        Parameters
        ----------
        X : array, CSR matrix, frame or Dask collection of shape (n, d); see ``docs/scaling.md``
        y : the observed labels; may be missing where `y_true` is given
        y_true : the truth where known, missing elsewhere. Such rows count with their truth
        sample_weight : how many rows each row stands for

        Returns
        -------
        The fitted classifier. Interrupted with Ctrl-C, the model so far is kept, and the
        interrupt is passed on; with ``warm_start=True`` the next call goes on from there.
        """
        self._validate_params()
        data = self._check_data(X, y, y_true, sample_weight, self.classes, reset=True)
        again = self.warm_start and hasattr(self, "_state")
        state = self._resumed_state(data) if again else None
        unmixing = self._unmixing(data, self.classes, None)
        self.classes_ = data.labels.classes
        self._order = self.classes
        # Later updates only chase noise (`tol`), but the first ones must not be too few either.
        try_means = self.tol == "auto" and self.init == "zero"
        try:
            self._run(data, unmixing, state, self.max_iter, try_means)
        finally:
            # Interrupted or not. Not before: with many classes it is much beside what a run takes.
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
        """Make one update from one chunk of a stream: the paper's online reading of UMA.

        The update vector comes from this chunk alone, so rows never seen by the current weights
        make it, and nothing but the weights is kept. Given chunks as large as the batch algorithm
        needs (`unconfused.theory.sample_size`), order 1/margin² chunks suffice for a separable
        concept; on smaller chunks the vectors are noisier, and `tol="auto"` passes over chunks in
        which no pair stands out. The confusion matrix, if not given, is counted over the trusted
        rows of all chunks so far; until a class has one, its labels are believed. `class_prior_`
        is that of the last chunk.

        Parameters
        ----------
        X, y, y_true, sample_weight : as for `fit`
        classes : all classes; needed on the first call unless the constructor or a labelled
            confusion matrix names them
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
    """Return a strategy by its name, or the user's own object as it is."""
    return table[choice] if isinstance(choice, str) else choice
