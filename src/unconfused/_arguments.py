"""Numbers, weights and seeds that users pass."""

from __future__ import annotations

import math
from numbers import Integral, Real
from zlib import crc32

import numpy as np
from sklearn.utils import check_random_state

from unconfused._typing import ArrayLike, FloatArray, Seed


def random_state(seed: Seed) -> np.random.RandomState:
    """Return a RandomState for a seed, a RandomState, a Generator or None."""
    if isinstance(seed, np.random.Generator):
        return np.random.RandomState(seed.bit_generator)
    rng: np.random.RandomState = check_random_state(seed)
    return rng


def own_stream(seed: Seed, purpose: str) -> np.random.RandomState:
    """Return a RandomState for one purpose, independent of other draws from the same seed.

    An integer is hashed together with the purpose: the seed that made the data does not make
    the noise repeat the data's draws. Anything else is used as it is.
    """
    plain = random_state(seed)  # also refuses what is no seed
    if not isinstance(seed, Integral):
        return plain
    entropy = np.random.SeedSequence(int(seed), spawn_key=(crc32(purpose.encode()),))
    return np.random.RandomState(np.random.MT19937(entropy))


def check_positive(value: float, name: str) -> float:
    """Return a finite positive number, or raise an error that names it."""
    if not isinstance(value, Real) or not 0 < value < math.inf:
        raise ValueError(f"{name} must be a finite number above 0; got {value!r}.")
    return float(value)


def check_not_negative(value: float, name: str) -> float:
    """Return a finite number of at least 0, or raise an error that names it."""
    if not isinstance(value, Real) or not 0 <= value < math.inf:
        raise ValueError(f"{name} must be at least 0 and finite; got {value!r}.")
    return float(value)


def check_count(value: int, name: str, smallest: int) -> int:
    """Return an integer of at least `smallest`, or raise an error that names it."""
    if not isinstance(value, Integral) or value < smallest:
        raise ValueError(f"{name} must be an integer of at least {smallest}; got {value!r}.")
    return int(value)


def check_inner_share(value: float, name: str) -> float:
    """Return a number between 0 and 1, ends excluded, or raise an error that names it."""
    if not isinstance(value, Real) or not 0 < value < 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1; got {value!r}.")
    return float(value)


def check_share(value: float, name: str) -> float:
    """Return a number from 0 to 1, or raise an error that names it."""
    if not isinstance(value, Real) or not 0 <= value <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1; got {value!r}.")
    return float(value)


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
