"""Sample sizes, and their inflation by the confusion matrix."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from scipy.special import lambertw

from unconfused._arguments import check_count, check_inner_share, check_positive
from unconfused._matrix import SINGULAR_BEYOND, Unmixing
from unconfused._matrix_labels import check_confusion
from unconfused._typing import ArrayLike


def inflation(confusion: ArrayLike) -> float:
    """Return the factor by which unmixing widens the range of the averaged terms.

    A row with observed label y enters the update vector of true class q with coefficient
    ``inverse(C)[y, q]``, instead of 0 or 1 for clean labels. The deviation bound behind
    `sample_size` (Hoeffding's inequality) depends only on the range of one row's contribution, so
    the relevant norm is the largest absolute entry of the inverse; the spectral norm or condition
    number would include combinations of rows that never occur.

    It is at least 1, with equality for the identity. The sample size grows with its square. This is
    a worst case: the standard errors reported by the estimators use the variance of the
    coefficients, which is smaller.

    Parameters
    ----------
    confusion : rows are true classes, columns observed labels; invertible

    Examples
    --------
    >>> from unconfused.theory import inflation
    >>> inflation([[0.9, 0.1], [0.3, 0.7]])
    1.5
    """
    matrix = check_confusion(confusion)
    if not np.linalg.cond(matrix) < SINGULAR_BEYOND:
        raise ValueError("The confusion matrix is singular: no number of rows is enough.")
    return max(1.0, float(np.abs(Unmixing(matrix).coefficients).max()))


def sample_size(
    epsilon: float,
    delta: float,
    n_features: int,
    n_classes: int,
    *,
    confusion: ArrayLike | None = None,
    radius: float = 1.0,
    regions: Literal["fixed", "learned"] = "fixed",
) -> int:
    r"""Return n0, the number of rows that makes every update vector accurate to `epsilon`.

    With n0 rows or more, drawn independently, the probability is at least ``1 - delta`` that
    :math:`|z_{pq} - \mu_{pq}| \le \varepsilon` for all pairs p ≠ q at once. By symmetrisation, a
    cover, and Hoeffding's inequality, for functions with values in an interval of length 2,

    .. math:: P(\sup > \eta) \le 4\, Q (Q - 1)\, N(\eta / 8)\, e^{-n \eta^2 / 128}
              \quad\text{if } n \eta^2 \ge 32,

    with :math:`\eta = \min(2, \varepsilon / (\kappa R))`, κ the `inflation` of C: the functions
    ``inverse(C)[y, q] <u, x>`` of a unit vector u take values in [-κR, κR], and dividing them by
    κR divides ε as well. They span at most d dimensions, so their pseudo-dimension is below
    D = d + 1, and Haussler's bound on covers in mean absolute value (Anthony and Bartlett 1999,
    Theorem 18.4) gives :math:`N(\eta/8) \le e (D + 1) (32 e / \eta)^D`; the elementary
    :math:`(1 + 16/\eta)^d` for covers of the unit ball confirms it. Solving for n,

    .. math:: n_0 = \left\lceil \frac{128}{\eta^2} \left[ \ln \frac{4 Q (Q-1)}{\delta}
              + \ln(e (D + 1)) + D \ln \frac{32 e}{\eta} \right] \right\rceil,

    which always meets the condition on :math:`n \eta^2`. Such bounds hold for any distribution
    and are pessimistic by orders of magnitude: read them for how n0 grows, not for its value.

    Parameters
    ----------
    epsilon : accepted deviation, positive
    delta : accepted probability of failure
    n_features : d, including the constant feature if there is an intercept
    n_classes : Q, at least 2
    confusion : C, rows true and columns observed. By default the labels are clean
    radius : R, a bound on the norm of every row
    regions : "fixed" is the paper's statement: the regions "predicted p" do not depend on these
        rows, as for one update on fresh rows. "learned" holds for all linear classifiers at once,
        and so for UMA, which learns its regions from the rows it averages. It multiplies the cover
        by the number of ways in which Q - 1 half-spaces can cut 2n points,
        :math:`(2 e n / D)^{D (Q - 1)}` by Sauer's lemma. The paper leaves this factor out

    Examples
    --------
    >>> from unconfused.theory import sample_size
    >>> sample_size(0.1, 0.05, n_features=2, n_classes=2)
    355411
    >>> sample_size(0.1, 0.05, n_features=2, n_classes=2, confusion=[[0.9, 0.1], [0.3, 0.7]])
    834706
    """
    d = check_count(n_features, "n_features", 1)
    Q = check_count(n_classes, "n_classes", 2)
    if regions not in ("fixed", "learned"):
        raise ValueError(f'regions must be "fixed" or "learned"; got {regions!r}.')
    kappa = 1.0 if confusion is None else inflation(check_confusion(confusion, Q))
    scale = kappa * check_positive(radius, "radius")
    # No deviation of a mean of values in [-1, 1] is larger than 2.
    eta = min(2.0, check_positive(epsilon, "epsilon") / scale)
    D = d + 1
    log_failures = math.log(4 * Q * (Q - 1) / check_inner_share(delta, "delta"))
    log_cover = 1 + math.log(D + 1) + D * math.log(32 * math.e / eta)
    rows = 128 / eta**2 * (log_failures + log_cover)
    if regions == "fixed":
        return math.ceil(rows)
    # The larger solution of n = rows + factor * log(slope * n), by Lambert's function.
    factor, slope = 128 / eta**2 * D * (Q - 1), 2 * math.e / D
    branch = lambertw(-math.exp(-rows / factor) / (factor * slope), -1)
    return math.ceil(-factor * float(branch.real))
