r"""Compute the guarantees of UMA: margins, mistake bounds and sample sizes.

Symbols follow Louche and Ralaivola, *Unconfused Ultraconservative Multiclass Algorithms*:
Q classes, d features (a constant feature counted when there is an intercept), R the largest norm
of a row, W* a linear classifier of Frobenius norm 1, and θ its margin, so that
``<w*_t - w*_k, x> >= θ`` for every row x of true class t and every k other than t.

Deliberate differences from the paper:

- The mean :math:`\mu_{pq}` of the rows truly of class q and predicted p is taken over *all*
  rows, the others counting as 0, so its margin is θ times the mass P(t = q, predicted p), not θ.
  The bound for UMA therefore depends on the smallest mass it still acts on.
- Inverting the confusion matrix widens the range of the averaged terms by `inflation`, so the
  inverse of C enters the sample size.
- The exponent in the uniform deviation bound is negative, and all constants are explicit.
"""

from unconfused.theory._bounds import (
    margin,
    mistake_bound,
    radius,
    uma_mistake_bound,
    whitened_mistake_bound,
)
from unconfused.theory._sample_size import inflation, sample_size

__all__ = [
    "inflation",
    "margin",
    "mistake_bound",
    "radius",
    "sample_size",
    "uma_mistake_bound",
    "whitened_mistake_bound",
]
