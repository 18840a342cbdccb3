"""Sample weights: frequencies, one per row."""

from __future__ import annotations

import numpy as np

from unconfused._typing import ArrayLike, FloatArray


def check_weight(
    sample_weight: ArrayLike | None, n_rows: int, name: str = "sample_weight"
) -> FloatArray:
    """Return weights as floats, 1 for every row if None; refuse negative and infinite ones."""
    weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if weight.shape != (n_rows,):
        raise ValueError(
            f"{name} must have one number per row, shape ({n_rows},); it has shape {weight.shape}."
        )
    if not np.all((weight >= 0) & np.isfinite(weight)):
        raise ValueError(f"{name} must be finite and not negative.")
    return weight
