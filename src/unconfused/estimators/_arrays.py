"""Rows as NumPy, SciPy or other libraries hold them: checks, conversions, scores, threads.

With ``sklearn.set_config(array_api_dispatch=True)`` rows stay in their library. Labels and weights
are converted to NumPy.

After a product, OpenBLAS threads busy-wait for some 20 milliseconds and take cores away from
compiled loops that follow, which costs a fit that alternates between the two much of its speed-up.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from numbers import Real
from typing import Any

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.utils._array_api import (
    _convert_to_numpy,
    _is_numpy_namespace,
    get_namespace_and_device,
)
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import column_or_1d
from threadpoolctl import ThreadpoolController

from unconfused._labels import label_array
from unconfused._typing import FloatArray, Labels
from unconfused.engines.array_api.namespace import ArraySpace

FEW_ENTRIES = 2**22
"""Stored entries up to which BLAS threads cost more than they gain: a product of such rows takes
less time than the threads' synchronization."""

_blas_limited = threading.Lock()


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask collection, without importing Dask."""
    return hasattr(X, "__dask_graph__")


def array_space(X: Any) -> ArraySpace | None:
    """Return namespace and device of an array of another library; None for NumPy and SciPy."""
    if isinstance(X, np.ndarray) or issparse(X) or not get_config()["array_api_dispatch"]:
        return None
    if not hasattr(X, "__array_namespace__") and not hasattr(X, "__dlpack__"):
        return None
    xp, is_array_api, device = get_namespace_and_device(X)
    if not is_array_api or _is_numpy_namespace(xp):
        return None
    return ArraySpace(xp, device, partial(_convert_to_numpy, xp=xp))


def namespace(X: Any) -> Any:
    """Return the array API namespace of an array: NumPy, or that of another library."""
    space = array_space(X)
    return np if space is None else space.xp


def refuse_unusable(X: Any) -> None:
    """Raise if an array of another library cannot be used: sparse, or on an unreachable device."""
    if isinstance(X, np.ndarray) or issparse(X):
        return
    kind = type(X).__module__.partition(".")[0]
    if str(getattr(X, "layout", "")).startswith("torch.sparse") or kind == "cupyx":
        raise TypeError(
            f"X is a sparse array of {kind}, which is not supported. Pass a dense one "
            "(`X.to_dense()` or `X.toarray()`), or a SciPy CSR matrix."
        )
    if get_config()["array_api_dispatch"] or not hasattr(X, "__dlpack_device__"):
        return
    device = getattr(X, "device", "cpu")
    if str(getattr(device, "type", "cpu")) != "cpu" or kind == "cupy":
        raise TypeError(
            f"X is a {kind} array on {device}. To compute there, set SCIPY_ARRAY_API=1 in the "
            "environment before Python starts, and call "
            "sklearn.set_config(array_api_dispatch=True). Otherwise move X to the CPU."
        )


def refuse_other_than_numbers(X: Any) -> None:
    """Raise in words if X holds texts, or a frame's columns categories or dates."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        kinds = zip(X.columns, X.dtypes, strict=True)
        others = [name for name, dtype in kinds if not _is_numeric(dtype)]
        if others:
            shown = ", ".join(map(repr, others[:6])) + ", ..." * (len(others) > 6)
            raise ValueError(
                f"X has columns that are not numbers: {shown}. Encode them first, for instance "
                "with sklearn.compose.make_column_transformer in a pipeline, or wrap a classifier "
                "that takes them in UnconfusedClassifier. The command `unconfused fit` encodes "
                "the columns of a file itself."
            )
    elif np.ndim(X) == 1 and len(X) and isinstance(next(iter(X)), str):
        raise ValueError(
            "X holds texts. Turn them into numbers first: make_pipeline(TfidfVectorizer(), ...), "
            "or the embeddings of a language model."
        )


def _is_numeric(dtype: Any) -> bool:
    """Return whether a column of pandas or polars holds numbers or booleans."""
    if hasattr(dtype, "kind"):
        return dtype.kind in "biuf"
    return bool(getattr(dtype, "is_numeric", bool)()) or str(dtype) == "Boolean"


def without_duplicates(X: Any) -> Any:
    """Add up entries of sparse rows that are stored in parts: they would be squared in parts."""
    if issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def float_types(X: Any) -> list[Any]:
    """Return the types of rows that are used as they are, the more precise one first."""
    space = array_space(X)
    if space is None:
        return [np.float64, np.float32]
    known = space.xp.__array_namespace_info__().dtypes(kind="real floating", device=space.device)
    return [known[name] for name in ("float64", "float32") if name in known]


def to_numpy(array: Any) -> Any:
    """Return an array of another library as a NumPy array, and everything else as it is."""
    space = array_space(array)
    return array if space is None else space.to_host(array)


