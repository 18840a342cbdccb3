r"""The guarantees in numbers: margins, mistake bounds, and how many rows are enough.

Symbols follow Louche and Ralaivola, *Unconfused Ultraconservative Multiclass Algorithms*:
Q classes, d features (a constant feature counted when there is an intercept), R the largest norm
of a row, W* a linear classifier of Frobenius norm 1, and θ its margin, so that
``<w*_t - w*_k, x> >= θ`` for every row x of true class t and every k other than t.

Where this module departs from the paper, on purpose:

- The mean :math:`\mu_{pq}` of the rows truly of class q and predicted p is taken over *all*
  rows, the others counting as 0, so its margin is θ times the mass P(t = q, predicted p), not θ.
  The bound for UMA therefore depends on the smallest mass it still acts on.
- Undoing the confusion matrix stretches the range of what is averaged by `inflation`, so that
  the inverse of C enters the sample size.
- The exponent in the uniform deviation bound is negative, and every constant is written out.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Literal

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from unconfused._labels import MISSING, encode_labels
from unconfused._matrix import SINGULAR_BEYOND, Unmixing, check_confusion
from unconfused._typing import ArrayLike, FloatArray, IntArray, Rows

__all__ = ["inflation", "margin", "mistake_bound", "radius", "sample_size", "uma_mistake_bound"]


def radius(X: Rows, *, intercept: bool = False) -> float:
    """Return R, the largest Euclidean norm of a row.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The rows.
    intercept : bool, default=False
        Whether a constant feature 1 belongs to every row, as it does for a classifier with an
        intercept.

    Examples
    --------
    >>> from unconfused.theory import radius
    >>> radius([[3.0, 4.0], [1.0, 0.0]])
    5.0
    """
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    squares = X.multiply(X) if sparse.issparse(X) else X**2
    return float(np.sqrt(np.max(squares.sum(axis=1)) + (1.0 if intercept else 0.0)))


def margin(
    weights: ArrayLike,
    X: Rows,
    y: ArrayLike,
    *,
    intercept: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> float:
    """Return the margin θ of a linear classifier on rows whose true classes are known.

    The weights, with the intercept as one more column, are divided by their Frobenius norm, as
    the bounds of this module want it. The margin is then the smallest difference, over the rows,
    between the score of the true class and the best other score: positive when the classifier
    makes no mistake, negative when it makes some.

    Parameters
    ----------
    weights : array-like of shape (n_classes, n_features)
        One row per class. With two classes, one row w (the `coef_` of scikit-learn) stands for
        the pair -w/2 and w/2.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        True labels.
    intercept : array-like of shape (n_classes,), optional
        One intercept per row of `weights`.
    classes : array-like of shape (n_classes,), optional
        The class of each row of `weights`. By default the sorted labels of `y`.

    Examples
    --------
    >>> from unconfused.theory import margin
    >>> X, y = [[0.6, 0.8], [0.8, -0.6]], ["up", "down"]
    >>> margin([[0, -1], [0, 1]], X, y, classes=["down", "up"])
    0.848...
    """
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    W = _unit_norm(weights, intercept)
    d = W.shape[1] - 1
    if X.shape[1] != d:
        raise ValueError(f"weights have {d} columns but X has {X.shape[1]} features.")
    own_column = _true_columns(y, classes, len(W), X.shape[0])
    scores = np.asarray(X @ W[:, :d].T) + W[:, d]
    rows = np.arange(len(scores))
    own = scores[rows, own_column]
    scores[rows, own_column] = -np.inf
    return float(np.min(own - scores.max(axis=1)))


def _unit_norm(weights: ArrayLike, intercept: ArrayLike | None) -> FloatArray:
    """Weights and intercept side by side, rescaled together to Frobenius norm 1."""
    W = np.array(weights, dtype=np.float64)
    if W.ndim != 2 or not W.size:
        raise ValueError(f"weights must have one row per class; they have shape {W.shape}.")
    b = np.zeros(len(W)) if intercept is None else np.asarray(intercept, dtype=np.float64)
    if b.shape != (len(W),):
        raise ValueError(f"intercept must have shape ({len(W)},), not {b.shape}.")
    W = np.column_stack([W, b])
    if len(W) == 1:
        W = np.vstack([-W / 2, W / 2])
    norm = float(np.linalg.norm(W))
    if not np.isfinite(norm) or norm == 0:
        raise ValueError("weights must be finite and not all 0.")
    return W / norm


def _true_columns(y: ArrayLike, classes: ArrayLike | None, n_classes: int, n_rows: int) -> IntArray:
    """Which row of the weights belongs to the true class of each row of X."""
    encoded = encode_labels(y, classes=classes, missing_label=None)
    if len(encoded.classes) != n_classes:
        raise ValueError(
            f"weights have {n_classes} rows but there are {len(encoded.classes)} classes; name "
            "the class of each row with `classes`."
        )
    if len(encoded.observed) != n_rows:
        raise ValueError(f"X has {n_rows} rows but y has {len(encoded.observed)} labels.")
    if np.any(encoded.observed == MISSING):
        raise ValueError("y must not hold missing labels (None or NaN).")
    order = np.arange(n_classes) if classes is None else np.argsort(np.asarray(classes))
    return order[encoded.observed].astype(np.intp)


def mistake_bound(margin: float, radius: float = 1.0) -> float:
    """Bound the updates of an ultraconservative algorithm on clean, separable rows.

    Algorithm 1 of the paper, started at W = 0, makes at most ``2 R^2 / θ^2`` updates, over any
    number of passes. Each update adds at least θ to <W, W*>, and at most 2 R^2 to the squared
    norm of W; <W, W*> can never exceed that norm.

    It holds for steps that add the whole row to its true class and take it, in shares that sum
    to 1, from classes that scored at least as high: `perceptron`, `uniform`, `proportional`.

    Parameters
    ----------
    margin : float
        θ, positive, of some W* of Frobenius norm 1: what `margin` returns. It cannot exceed
        sqrt(2) R; a larger one means that W* was not rescaled, and is refused.
    radius : float, default=1.0
        R, the largest norm of a row, the intercept's constant included: what `radius` returns.

    Examples
    --------
    >>> from unconfused.theory import mistake_bound
    >>> mistake_bound(margin=0.5, radius=5.0)
    200.0
    """
    theta, R = _check_margin(margin, radius)
    return 2.0 * (R / theta) ** 2


def uma_mistake_bound(
    margin: float,
    tolerance: float,
    radius: float = 1.0,
    *,
    deviation: float = 0.0,
    largest_mass: float = 1.0,
) -> float:
    r"""Bound the updates of UMA when it stops at update vectors of norm `tolerance`.

    Let an update use z, an estimate of the mean μ of the rows truly of class q and predicted p
    (over all rows, so that μ carries the mass m of that cell). Suppose that, at every update,

    1. the rows are separable with margin θ by some W* of Frobenius norm 1, and none is longer
       than R: so :math:`|\mu| \le R m`, and the margin of μ is at least
       :math:`\theta m \ge \theta |\mu| / R`;
    2. the sampling error is bounded, :math:`|z - \mu| \le \varepsilon` (see `sample_size`);
    3. :math:`a \le |z|`, with a the stopping tolerance, and :math:`m \le M`;
    4. W starts at 0, and the step adds z to class q and takes it from its error set, in shares
       that sum to 1 (`perceptron`, `uniform`, `proportional`).

    Two rows of W* are at most :math:`\sqrt 2` apart, so the margins of z and μ differ by at most
    :math:`\sqrt 2 \varepsilon`. An update therefore adds at least
    :math:`\theta (|z| - \varepsilon)/R - \sqrt 2 \varepsilon \ge \rho |z|` to <W, W*>, with

    .. math:: \rho = \theta / R - (\theta / R + \sqrt 2)\, \varepsilon / a,

    and at most :math:`2 |z|^2` to the squared norm of W. Hence
    :math:`\rho^2 (\sum |z|)^2 \le 2 \sum |z|^2` over the updates made. All the norms lie between
    a and :math:`b = R M + \varepsilon`, so Kantorovich's inequality,
    :math:`(\sum |z|)^2 \ge T \sum |z|^2 \cdot 4ab/(a+b)^2`, leaves at most

    .. math:: T \le \frac{2}{\rho^2} \cdot \frac{(a + b)^2}{4 a b}

    updates. Without sampling error and with all cells of one size this is the bound of
    `mistake_bound`; the second factor is the price of cells of different masses. The paper's
    statement on convergence leaves the mass out of the margin; this one takes its place.

    Parameters
    ----------
    margin : float
        θ, positive, as for `mistake_bound`.
    tolerance : float
        a, the norm below which no update is made (a numeric `tol` of UMA). The mass of a cell
        that is acted on is then at least (a - ε)/R.
    radius : float, default=1.0
        R, the largest norm of a row, the intercept's constant included.
    deviation : float, default=0.0
        ε, a bound on the sampling error of all update vectors used. For ρ to be positive it has
        to be below ``tolerance * θ / (θ + sqrt(2) R)``; at half of that the bound is 4 times
        that of exact update vectors, or a little more.
    largest_mass : float, default=1.0
        M, the largest mass a cell can have: the share of the largest class will do.

    Examples
    --------
    >>> from unconfused.theory import uma_mistake_bound
    >>> round(uma_mistake_bound(0.1, tolerance=0.01))
    5100
    >>> round(uma_mistake_bound(0.1, tolerance=0.01, deviation=0.0003))
    17131
    """
    theta, R = _check_margin(margin, radius)
    a = _check_positive(tolerance, "tolerance")
    M = _check_positive(largest_mass, "largest_mass")
    if M > 1:
        raise ValueError(f"largest_mass is a share of the rows, at most 1; got {largest_mass}.")
    if not isinstance(deviation, Real) or not 0 <= deviation < math.inf:
        raise ValueError(f"deviation must be a finite number, 0 or more; got {deviation!r}.")
    b = R * M + deviation
    if a > b:
        raise ValueError(f"No update vector can be longer than {b:.4g}; tolerance is {a:.4g}.")
    rho = theta / R - deviation / a * (theta / R + math.sqrt(2.0))
    if rho <= 0:
        limit = a * theta / (theta + math.sqrt(2.0) * R)
        raise ValueError(
            f"At this tolerance the deviation must be below {limit:.3g}, or the sampling error "
            f"can outweigh the margin; it is {deviation:.3g}."
        )
    return 2.0 / rho**2 * (a + b) ** 2 / (4.0 * a * b)


def inflation(confusion: ArrayLike) -> float:
    """Return how far undoing a confusion matrix stretches what is averaged.

    A row with observed label y enters the update vector of true class q with the coefficient
    ``inverse(C)[y, q]``, where clean labels would give it 0 or 1. The deviation bound behind
    `sample_size` (Hoeffding's inequality) sees the range of one row's contribution and nothing
    else, so the norm that matters is the largest absolute entry of the inverse; the spectral
    norm, or the condition number, would charge for combinations of rows that never occur.

    It is 1 for the identity and never less: row q of C averages, with weights that sum to 1,
    the entries of column q of the inverse to 1. The sample size grows with its square.

    This is a worst case. The standard errors that the learners report rest on the variance of
    the coefficients, which is smaller.

    Parameters
    ----------
    confusion : array-like of shape (n_classes, n_classes)
        Rows are true classes, columns observed labels, rows sum to 1; invertible.

    Examples
    --------
    >>> from unconfused.theory import inflation
    >>> inflation([[0.9, 0.1], [0.3, 0.7]])
    1.5
    """
    matrix = check_confusion(confusion)
    if not np.linalg.cond(matrix) < SINGULAR_BEYOND:
        raise ValueError("The confusion matrix is singular: no number of rows can undo it.")
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
    r"""Return n0: so many rows make every update vector exact up to `epsilon`.

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
    epsilon : float
        Largest deviation accepted, positive.
    delta : float
        Probability of failure accepted, in (0, 1).
    n_features : int
        d, the constant feature counted if there is an intercept.
    n_classes : int
        Q, at least 2.
    confusion : array-like of shape (n_classes, n_classes), optional
        C, rows true and columns observed. By default the labels are clean.
    radius : float, default=1.0
        R, a bound on the norm of every row.
    regions : {"fixed", "learned"}, default="fixed"
        "fixed" is the paper's statement: the regions "predicted p" do not depend on these rows,
        as for one update on fresh rows. UMA learns its regions from the rows it averages; to
        hold for all linear classifiers at once, "learned" multiplies the cover by the ways in
        which Q - 1 half-spaces can cut 2n points, :math:`(2 e n / D)^{D (Q - 1)}` by Sauer's
        lemma, and solves for n by bisection. The paper leaves this factor out.

    Examples
    --------
    >>> from unconfused.theory import sample_size
    >>> sample_size(0.1, 0.05, n_features=2, n_classes=2)
    355411
    >>> sample_size(0.1, 0.05, n_features=2, n_classes=2, confusion=[[0.9, 0.1], [0.3, 0.7]])
    834706
    """
    d = _check_count(n_features, "n_features", 1)
    Q = _check_count(n_classes, "n_classes", 2)
    if not isinstance(delta, Real) or not 0 < delta < 1:
        raise ValueError(f"delta must lie strictly between 0 and 1; got {delta!r}.")
    if regions not in ("fixed", "learned"):
        raise ValueError(f'regions must be "fixed" or "learned"; got {regions!r}.')
    kappa = 1.0 if confusion is None else inflation(check_confusion(confusion, Q))
    scale = kappa * _check_positive(radius, "radius")
    # No deviation of a mean of values in [-1, 1] is larger than 2.
    eta = min(2.0, _check_positive(epsilon, "epsilon") / scale)
    D = d + 1
    log_failures = math.log(4 * Q * (Q - 1) / delta)
    log_cover = 1 + math.log(D + 1) + D * math.log(32 * math.e / eta)
    rows = 128 / eta**2 * (log_failures + log_cover)
    if regions == "fixed":
        return math.ceil(rows)
    return _solve_for_rows(rows, 128 / eta**2 * D * (Q - 1), 2 * math.e / D)


def _solve_for_rows(constant: float, factor: float, slope: float) -> int:
    """Smallest n from which on ``n >= constant + factor * log(slope * n)``."""

    def enough(n: int) -> bool:
        return n >= constant + factor * math.log(slope * n)

    # Below `factor` the right-hand side grows faster than n: the last crossing lies above it.
    low = math.ceil(max(constant, factor))
    high = 2 * low
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _check_margin(margin: float, radius: float) -> tuple[float, float]:
    R = _check_positive(radius, "radius")
    theta = _check_positive(margin, "margin")
    if theta > math.sqrt(2.0) * R * (1 + 1e-9):
        raise ValueError(
            f"Weights of Frobenius norm 1 cannot have a margin above sqrt(2) x radius = "
            f"{math.sqrt(2.0) * R:.4g}; got {theta:.4g}. `theory.margin` rescales the weights."
        )
    return theta, R


def _check_positive(value: float, name: str) -> float:
    if not isinstance(value, Real) or not 0 < value < math.inf:
        raise ValueError(f"{name} must be a finite number above 0; got {value!r}.")
    return float(value)


def _check_count(value: int, name: str, smallest: int) -> int:
    if not isinstance(value, Integral) or value < smallest:
        raise ValueError(f"{name} must be a whole number from {smallest} on; got {value!r}.")
    return int(value)
