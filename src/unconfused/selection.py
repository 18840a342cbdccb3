"""Selection strategies: which pair of classes UMA updates next.

A pair (p, q) stands for the rows predicted p that are truly q. A strategy chooses one of the
selectable pairs from the norms of their update vectors and the class shares; it does not see the
data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from unconfused._typing import BoolArray, FloatArray

TIE = 1e-12
"""Relative tolerance below which criteria are tied; the lowest pair wins."""


class Selection(Protocol):
    """Callable from pair norms and class shares to one pair."""

    def __call__(
        self,
        norms: FloatArray,
        prior: FloatArray,
        selectable: BoolArray,
        rng: np.random.RandomState,
    ) -> tuple[int, int]:
        """Return a pair (p, q) for which `selectable` is True.

        Parameters
        ----------
        norms : (Q, Q), norms of the update vectors of rows predicted p, truly q
        prior : (Q,), estimated share of each true class, positive
        selectable : (Q, Q), mask of the pairs to choose from; at least one is True
        rng : the only source of randomness a strategy may use
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
    """Select the pair with the largest norm: the one that confuses the most rows.

    Subclasses select by the norm times a factor per true class: they override `scale`.

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
        """Return the pair with the largest norm times factor."""
        return highest_pair(norms * self.scale(prior), selectable)

    def scale(self, prior: FloatArray) -> FloatArray:
        """Return a factor per true class, (Q,)."""
        return np.ones_like(prior)


@dataclass(frozen=True)
class ByConfusion(ByError):  # noqa: N818 (no exception)
    """Select the pair that confuses the largest share of its true class; favours rare classes.

    Examples
    --------
    >>> import numpy as np
    >>> norms = np.array([[0.0, 0.2], [0.3, 0.0]])
    >>> ByConfusion()(norms, np.array([0.9, 0.1]), norms > 0, np.random.RandomState(0))
    (0, 1)
    """

    def scale(self, prior: FloatArray) -> FloatArray:
        """Return a factor per true class, (Q,)."""
        return np.asarray(1 / prior)


@dataclass(frozen=True)
class AtRandom:
    """Select a pair uniformly at random: the paper's baseline.

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
        """Return a uniformly drawn pair."""
        pairs = np.argwhere(selectable)
        p, q = pairs[rng.randint(len(pairs))]
        return int(p), int(q)


SELECTIONS: dict[str, Selection] = {
    "error": ByError(),
    "confusion": ByConfusion(),
    "random": AtRandom(),
}
"""Built-in strategies by name."""