def one_column(labels: Any) -> Labels:
    """Return labels as an array; a column vector as one of one dimension, with a warning."""
    array = label_array(to_numpy(labels))
    if array.ndim != 2 or array.shape[1] != 1:
        return array
    column: Labels = column_or_1d(array, warn=True)
    return column


def like(array: NDArray[Any], X: Any, dtype: Any = None) -> Any:
    """Return a NumPy array as one of X's library, on X's device."""
    space = array_space(X)
    if space is None:
        return np.ascontiguousarray(array, dtype=dtype)
    return space.xp.asarray(np.ascontiguousarray(array), dtype=dtype, device=space.device)


def rows_at(X: Any, rows: NDArray[Any]) -> Any:
    """Return chosen rows, by their indices or by a mask."""
    space = array_space(X)
    if space is None:
        return X[rows]
    indices = np.flatnonzero(rows) if rows.dtype == bool else rows
    return space.xp.take(X, space.put(indices), axis=0)


def refuse_other_namespace(X: Any, estimator: Any) -> None:
    """Raise if rows are of another library, or on another device, than those of the fit."""
    fitted, here = (
        "NumPy" if space is None else f"{space.xp.__name__} on {space.device}"
        for space in (array_space(estimator.coef_), array_space(X))
    )
    if here != fitted:
        raise ValueError(
            f"X must use the same namespace and device as the rows that the "
            f"{type(estimator).__name__} was fitted to: {fitted}, not {here}."
        )
    if not get_config()["array_api_dispatch"] and not isinstance(estimator.coef_, np.ndarray):
        kind = type(estimator.coef_).__module__.partition(".")[0]
        raise ValueError(
            f"This {type(estimator).__name__} was fitted on arrays of {kind}: call "
            "sklearn.set_config(array_api_dispatch=True) before predicting, too."
        )


def class_scores(X: Any, coef: Any, intercept: Any) -> Any:
    """Return ``X @ coef.T + intercept``, (n, rows of coef); raise if it overflows."""
    xp = namespace(X)
    with np.errstate(over="ignore", invalid="ignore"):
        scores = safe_sparse_dot(X, coef.T, dense_output=True) + intercept
        if bool(xp.isfinite(xp.sum(scores))) or bool(xp.all(xp.isfinite(scores))):
            return scores
    raise ValueError("The scores overflow: scale the features down, here and in the fit.")


def scores_on_host(X: Any, weights: FloatArray) -> FloatArray:
    """Return the scores of the classes, (n, Q); the last weights are intercepts if X lacks them."""
    columns = X.shape[1]
    return np.asarray(to_numpy(X) @ weights[:, :columns].T + weights[:, columns:].sum(axis=1))


def fits_into(weights: FloatArray, dtype: Any) -> bool:
    """Whether weights neither overflow nor lose digits in this type."""
    largest, info = np.abs(weights).max(initial=0.0), np.finfo(dtype)
    # Differences of scores must not overflow; what underflows is less than a rounding error.
    smallest = float(info.smallest_normal) / float(info.eps)
    return bool(largest == 0 or smallest <= largest <= float(info.max) / 4)


@cache
def thread_pools() -> ThreadpoolController:
    """Return the loaded thread pools; cached, since the search takes milliseconds."""
    return ThreadpoolController()


def thread_count(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` asks for: all cores this process may use if -1.

    None asks for as many, up to the current limit of OpenMP, which threadpoolctl, the environment
    and joblib's workers set where several processes share the cores.
    """
    available = cpu_count()
    if n_jobs is None:
        pools = thread_pools().info()
        loops = [pool["num_threads"] for pool in pools if pool["user_api"] == "openmp"]
        return int(max(1, min([available, *loops])))
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning: use 1 for one thread, -1 for all cores.")
    return n_jobs if n_jobs > 0 else max(1, int(available) + 1 + n_jobs)


@contextmanager
def quiet_blas() -> Iterator[None]:
    """Limit BLAS to one thread inside this context.

    The limit is global to the process, so of several concurrent contexts only the first sets and
    restores it; otherwise the last to exit could restore the limit of 1 set by another.
    """
    if not _blas_limited.acquire(blocking=False):
        yield
        return
    try:
        with thread_pools().limit(limits=1, user_api="blas"):
            yield
    finally:
        _blas_limited.release()


def n_entries(X: Any) -> int:
    """Return the number of stored entries of rows; `sys.maxsize` if it is unknown."""
    if hasattr(X, "nnz"):
        return int(X.nnz)
    shape: tuple[Any, ...] = getattr(X, "shape", ())
    # The number of rows of a Dask collection may be unknown: NaN (array) or lazy (frame).
    known = len(shape) == 2 and isinstance(shape[0], Real) and shape[0] == shape[0]
    return int(shape[0] * shape[1]) if known else sys.maxsize


def blas_threads_for(X: Any) -> AbstractContextManager[None]:
    """Return a context that limits BLAS to one thread if the rows are few."""
    return quiet_blas() if n_entries(X) <= FEW_ENTRIES else nullcontext()
