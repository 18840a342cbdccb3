"""Algorithm 1, for clean labels, as a scikit-learn classifier."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from unconfused._labels import encode_labels
from unconfused._typing import ArrayLike, IntArray, Rows
from unconfused.estimators._base import FitInterrupted, LinearClassifier, all_at_once
from unconfused.estimators._noisy import checked_labels, refuse_one_class
from unconfused.solvers.ultraconservative import OnlineState, Ultraconservative
from unconfused.steps import STEPS, StepRule


class UltraconservativeClassifier(LinearClassifier):
    """Online linear classifier for clean labels, on which UMA is based.

    Processes one row at a time. If other classes score at least as high as the row's own class
    (the *error set*), the weights of its own class move towards the row, and only those of the
    error set move away. These are Crammer and Singer's ultraconservative additive algorithms; with
    the ``"perceptron"`` step, it is the multiclass Perceptron. On data separable with margin θ by a
    classifier of unit norm, ``perceptron``, ``uniform`` and ``proportional`` make at most
    ``2 R² / θ²`` mistakes in total (`unconfused.theory.mistake_bound`).

    Labels are assumed clean; for noisy labels use `UMAClassifier`. Sample weights are not
    supported, as the order of the rows matters.

    Parameters
    ----------
    step : {"perceptron", "uniform", "proportional", "mira", "passive_aggressive", "copa"} or \
            callable
        How an update is distributed over the classes. See `unconfused.steps`. A custom rule is
        called from Python for every mistake, which is slow on many rows.
    average : bool
        Whether to use the average of the weights over all rows seen instead of the last ones.
    max_iter : int
        Maximum number of epochs; an epoch without a mistake ends the fit.
    shuffle : bool
        Whether to shuffle the rows before each epoch.
    fit_intercept : bool
        Whether to fit an intercept.
    random_state : int, RandomState or None
        Seed of the shuffling.
    verbose : int
        Verbosity of progress messages.

    Attributes
    ----------
    classes_ : the sorted classes
    coef_, intercept_ : the weights; one row per class, or a single row with two classes
    n_iter_ : number of epochs
    n_mistakes_ : number of mistakes over all epochs

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unconfused import UltraconservativeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = UltraconservativeClassifier(average=True, random_state=0).fit(X, y)
    >>> bool(clf.score(X, y) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LinearClassifier._parameter_constraints,
        "step": [StrOptions(set(STEPS)), callable],
        "average": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
    }

    def __init__(
        self,
        *,
        step: str | StepRule = "perceptron",
        average: bool = False,
        max_iter: int = 50,
        shuffle: bool = True,
        fit_intercept: bool = True,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.step = step
        self.average = average
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.verbose = verbose

    @all_at_once
    def fit(self, X: Any, y: ArrayLike) -> Self:  # type: ignore[override]  # clean labels alone
        """Run epochs over the rows until one has no mistake, or `max_iter` is reached.

        Ctrl-C keeps the current model and re-raises the interrupt.
        """
        self._validate_params()
        X = self._check_rows(X, reset=True)
        codes = self._encode(y, X, None)
        self._state = self._first_state(X)
        rng = check_random_state(self.random_state) if self.shuffle else None
        self._run(X, codes, self.max_iter, rng)
        return self

    @all_at_once
    def partial_fit(self, X: Any, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Run one epoch over these rows, in their order.

        Parameters
        ----------
        X, y : rows and their labels
        classes : all classes; required on the first call
        """
        self._validate_params()
        first = not hasattr(self, "_state")
        X = self._check_rows(X, reset=first)
        self._check_stream_classes(classes, first=first)
        codes = self._encode(y, X, classes if first else self.classes_)
        fresh = self._first_state(X)
        if first:
            self._state = fresh
        elif (self._state.weights.shape, self._state.lag.shape) != (
            fresh.weights.shape,
            fresh.lag.shape,
        ):
            raise ValueError(
                "Cannot continue: fit_intercept or average has changed. Use a clone instead."
            )
        else:
            self._state = self._state.copy()
        self._run(X, codes, 1, None)
        return self

    def _encode(self, y: Any, X: Rows, classes: ArrayLike | None) -> IntArray:
        labels = encode_labels(checked_labels(self, y, X), classes=classes, missing_label=None)
        if np.any(labels.observed < 0):
            raise ValueError(
                "y holds missing labels; this classifier learns from complete, clean labels. "
                "Drop those rows."
            )
        refuse_one_class(labels.classes)
        self.classes_ = labels.classes
        return labels.observed

    def _first_state(self, X: Rows) -> OnlineState:
        n_features = X.shape[1] + self.fit_intercept
        return OnlineState.zero(n_features, len(self.classes_), self.average)

    def _run(
        self, X: Rows, codes: IntArray, max_epochs: int, rng: np.random.RandomState | None
    ) -> None:
        rule = STEPS[self.step] if isinstance(self.step, str) else self.step
        algorithm = Ultraconservative(rule, self.fit_intercept, int(self.verbose))
        state = algorithm.run(X, codes, self._state, max_epochs, rng)
        self.n_iter_, self.n_mistakes_ = state.n_epochs, state.n_mistakes
        self._publish_weights(state.class_weights(), X, self.fit_intercept)
        if state.interrupted:
            state.interrupted = False
            raise FitInterrupted
