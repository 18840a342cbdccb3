"""Selection strategies: which pair of classes UMA unconfuses next.

A strategy sees a table of pair norms and the classes' shares, never the data, and picks one of the
pairs (p, q) it is offered: rows predicted p that are truly q.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from unconfused._typing import BoolArray, FloatArray

TIE = 1e-12
"""Criteria equal up to this share count as tied, and the lowest pair wins."""


class Selection(Protocol):
    """A table of pair norms and the classes' shares -> one pair."""

    def __call__(
        self,
        norms: FloatArray,
        prior: FloatArray,
        selectable: BoolArray,
        rng: np.random.RandomState,
    ) -> tuple[int, int]:
        """Return one pair (p, q) for which `selectable` is True; at least one is.

        Parameters
        ----------
        norms : (Q, Q), the norm of the update vector of rows predicted p, truly q
        prior : (Q,), the estimated share of each true class, positive
        selectable : (Q, Q), the pairs that may be chosen
        rng : the only source of chance a strategy may use
        """
        ...


def highest_pair(criterion: FloatArray, selectable: BoolArray) -> tuple[int, int]:
    """Return the selectable pair with the highest criterion, the lowest pair on a tie."""
    offered = np.where(selectable, criterion, -np.inf)
    best = offered.max()
    tied = offered >= best - TIE * abs(best)
    p, q = np.unravel_index(int(np.argmax(tied)), tied.shape)
    return int(p), int(q)


@dataclass(frozen=True)
class ByError:
    """The pair with the longest update vector: the most rows confused.

    Examples
    --------
    >>> import numpy as np
    >>> norms = np.array([[0.0, 0.2], [0.3, 0.0]])
    >>> ByError()(norms, np.array([0.9, 0.1]), norms > 0, np.random.RandomState(0))
    (1, 0)
    """

    def __call__(
        self,
        norms: FloatArray,
        prior: FloatArray,
        selectable: BoolArray,
        rng: np.random.RandomState,
    ) -> tuple[int, int]:
        """Return the pair with the largest norm."""
        return highest_pair(norms, selectable)

    def scale(self, prior: FloatArray) -> FloatArray:
        """Return the factors by true class: the highest norm times its factor is chosen."""
        return np.ones_like(prior)


@dataclass(frozen=True)
class ByConfusion:
    """The pair that confuses the largest share of its true class: fair to rare classes.

    Examples
    --------
    >>> import numpy as np
    >>> norms = np.array([[0.0, 0.2], [0.3, 0.0]])
    >>> ByConfusion()(norms, np.array([0.9, 0.1]), norms > 0, np.random.RandomState(0))
    (0, 1)
    """

    def __call__(
        self,
        norms: FloatArray,
        prior: FloatArray,
        selectable: BoolArray,
        rng: np.random.RandomState,
    ) -> tuple[int, int]:
        """Return the pair with the largest norm over the share of its true class."""
        return highest_pair(norms / prior[np.newaxis, :], selectable)

    def scale(self, prior: FloatArray) -> FloatArray:
        """Return the factors by true class: the highest norm times its factor is chosen."""
        return np.asarray(1 / prior)


@dataclass(frozen=True)
class AtRandom:
    """Any selectable pair with equal chance: the paper's point of comparison.

    Examples
    --------
    >>> import numpy as np
    >>> norms = np.array([[0.0, 0.2], [0.3, 0.0]])
    >>> AtRandom()(norms, np.array([0.5, 0.5]), norms > 0.25, np.random.RandomState(0))
    (1, 0)
    """

    def __call__(
        self,
        norms: FloatArray,
        prior: FloatArray,
        selectable: BoolArray,
        rng: np.random.RandomState,
    ) -> tuple[int, int]:
        """Return a pair drawn uniformly."""
        pairs = np.argwhere(selectable)
        p, q = pairs[rng.randint(len(pairs))]
        return int(p), int(q)


SELECTIONS: dict[str, Selection] = {
    "error": ByError(),
    "confusion": ByConfusion(),
    "random": AtRandom(),
}
"""The strategies by the names the estimators know."""
