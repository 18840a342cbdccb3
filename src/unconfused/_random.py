"""Seeds, in every form people pass them."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from unconfused._typing import Seed


def random_state(seed: Seed) -> np.random.RandomState:
    """Return a RandomState for a seed, a RandomState, a Generator or None."""
    if isinstance(seed, np.random.Generator):
        return np.random.RandomState(seed.bit_generator)
    rng: np.random.RandomState = check_random_state(seed)
    return rng
