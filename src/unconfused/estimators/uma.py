"""UMA as a scikit-learn classifier."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from unconfused._matrix import Unmixing
from unconfused._matrix_labels import confusion_classes
from unconfused._typing import ArrayLike, FloatArray, Rows
from unconfused.estimators._arrays import quiet_blas
from unconfused.estimators._base import (
    FitInterrupted,
    LinearClassifier,
    all_at_once,
    refuse_relabelling,
)
from unconfused.estimators._class_costs import class_costs
from unconfused.estimators._noisy import NoisyData, is_open, unmixing_for
from unconfused.estimators.automatic.held_out import fold_seed
from unconfused.estimators.automatic.uma import averaged_with_simple, refined_on_held_out
from unconfused.estimators.dask.data import check_dask
from unconfused.estimators.relabel.uma_rounds import UMAWithRounds
from unconfused.selection import SELECTIONS, Selection
from unconfused.solvers.uma.solver import INTERRUPTED, UMA, UMAState
from unconfused.steps import STEPS, StepRule

LEAST_UPDATES, UPDATES_PER_PAIR = 1000, 10
"""`max_iter="auto"`: updates of every pair (p, q) on average, and updates in all at least."""


class UMAClassifier(LinearClassifier):
    """Linear classifier for noisy labels, by updates on sums of rows.

    UMA (Louche and Ralaivola, *Unconfused Ultraconservative Multiclass Algorithms*) groups the
    training rows by predicted class p. In each group it inverts the confusion matrix to estimate
    which share is truly of class q, and the sum of these rows. This *update vector* of the pair
    (p, q) is used like one clean, misclassified example. UMA needs only such sums, so it has
    `partial_fit` and suits large data. With two classes it is the noise-tolerant Perceptron of
    Bylander and of Blum, Frieze, Kannan and Vempala.

    By default UMA runs on whitened rows, starts from a linear discriminant, stops when no pair is
    statistically significant, and is then repeated on corrected labels (`relabel`). The paper's
    algorithm is ``UMAClassifier(C, whiten=False, tol=0.0, fit_intercept=False)``, with
    ``error_margin="alpha"`` if `alpha` is positive.

    Parameters
    ----------
    confusion : array-like of shape (Q, Q) or (Q, S), DataFrame, ConfusionEstimate or None
        ``confusion[t, k]`` is the probability that a row of true class t has label k; rows sum to
        1. An array follows `classes`, or the sorted classes; a DataFrame or an estimate is aligned
        by its labels, and may have columns that are not classes, such as "unsure".
        None: estimated from the rows with a `y_true`; without any, labels are taken as right.
    selection : {"error", "confusion", "random"} or callable
        Which pair to update next: the one that confuses the most rows, the largest share of its
        true class, or a random one. See `unconfused.selection`.
    step : {"auto", "perceptron", "uniform", "proportional", "mira", "passive_aggressive", \
            "copa"} or callable
        How an update is distributed over the classes; see `unconfused.steps`. "auto" is the paper's
        "perceptron" on noisy labels, and "passive_aggressive" on corrected labels (`relabel`).
    alpha : float
        Minimum margin of a prediction; rows with a smaller margin are ignored.
    error_margin : float or "alpha"
        An update lowers the scores of the classes that outscore the true class on the update vector
        by at least this margin. The paper uses `alpha`. The default is 0, because vectors of rare
        mistakes are short and would never reach a fixed margin.
    init : {"auto", "zero", "means"}
        Initial weights. "zero" is the paper's choice. "means" starts from class means estimated
        through the matrix; with `whiten`, from a linear discriminant and ten updates of all pairs
        at once, which `n_iter_` does not count. "auto" is "means" with `whiten`, or if labels are
        noisy and `tol` is "auto"; else, and for `partial_fit`, "zero".
    average : bool
        Whether to use the average of the weights over all updates instead of the last ones.
    whiten : bool or "auto"
        Whether to account for the covariance of the rows, as the second-order Perceptron does.
        "auto" does so unless labels are assumed clean. Takes a copy of the rows; sparse rows, and
        rows with more than 1,000 features, are only scaled by their variances.
    max_iter : int or "auto"
        Maximum number of updates. "auto" is 10 for each pair of classes, at least 1,000.
    tol : float or "auto"
        Training stops when no update vector has a norm above this. "auto" stops when no pair is
        statistically significant.
    relabel : int or "auto"
        Number of rounds of relabelling. A round replaces every label by the most likely class given
        the row and its label, and runs the noise-free algorithm on these. "auto": 2, or 1 with more
        than 50,000 rows, and none with few rows per feature or where mistakes turn out to depend on
        the rows. With trusted rows, the model is then averaged with simpler ones; see Notes.
    fit_intercept : bool
        Whether to fit an intercept.
    keep_updates : bool
        Whether to keep the update vectors as `updates_`, for example to train another learner on
        them.
    class_weight : "balanced", dict, array-like of shape (Q, Q), or None
        Cost of a mistake by *true* class. "balanced" gives all classes the same total weight; a
        dict maps classes to weights (1 for others); a matrix, in the order of `confusion`, has the
        cost of each prediction (columns) for each true class (rows). Update vectors are multiplied
        by the cost of their mistake.
    classes : array-like or None
        All classes, if some may be missing from the labels; also the order of a plain `confusion`.
    missing_label : "auto" or a value
        A value that marks missing labels in `y` and `y_true`, besides None and NaN. "auto": -1
        among integer labels, where that is unambiguous; None: no other value.
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
    confusion_ : (Q, S), the confusion matrix used, in the order of `classes_`
    labels_ : (S,), the labels of the columns of `confusion_`, only if they are not the classes
    class_prior_ : (Q,), estimated share of each true class among the training rows
    n_iter_, relabel_ : number of updates, those of all rounds included, and number of rounds
    history_ : dict of arrays with one entry per update: `predicted` and `true` (indices of the pair
        in `classes_`), `norm` of the update vector, `noise` (expected norm of its sampling error),
        `significance` (estimated mass over its standard error), `step` (of the true class)
    updates_ : the update vectors, one row each, with ``keep_updates=True``: estimated sums of rows
        of one true class, divided by the number of all rows
    stopped_ : reason why the fit stopped

    Notes
    -----
    A matrix estimated from rows with a `y_true` is shrunk towards equally frequent mistakes, and
    with `whiten` refined on all rows.

    With three trusted rows per class and `whiten`, the weights are averaged with those of two
    discriminants, one of the labels taken as right and one of the trusted rows alone, if the
    average predicts more held-out truths. This takes up to five more fits, and is not done with
    `class_weight`.

    Averaging, and the automatic choice of rounds, require that `relabel`, `init`, `tol` and
    `max_iter` are all "auto"; they are not done on Dask collections or if `alpha` is positive. "UMA
    by default" in ``docs/theory.md`` describes all stages of a fit.

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
    1.0
    """

    _check_dask = check_dask
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LinearClassifier._parameter_constraints,
        "selection": [StrOptions(set(SELECTIONS)), callable],
        "step": [StrOptions({*STEPS, "auto"}), callable],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "error_margin": [Interval(Real, 0, None, closed="left"), StrOptions({"alpha"})],
        "init": [StrOptions({"auto", "zero", "means"})],
        "average": ["boolean"],
        "whiten": ["boolean", StrOptions({"auto"})],
        "max_iter": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "tol": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "relabel": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "keep_updates": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), "array-like", None],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        confusion: Any = None,
        *,
        selection: str | Selection = "error",
        step: str | StepRule = "auto",
        alpha: float = 0.0,
        error_margin: float | str = 0.0,
        init: str = "auto",
        average: bool = False,
        whiten: bool | str = "auto",
        max_iter: int | str = "auto",
        tol: float | str = "auto",
        relabel: int | str = "auto",
        fit_intercept: bool = True,
        keep_updates: bool = False,
        class_weight: Any = None,
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
        self.error_margin = error_margin
        self.init = init
        self.average = average
        self.whiten = whiten
        self.max_iter = max_iter
        self.tol = tol
        self.relabel = relabel
        self.fit_intercept = fit_intercept
        self.keep_updates = keep_updates
        self.class_weight = class_weight
        self.classes = classes
        self.missing_label = missing_label
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, data: NoisyData) -> None:
        """Run UMA; with ``warm_start=True`` from where the last fit has ended."""
        refuse_relabelling(self.relabel, data)
        again = self.warm_start and hasattr(self, "_state")
        state = self._resumed_state(data) if again else None
        unmixing = unmixing_for(data, self.confusion, self.classes)
        self._publish_labels(data.labels)
        self._order = self.classes
        most = max(LEAST_UPDATES, UPDATES_PER_PAIR * unmixing.n_classes * (unmixing.n_classes - 1))
        max_iter = most if self.max_iter == "auto" else int(self.max_iter)
        try:
            self._run(data, unmixing, state, max_iter)
        finally:
            # Also after an interrupt. Only now: with many classes this is costly.
            self._pair_counts = data.pair_counts()

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
        chunks suffice for separable classes. Smaller chunks give noisier vectors; with
        ``tol="auto"``, chunks without a significant pair are skipped. If the confusion matrix is
        not given, it is counted on the trusted rows of all chunks so far; classes without trusted
        rows are assumed to be mislabelled like the others. `class_prior_` refers to the last chunk.

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
        unmixing = unmixing_for(data, self.confusion, order, counts)
        self._publish_labels(data.labels)
        self._pair_counts, self._order = counts, order
        state = None if first else self._resumed_state(data)
        self._run(data, unmixing, state, 1, stream=True)
        return self

    def _classes_for_chunks(self, classes: ArrayLike | None, first: bool) -> ArrayLike | None:
        if not first:
            self._check_stream_classes(classes, first=False)
            return self.classes_
        named = classes if self.classes is None else self.classes
        if classes is not None and set(np.asarray(named)) != set(np.asarray(classes)):
            raise ValueError(
                f"classes={classes!r} differ from the constructor's classes={self.classes!r}."
            )
        labelled = None if self.confusion is None else confusion_classes(self.confusion)
        self._check_stream_classes(labelled if named is None else named, first=True)
        return named

    def _resumed_state(self, data: NoisyData) -> UMAState:
        self._refuse_another_problem(data, self._state.weights)
        return self._state.copy()

    def _run(
        self,
        data: NoisyData,
        unmixing: Unmixing,
        state: UMAState | None,
        max_iter: int,
        stream: bool = False,
    ) -> None:
        """Wrap the data in an engine, run UMA and rounds of relabelling, and publish the model."""
        whiten = stream or not unmixing.is_identity if self.whiten == "auto" else bool(self.whiten)
        counted = unmixing.counts is not None and is_open(self.confusion)
        if counted and whiten and not stream:
            seed = fold_seed(self.random_state)
            unmixing = refined_on_held_out(data, unmixing, self._engine, seed)
        engine = self._engine(data.X, data.codes, data.n_codes, data.sample_weight)
        prior = unmixing.prior(engine.code_counts, warn=False)
        algorithm = algorithm_of(
            self,
            prior,
            self._order,
            max_iter=max_iter,
            whiten=whiten,
            stream=stream,
            error_margin=float(self.alpha if self.error_margin == "alpha" else self.error_margin),
        )
        fresh = not stream and state is None
        automatic = self.relabel == self.init == self.tol == self.max_iter == "auto"
        automatic = automatic and fresh and not self.alpha
        later = replace(algorithm, step=STEPS["passive_aggressive"])
        fit = UMAWithRounds(
            algorithm,
            later if self.step == "auto" else algorithm,
            float(self.alpha),
            None if automatic else 0 if self.relabel == "auto" or not fresh else int(self.relabel),
            self._engine,
        )
        if state is None:
            state = UMAState(np.zeros((unmixing.n_classes, engine.n_features)))
        if self.keep_updates and not state.records:
            state.vectors = []
        with quiet_blas():
            self.relabel_ = fit.run(data, engine, unmixing, state)
            weights = fit.weights(state)
            if automatic and data.trusted and algorithm.costs is None and state.ridge is not None:
                seed = fold_seed(self.random_state)
                weights = averaged_with_simple(data, unmixing, fit, state, prior, seed)
        self.confusion_, self.class_prior_ = unmixing.matrix, prior
        self._publish(state, data.X, weights)

    def _publish(self, state: UMAState, X: Rows, weights: FloatArray) -> None:
        """Set the attributes that follow from the state of a run, and these weights."""
        self._state = state
        self.n_iter_, self.stopped_ = state.n_updates, state.stopped
        self.history_ = state.history()
        self.__dict__.pop("updates_", None)
        if self.keep_updates and state.vectors is not None:
            width = state.weights.shape[1]
            vectors = np.array(state.vectors).reshape(-1, width)
            self.updates_ = vectors[:, : width - int(self.fit_intercept)]
        self._publish_weights(weights, X, self.fit_intercept)
        if state.stopped == INTERRUPTED:
            raise FitInterrupted


def algorithm_of(model: Any, prior: FloatArray, order: ArrayLike | None, **settings: Any) -> UMA:
    """Return UMA with the settings of a classifier, and those that are its own.

    `prior` and `order` are for `class_weight`: the shares of the classes, and how they are listed.
    """
    selection, step, costs = model.selection, model.step, None
    if model.class_weight is not None:
        costs = class_costs(model.class_weight, model.classes_, prior, order).T.copy()
    return UMA(
        selection=SELECTIONS[selection] if isinstance(selection, str) else selection,
        step=STEPS["perceptron" if step == "auto" else step] if isinstance(step, str) else step,
        tol=None if model.tol == "auto" else float(model.tol),
        average=model.average,
        init=model.init,
        rng=check_random_state(model.random_state),
        verbose=int(model.verbose),
        costs=costs,
        **settings,
    )
