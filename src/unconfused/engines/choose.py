"""Choice of the engine, by where the rows are stored."""

from __future__ import annotations

from importlib.util import find_spec

from unconfused._typing import FloatArray, IntArray, Rows
from unconfused.engines.array_api.engine import ArrayEngine
from unconfused.engines.array_api.namespace import ArraySpace
from unconfused.engines.local.engine import LocalEngine


def make_engine(
    X: Rows,
    codes: IntArray,
    n_codes: int,
    sample_weight: FloatArray | None,
    *,
    intercept: bool,
    n_threads: int,
    space: ArraySpace | None,
) -> LocalEngine | ArrayEngine:
    """Return the engine for these rows; `space` is None for NumPy arrays and CSR matrices."""
    if space is None:
        return LocalEngine(
            X, codes, n_codes, sample_weight, intercept=intercept, n_threads=n_threads
        )
    kind = ArrayEngine
    on_cuda = getattr(space.device, "type", None) == "cuda"
    if on_cuda and space.xp.__name__.endswith("torch") and find_spec("triton"):
        from unconfused.engines.cuda.engine import TorchEngine

        kind = TorchEngine
    return kind(X, codes, n_codes, sample_weight, space=space, intercept=intercept)
