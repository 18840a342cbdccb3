"""Margin of a classifier on given rows, their radius, and mistake bounds."""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from unconfused._arguments import check_not_negative, check_positive
from unconfused._labels import encode_complete, refuse_other_length
from unconfused._typing import ArrayLike, FloatArray, IntArray, Rows


def radius(X: Rows, *, intercept: bool = False) -> float:
    """Return R, the largest Euclidean norm of a row.

    Parameters
    ----------
    X : the rows, dense or CSR
    intercept : whether to append a constant feature 1, as for a classifier with an intercept

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
    """Return the margin θ of a linear classifier on rows with known true classes.

    Weights and intercept are scaled together to Frobenius norm 1, as the bounds of this module
    assume. The margin is the smallest difference, over the rows, between the score of the true
    class and the best other score: positive if the classifier makes no mistake.

    Parameters
    ----------
    weights : one row per class. With two classes, a single row w (scikit-learn's `coef_`) means the
        pair -w/2 and w/2
    X : the rows, dense or CSR
    y : true labels
    intercept : one intercept per row of `weights`
    classes : the class of each row of `weights`; by default the sorted labels of `y`

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
    """Return weights and intercept as one matrix of Frobenius norm 1."""
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
    """Return the index of the weights of the true class of each row of X."""
    encoded = encode_complete(y, classes, "y")
    if len(encoded.classes) != n_classes:
        raise ValueError(
            f"weights have {n_classes} rows but there are {len(encoded.classes)} classes; name "
            "the class of each row with `classes`."
        )
    refuse_other_length(n_rows, len(encoded.observed))
    order = np.arange(n_classes) if classes is None else np.argsort(np.asarray(classes))
    return order[encoded.observed].astype(np.intp)


def mistake_bound(margin: float, radius: float = 1.0) -> float:
    """Bound the number of updates of an ultraconservative algorithm on clean, separable rows.

    Algorithm 1 of the paper, started at W = 0, makes at most ``2 R^2 / θ^2`` updates, over any
    number of passes. Each update adds at least θ to <W, W*>, and at most 2 R^2 to the squared
    norm of W; <W, W*> can never exceed that norm.

    It holds for rules that add the row to its true class and subtract it, in shares that sum to 1,
    from the error set: `perceptron`, `uniform`, `proportional`.

    Parameters
    ----------
    margin : θ, positive, of some W* of Frobenius norm 1, as returned by `margin`. It cannot exceed
        sqrt(2) R; a larger one means that W* was not normalized, and raises an error
    radius : R, the largest norm of a row including the constant feature, as returned by `radius`

    Examples
    --------
    >>> from unconfused.theory import mistake_bound
    >>> mistake_bound(margin=0.5, radius=5.0)
    200.0
    """
    theta, R = _check_margin(margin, radius)
    return 2.0 * (R / theta) ** 2


def whitened_mistake_bound(
    weights: ArrayLike, X: ArrayLike, y: ArrayLike, precision: ArrayLike
) -> float:
    """Bound the number of updates in the geometry of a matrix P, on clean, separable rows.

    With steps ``P x`` and norms ``sqrt(x' P x)`` the algorithm is that of `mistake_bound` on rows
    mapped by a square root of P. The bound is ``2 R^2 / θ^2`` with R the largest P-norm of a row
    and θ the margin of W* divided by its norm in the inverse of P. It can be smaller or larger than
    in the original geometry.

    It assumes a P that does not depend on the labels and does not change: the covariance of these
    rows with a fixed ridge, but neither a running covariance nor a ridge chosen on the same labels,
    as `UMAClassifier` chooses it.

    Parameters
    ----------
    weights : W*, one row per class, of any norm
    X : the rows; append a constant feature for an intercept
    y : true labels, without mistakes of W*
    precision : P, symmetric and positive definite

    Examples
    --------
    A feature of large scale that says nothing inflates the radius, until it is whitened:

    >>> import numpy as np
    >>> from unconfused.theory import whitened_mistake_bound
    >>> X, y = [[100.0, 1.0], [-100.0, 1.0], [100.0, -1.0]], [1, 1, 0]
    >>> W = [[0.0, -1.0], [0.0, 1.0]]
    >>> round(whitened_mistake_bound(W, X, y, np.eye(2)))
    10001
    >>> round(whitened_mistake_bound(W, X, y, np.diag([1e-4, 1.0])))
    2
    """
    P = np.asarray(precision, dtype=np.float64)
    if P.ndim != 2 or P.shape[0] != P.shape[1] or not np.allclose(P, P.T):
        raise ValueError("precision must be a symmetric matrix.")
    try:
        root = np.linalg.cholesky(P)
    except np.linalg.LinAlgError:
        raise ValueError("precision must be positive definite.") from None
    rows = np.asarray(X, dtype=np.float64) @ root
    mapped = np.linalg.solve(root, np.asarray(weights, dtype=np.float64).T).T
    theta = margin(mapped, rows, y)
    if theta <= 0:
        raise ValueError("W* misclassifies a row: the bound is for separable rows.")
    return mistake_bound(theta, radius(rows))


def uma_mistake_bound(
    margin: float,
    tolerance: float,
    radius: float = 1.0,
    *,
    deviation: float = 0.0,
    largest_mass: float = 1.0,
) -> float:
    r"""Bound the number of updates of UMA with a stopping tolerance on the norms.

    Let an update use z, an estimate of μ, the sum of the rows that are truly of class q and
    predicted p, divided by the number of all rows. Their share of all rows is the mass m of the
    cell. Suppose that, at every update,

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
    `mistake_bound`; the second factor is the price of cells of different masses. This bound
    replaces the one in the paper, whose margin does not depend on the mass.

    Parameters
    ----------
    margin, radius : θ and R, as for `mistake_bound`
    tolerance : a, the norm below which no update is made (a numeric `tol` of UMA). The mass of a
        cell that is acted on is then at least (a - ε)/R
    deviation : ε, a bound on the sampling error of all update vectors used. For ρ to be positive it
        has to be below ``tolerance * θ / (θ + sqrt(2) R)``; at half of that the bound is 4 times
        that of exact update vectors, or a little more
    largest_mass : M, the largest mass a cell can have, such as the share of the largest class

    Examples
    --------
    >>> from unconfused.theory import uma_mistake_bound
    >>> round(uma_mistake_bound(0.1, tolerance=0.01))
    5100
    >>> round(uma_mistake_bound(0.1, tolerance=0.01, deviation=0.0003))
    17131
    """
    theta, R = _check_margin(margin, radius)
    a = check_positive(tolerance, "tolerance")
    M = check_positive(largest_mass, "largest_mass")
    if M > 1:
        raise ValueError(f"largest_mass is a share of the rows, at most 1; got {largest_mass}.")
    b = R * M + check_not_negative(deviation, "deviation")
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


def _check_margin(margin: float, radius: float) -> tuple[float, float]:
    R = check_positive(radius, "radius")
    theta = check_positive(margin, "margin")
    if theta > math.sqrt(2.0) * R * (1 + 1e-9):
        raise ValueError(
            f"Weights of Frobenius norm 1 cannot have a margin above sqrt(2) x radius = "
            f"{math.sqrt(2.0) * R:.4g}; got {theta:.4g}. `theory.margin` rescales the weights."
        )
    return theta, R
