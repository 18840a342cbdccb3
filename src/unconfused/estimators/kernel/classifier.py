"""UMA in the dual form: a kernel classifier for noisy labels."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, cast

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from unconfused._typing import ArrayLike, FloatArray, Rows
from unconfused.engines.base import Engine
from unconfused.engines.kernel import BLOCK_VALUES, KernelEngine
from unconfused.estimators._arrays import array_space, is_dask
from unconfused.estimators._base import FitInterrupted, LinearClassifier
from unconfused.estimators._noisy import NoisyData, unmixing_for
from unconfused.estimators.dask.lazy import lazy_on_dask
from unconfused.estimators.uma import UMAClassifier, algorithm_of
from unconfused.kernels import median_gamma
from unconfused.selection import Selection
from unconfused.solvers.uma.solver import INTERRUPTED, UMAState
from unconfused.steps import StepRule

KERNELS = frozenset(PAIRWISE_KERNEL_FUNCTIONS) | {"precomputed"}

AS_IN_UMA = ("selection", "step", "alpha", "init", "average", "tol", "class_weight")


class KernelUMAClassifier(LinearClassifier):
    """UMA with a kernel, for noisy labels and boundaries that are not linear.

    This is `UMAClassifier` with ``whiten=False`` in the feature space of a kernel, without
    approximation (dual form); with a linear kernel both predict the same. The Gram matrix is
    computed in blocks, so no array of size n x n is held. Predictions are slow, because nearly all
    training rows are part of the model. For more than about 10,000 rows, use UMA on approximate
    features:
    ``make_pipeline(Nystroem(n_components=m), UMAClassifier(C))``, or
    `unconfused.kernels.kernel_projection` in place of ``Nystroem``.

    Parameters
    ----------
    confusion : array-like of shape (Q, Q) or (Q, S), DataFrame, ConfusionEstimate or None
        ``confusion[t, k]`` is the probability that a row of true class t has label k; rows sum to
        1. A plain array follows `classes`, or sorted order; a DataFrame is aligned by its labels.
        None: counted on the rows with a `y_true`; without any, labels are taken as right.
    kernel : str, callable or "precomputed"
        "rbf", "linear", "poly", "cosine" or another kernel of
        `sklearn.metrics.pairwise.pairwise_kernels`; a function of two rows; or "precomputed": X is
        then the Gram matrix of the training rows in `fit`, and of the rows to predict with these
        otherwise.
    gamma : "scale", "median", float or None
        Parameter of the kernels "rbf", "laplacian", "poly", "sigmoid" and "chi2". "scale": 1 / the
        mean squared distance between two rows; "median": 1 / the median squared distance in a
        sample of rows (`unconfused.kernels.median_gamma`); None: 1 / number of features.
    degree, coef0 : float
        Parameters of the kernels "poly" and "sigmoid".
    max_iter : int
        Maximum number of updates.
    selection, step, alpha, init, average, tol, fit_intercept, class_weight, classes, \
            missing_label, random_state, verbose
        As in `UMAClassifier`.

    Attributes
    ----------
    classes_ : the sorted classes
    dual_coef_ : (Q, n), weight of every training row in the score of each class; one row for two
        classes, the difference
    intercept_ : intercept of each class, or the difference
    X_fit_ : the training rows, unless the kernel is precomputed
    gamma_ : the gamma in use
    confusion_ : (Q, S), the confusion matrix used, in the order of `classes_`
    class_prior_ : (Q,), estimated share of each true class among the training rows
    n_iter_ : number of updates
    history_ : dict of arrays with one entry per update: the pair, the norm of its update vector,
        the norm's noise level, its significance, and the step of the true class
    stopped_ : reason why the fit stopped

    Notes
    -----
    Memory: n x (Q S + 2 (updates + S)) numbers, with n rows, Q classes and S label codes (Q, or 2 Q
    with trusted rows), and 64 MB of kernel values.

    Examples
    --------
    Two rings; three in ten labels of the inner one are wrong:

    >>> from sklearn.datasets import make_circles
    >>> from unconfused import KernelUMAClassifier, noise
    >>> X, y = make_circles(400, factor=0.3, noise=0.1, random_state=0)
    >>> C = [[1.0, 0.0], [0.3, 0.7]]
    >>> seen = noise.corrupt_labels(y, C, random_state=0)
    >>> print(f"{KernelUMAClassifier(C).fit(X, seen).score(X, y):.2f}")
    1.00
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LinearClassifier._parameter_constraints,
        "kernel": [StrOptions(set(KERNELS)), callable],
        "gamma": [StrOptions({"scale", "median"}), Interval(Real, 0, None, closed="neither"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Real],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        **{name: UMAClassifier._parameter_constraints[name] for name in AS_IN_UMA},
    }

    def __init__(
        self,
        confusion: Any = None,
        *,
        kernel: str | Callable[..., float] = "rbf",
        gamma: float | str | None = "scale",
        degree: float = 3,
        coef0: float = 1,
        selection: str | Selection = "error",
        step: str | StepRule = "perceptron",
        alpha: float = 0.0,
        init: str = "auto",
        average: bool = False,
        max_iter: int = 1000,
        tol: float | str = "auto",
        fit_intercept: bool = True,
        class_weight: Any = None,
        classes: ArrayLike | None = None,
        missing_label: Any = "auto",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.confusion = confusion
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.selection = selection
        self.step = step
        self.alpha = alpha
        self.init = init
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.classes = classes
        self.missing_label = missing_label
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        """Declare that a precomputed kernel is cut in both directions by cross-validation."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _fit(self, data: NoisyData) -> None:
        precomputed = self.kernel == "precomputed"
        if precomputed and (data.X.shape[0] != data.X.shape[1] or issparse(data.X)):
            raise ValueError(
                'With kernel="precomputed", X must be the square, dense Gram matrix of the '
                f"training rows; its shape is {data.X.shape}."
            )
        unmixing = unmixing_for(data, self.confusion, self.classes)
        self.classes_, self.confusion_ = data.labels.classes, unmixing.matrix
        self.X_fit_, self.gamma_ = (None if precomputed else data.X), self._width(data)
        engine = KernelEngine(
            lambda rows: self._kernel_values(data.X[rows], self.X_fit_),
            self._diagonal(data.X),
            data.codes,
            data.n_codes,
            data.sample_weight,
            intercept=self.fit_intercept,
            capacity=self.max_iter + data.n_codes,
        )
        self.class_prior_ = unmixing.prior(engine.code_counts, warn=False)
        state = UMAState(np.zeros((unmixing.n_classes, engine.n_features)))
        algorithm = algorithm_of(self, self.class_prior_, self.classes, max_iter=self.max_iter)
        # UMA asks for cells alone; what else an engine does with rows has no dual form here.
        state = algorithm.run(cast(Engine, engine), unmixing, float(self.alpha), state)
        self._publish_dual(engine, state)
        if state.stopped == INTERRUPTED:
            raise FitInterrupted

    @lazy_on_dask
    def decision_function(self, X: Any) -> FloatArray:
        """Score every class on every row, (n, Q); with two classes (n,), positive for the second.

        With a precomputed kernel, X has the kernel values of rows to score (rows) with the training
        rows (columns).
        """
        check_is_fitted(self)
        X = self._check_rows(X, reset=False)
        scores = np.empty((X.shape[0], len(self.dual_coef_)))
        size = max(1, BLOCK_VALUES // self.dual_coef_.shape[1])
        for start in range(0, X.shape[0], size):
            block = self._kernel_values(X[start : start + size], self.X_fit_)
            scores[start : start + size] = block @ self.dual_coef_.T + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def _kernel_values(self, rows: Rows, others: Rows | None) -> FloatArray:
        if others is None:
            return np.asarray(rows, dtype=np.float64)
        settings = {"gamma": self.gamma_, "degree": self.degree, "coef0": self.coef0}
        settings = {} if callable(self.kernel) else settings
        values = pairwise_kernels(rows, others, metric=self.kernel, filter_params=True, **settings)
        return np.asarray(values.toarray() if issparse(values) else values, dtype=np.float64)

    def _diagonal(self, X: Rows) -> FloatArray:
        """Return the kernel value of every row with itself."""
        if self.kernel == "precomputed":
            return np.asarray(np.diag(X), dtype=np.float64)
        if self.kernel in ("rbf", "laplacian"):
            return np.ones(X.shape[0])
        parts = [X[i : i + 64] for i in range(0, X.shape[0], 64)]
        return np.concatenate([np.diag(self._kernel_values(part, part)) for part in parts])

    def _width(self, data: NoisyData) -> float | None:
        if self.gamma not in ("scale", "median"):
            return None if self.gamma is None else float(self.gamma)
        if self.kernel == "precomputed" or callable(self.kernel):
            return None
        if self.gamma == "median":
            return median_gamma(data.X, random_state=check_random_state(self.random_state))
        scaler = StandardScaler(with_mean=False).fit(data.X, sample_weight=data.sample_weight)
        # Two rows are on average twice the variance apart.
        spread = 2 * float(scaler.var_.sum())
        return 1 / spread if spread > 0 else 1.0

    def _publish_dual(self, engine: KernelEngine, state: UMAState) -> None:
        weights = state.averaged() if self.average else state.weights
        dual = engine.dual_weights(weights)
        offsets = weights[:, -1] if self.fit_intercept else np.zeros(len(weights))
        if len(dual) == 2:
            dual, offsets = np.diff(dual, axis=0), np.diff(offsets)
        self.dual_coef_, self.intercept_ = dual, offsets
        self.n_iter_, self.stopped_ = state.n_updates, state.stopped
        self.history_ = state.history()

    def _check_rows(self, X: Any, *, reset: bool) -> Rows:
        if is_dask(X) or array_space(X) is not None:
            raise TypeError(
                f"{type(self).__name__} needs NumPy arrays or CSR matrices, not {type(X)}; for "
                "others, use UMAClassifier on kernel features (unconfused.kernels)."
            )
        return super()._check_rows(X, reset=reset)
