"""Seeds, in every form people pass them."""

from __future__ import annotations

from numbers import Integral
from zlib import crc32

import numpy as np
from sklearn.utils import check_random_state

from unconfused._typing import Seed


def random_state(seed: Seed) -> np.random.RandomState:
    """Return a RandomState for a seed, a RandomState, a Generator or None."""
    if isinstance(seed, np.random.Generator):
        return np.random.RandomState(seed.bit_generator)
    rng: np.random.RandomState = check_random_state(seed)
    return rng


def own_stream(seed: Seed, purpose: str) -> np.random.RandomState:
    """Return a RandomState for one purpose, independent of other draws from the same seed.

    A whole number is hashed together with the purpose: the seed that made the data does not make
    the noise repeat the data's draws. Anything else is used as it is.
    """
    plain = random_state(seed)  # also refuses what is no seed
    if not isinstance(seed, Integral):
        return plain
    entropy = np.random.SeedSequence(int(seed), spawn_key=(crc32(purpose.encode()),))
    return np.random.RandomState(np.random.MT19937(entropy))
