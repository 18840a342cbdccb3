"""Transform rows into kernel features for linear classifiers, with bounded memory.

The classifiers of this package are linear. For nonlinear problems, project the rows first::

    make_pipeline(kernel_projection(640), UMAClassifier(confusion))
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import PCA, KernelPCA
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from unconfused._typing import Rows

__all__ = ["KernelProjection", "kernel_projection", "median_gamma"]

Kernel: TypeAlias = Literal["rbf", "cosine"]

DEFAULT_COMPONENTS = 1_000
MEDIAN_ROWS = 1_000
# Rows used to fit the PCA after Nystroem: enough for a stable rotation, and bounded in memory.
ROTATION_ROWS = 20_000
# Rows projected at once: with 5,000 reference rows that is 40 MB of kernel values.
BATCH_ROWS = 1_024
# Rows have unit norm in the feature space of these kernels: a projection below this is rounding
# error and is not normalized.
NEGLIGIBLE_NORM = 1e-7


def median_gamma(X: Rows, *, random_state: int | np.random.RandomState | None = None) -> float:
    """Choose the width of a Gaussian kernel by the median heuristic.

    For a random sample S of at most 1,000 rows, drawn without replacement, the result is
    ``1 / median(|x - x'|^2 over the pairs x, x' of S)``: two rows at the median distance have
    similarity ``exp(-1)``. If more than half of the pairs coincide, the mean replaces the median;
    if all of them do, the result is 1.

    Parameters
    ----------
    X : array-like or CSR matrix, rows without missing values
    random_state : seed of the sample, used with more than 1,000 rows

    Examples
    --------
    >>> from unconfused.kernels import median_gamma
    >>> median_gamma([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0]])  # squared distances 4, 4, 8
    0.25
    """
    rows = _sample(X if sparse.issparse(X) else np.asarray(X), MEDIAN_ROWS, random_state)
    distances = euclidean_distances(rows, squared=True)
    between = distances[np.triu_indices_from(distances, k=1)]
    for typical in (np.median, np.mean):
        if between.size and typical(between) > 0:
            return float(1.0 / typical(between))
    return 1.0


class KernelProjection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Project rows on the leading principal components of a kernel.

    Up to ``exact_limit`` training rows this is exact kernel PCA. Beyond, the kernel is approximated
    from ``2 * n_components`` random training rows (Nystroem), followed by a PCA of the
    approximation, fitted on at most 20,000 rows (or twice the number of drawn rows, if that is
    more), which keeps the leading ``n_components``. Rows are projected in batches, so that beyond
    ``exact_limit`` no array of size rows times rows is held.

    Parameters
    ----------
    n_components : number of output features. If there are fewer training rows, it is lowered to
        their number, with a warning. ``None``: 1,000 or the number of rows, whichever is smaller.
        Components beyond the rank of the kernel are columns of zeros
    kernel : similarity of two rows: "rbf", ``exp(-gamma |x - x'|^2)``, or "cosine" (for text)
    gamma : inverse width of "rbf", a number or "median" (:func:`median_gamma`)
    exact_limit : largest number of training rows for the exact computation, whose memory is
        quadratic and whose time is cubic in the number of rows
    unit_norm : whether to normalize projected rows to Euclidean norm 1. Zero rows stay zero
    dtype : type of the result, ``float32`` or ``float64``; the computation is in ``float64``
    random_state : seed of the rows drawn for the width and for the approximation

    Attributes
    ----------
    gamma_ : the inverse width used
    n_components_ : number of output features
    projector_ : fitted ``KernelPCA``, or ``Nystroem`` followed by ``PCA``
    n_features_in_, feature_names_in_ : number and names of the features seen in ``fit``

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unconfused.kernels import KernelProjection
    >>> X, _ = load_iris(return_X_y=True)
    >>> projection = KernelProjection(n_components=5, random_state=0).fit(X)
    >>> projection.transform(X).shape
    (150, 5)
    >>> projection.get_feature_names_out()[:2]
    array(['kernelprojection0', 'kernelprojection1'], dtype=object)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "kernel": [StrOptions({"rbf", "cosine"})],
        "gamma": [StrOptions({"median"}), Interval(Real, 0, None, closed="neither")],
        "exact_limit": [Interval(Integral, 0, None, closed="left")],
        "unit_norm": ["boolean"],
        "dtype": "no_validation",
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Kernel = "rbf",
        gamma: float | Literal["median"] = "median",
        exact_limit: int = 5_000,
        unit_norm: bool = True,
        dtype: DTypeLike = np.float32,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.exact_limit = exact_limit
        self.unit_norm = unit_norm
        self.dtype = dtype
        self.random_state = random_state

    def fit(self, X: Rows, y: object = None) -> Self:
        """Choose the kernel width and fit the projection to at least two rows; `y` is ignored."""
        self._validate_params()
        _result_type(self.dtype)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2
        )
        random_state = check_random_state(self.random_state)
        self.n_components_ = self._possible_components(X.shape[0])
        median = self.gamma == "median"
        self.gamma_ = median_gamma(X, random_state=random_state) if median else float(self.gamma)
        exact = X.shape[0] <= self.exact_limit
        self.projector_ = self._exact(X) if exact else self._approximate(X, random_state)
        return self

    def transform(self, X: Rows) -> NDArray[Any]:
        """Return the projections of rows, (n_samples, `n_components_`), computed in batches."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        dtype = _result_type(self.dtype)
        return _in_batches(self.projector_, X, self.n_components_, dtype, self.unit_norm)

    def _possible_components(self, n_rows: int) -> int:
        if self.n_components is None:
            return min(n_rows, DEFAULT_COMPONENTS)
        if self.n_components > n_rows:
            warnings.warn(
                f"n_components={self.n_components} exceeds the {n_rows} training rows; using "
                f"n_components={n_rows}.",
                UserWarning,
                stacklevel=3,
            )
        return int(min(n_rows, self.n_components))

    def _exact(self, X: Rows) -> Any:
        # "arpack" takes five times as long, "randomized" as long, with inaccurate last components.
        settings = {"kernel": self.kernel, "gamma": self.gamma_, "eigen_solver": "dense"}
        exact = KernelPCA(self.n_components_, copy_X=False, **settings)
        return exact.set_output(transform="default").fit(X.astype(np.float64))

    def _approximate(self, X: Rows, random_state: np.random.RandomState) -> Any:
        n_landmarks = min(X.shape[0], 2 * self.n_components_)
        landmarks = _sample(X, n_landmarks, random_state).astype(np.float64)
        # Nystroem rejects parameters that its kernel does not take, such as gamma for cosine.
        gamma = None if self.kernel == "cosine" else self.gamma_
        nystroem = Nystroem(
            kernel=self.kernel, gamma=gamma, n_components=n_landmarks, random_state=random_state
        )
        nystroem.set_output(transform="default").fit(landmarks)
        rows = _sample(X, max(ROTATION_ROWS, 2 * n_landmarks), random_state)
        features = _in_batches(nystroem, rows, n_landmarks, np.dtype(np.float64), False)
        rotation = PCA(self.n_components_, svd_solver="covariance_eigh", copy=False)
        rotation.set_output(transform="default").fit(features)
        return Pipeline([("landmarks", nystroem), ("rotation", rotation)])

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def kernel_projection(n_components: int | None = None, **parameters: Any) -> KernelProjection:
    """Return a :class:`KernelProjection` with these parameters, unfitted.

    Examples
    --------
    Two rings, not linearly separable, become so:

    >>> from sklearn.datasets import make_circles
    >>> from sklearn.linear_model import Perceptron
    >>> from sklearn.pipeline import make_pipeline
    >>> from unconfused.kernels import kernel_projection
    >>> X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    >>> model = make_pipeline(kernel_projection(20, random_state=0), Perceptron())
    >>> model.fit(X, y).score(X, y)
    1.0
    """
    return KernelProjection(n_components, **parameters)


def _result_type(dtype: DTypeLike) -> np.dtype[Any]:
    resolved = np.dtype(dtype)
    if resolved not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be float32 or float64, got {resolved}.")
    return resolved


def _sample(X: Rows, n_rows: int, random_state: int | np.random.RandomState | None) -> Rows:
    if X.shape[0] <= n_rows:
        return X
    drawn = check_random_state(random_state).choice(X.shape[0], n_rows, replace=False)
    return X[np.sort(drawn)]


def _in_batches(
    projector: Any, X: Rows, width: int, dtype: np.dtype[Any], unit_norm: bool
) -> NDArray[Any]:
    """Project batch by batch; only one batch of kernel values is held at a time."""
    projected = np.empty((X.shape[0], width), dtype=dtype)
    for batch in gen_batches(X.shape[0], BATCH_ROWS):
        part = projector.transform(X[batch].astype(np.float64))
        if unit_norm:
            norms = np.linalg.norm(part, axis=1, keepdims=True)
            part = np.divide(part, norms, out=np.zeros_like(part), where=norms > NEGLIGIBLE_NORM)
        projected[batch] = part
    return projected
