"""A semi-supervised support vector machine, one class against the rest.

The algorithm is gradient descent on the transductive SVM's objective in the primal, as proposed
by O. Chapelle and A. Zien (*Semi-supervised classification by low density separation*, AISTATS
2005): the squared hinge on labelled rows, the bump ``exp(-3 f(x)^2)`` on unlabelled ones (a row
costs most on the boundary, whichever side it ends up on), and the mean score of the unlabelled
rows held at what the shares of the classes call for. Two things differ from their paper: the
minimiser is L-BFGS, and the weight of the unlabelled rows grows from stage to stage until all of
them together weigh as much as the labelled rows do, not each of them as much as a labelled one.

It is a local method on a problem that is not convex: no switching of labels, no branch and bound.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from unconfused.kernels import kernel_projection

Floats = NDArray[np.float64]

UNLABELLED = -1
EXACT_LIMIT = 2_000
"""Rows beyond which the Gaussian kernel is approximated (Nystroem) before its components."""

STEEPNESS = 3.0
"""Of the bump ``exp(-STEEPNESS f^2)``, the value of Chapelle and Zien: about the hinge's width."""


class S3VMClassifier(ClassifierMixin, BaseEstimator):
    """Support vector machine that also keeps its boundaries away from unlabelled rows.

    For each class, with t = +1 for its labelled rows and -1 for the others', it minimises

        |w|^2 / (2 C)  +  mean over labelled of max(0, 1 - t f)^2
                       +  unlabelled_weight * mean over unlabelled of exp(-3 f^2)

    under the balance constraint: the mean of f over the unlabelled rows is 2 p - 1, with p the
    share of the class. The constraint fixes the intercept. Without unlabelled rows, or with
    ``unlabelled_weight=0``, it is the supervised machine with the same loss and a free intercept.

    Parameters
    ----------
    kernel : "linear" or "rbf"
        "rbf": the Gaussian kernel, through its `n_components` leading principal components on all
        training rows, labelled or not (see `unconfused.kernels`).
    C : strength of the losses against the penalty on the weights
    unlabelled_weight : what all unlabelled rows together count beside all labelled ones
    class_prior : share of each class in sorted order; None takes those of the labelled rows,
        which is wrong where labelled rows were drawn evenly from uneven classes
    n_stages : in so many doublings the unlabelled rows come to their full weight
    n_components, gamma : of the Gaussian kernel; ``gamma="median"`` takes the width from the rows
    max_iter : at most so many steps in each stage
    random_state : seed of the kernel's approximation

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[-2.0, 0.1], [-1.0, 0.0], [-1.5, 0.2], [1.0, 0.1], [1.5, 0.0], [2.0, 0.1]])
    >>> S3VMClassifier().fit(X, [0, -1, -1, -1, -1, 1]).predict(X)
    array([0, 0, 0, 1, 1, 1])
    """

    takes_unlabelled = True
    """As a labeller it wants every row (see `unconfused.SelfLabelingClassifier`)."""

    def __init__(
        self,
        kernel: str = "linear",
        *,
        C: float = 1000.0,
        unlabelled_weight: float = 1.0,
        class_prior: Any = None,
        n_stages: int = 8,
        n_components: int | None = None,
        gamma: float | str = "median",
        max_iter: int = 100,
        random_state: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.unlabelled_weight = unlabelled_weight
        self.class_prior = class_prior
        self.n_stages = n_stages
        self.n_components = n_components
        self.gamma = gamma
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows whose label is an integer, or -1 where it is not known."""
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        y = np.asarray(y)
        labelled = y != UNLABELLED
        self.classes_, codes = np.unique(y[labelled], return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("S3VMClassifier needs labelled rows of at least two classes.")
        X = self._features(X, learn=True)
        targets = np.where(codes[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
        problem = _Problem(X[labelled], targets, X[~labelled], self._shares(codes), float(self.C))
        weights = np.zeros((len(self.classes_), X.shape[1] + 1))
        self.n_iter_ = 0
        for strength in self._strengths(bool((~labelled).any())):
            weights, steps = problem.minimise(weights, strength, self.max_iter)
            self.n_iter_ += steps
        self.coef_, self.intercept_ = problem.publish(weights)
        return self

    def _strengths(self, any_unlabelled: bool) -> list[float | None]:
        """Return the unlabelled rows' weight in each stage; None is the supervised machine."""
        if not any_unlabelled or self.unlabelled_weight == 0:
            return [None]
        growing = 2.0 ** np.arange(1 - self.n_stages, 1)
        return [0.0, *(self.unlabelled_weight * growing).tolist()]

    def _shares(self, codes: NDArray[np.intp]) -> Floats:
        if self.class_prior is None:
            return np.bincount(codes, minlength=len(self.classes_)) / len(codes)
        shares = np.asarray(self.class_prior, dtype=np.float64)
        if shares.shape != self.classes_.shape or not np.isclose(shares.sum(), 1):
            raise ValueError("class_prior must hold one share per class, with sum 1.")
        return shares

    def _features(self, X: Any, *, learn: bool) -> Any:
        if self.kernel == "linear":
            return X
        if self.kernel != "rbf":
            raise ValueError(f"kernel must be 'linear' or 'rbf'; got {self.kernel!r}.")
        if learn:
            self.projection_ = kernel_projection(
                self.n_components,
                gamma=self.gamma,
                exact_limit=EXACT_LIMIT,
                unit_norm=False,
                dtype=np.float32,
                random_state=self.random_state,
            ).fit(X)
        return self.projection_.transform(X)

    def decision_function(self, X: Any) -> Floats:
        """Score every class on every row, (n, Q), also with two classes."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return _times(self._features(X, learn=False), self.coef_.T) + self.intercept_

    def predict(self, X: Any) -> Any:
        """Predict the class with the highest score."""
        return self.classes_[self.decision_function(X).argmax(axis=1)]


def _times(X: Any, vectors: Floats) -> Floats:
    """Multiply in the rows' own precision: rows in float32 are never copied to float64."""
    product = safe_sparse_dot(X, vectors.astype(X.dtype, copy=False), dense_output=True)
    return np.asarray(product, dtype=np.float64)


class _Problem:
    """The objectives of all classes, added up: they share nothing but the rows.

    Weights are (Q, d + 1), the intercept last. With the unlabelled rows in play, rows are taken
    from the mean of the unlabelled ones, so that the intercept alone is the mean score there, and
    the balance constraint holds by leaving it alone.
    """

    def __init__(
        self, X: Any, targets: Floats, unlabelled: Any, shares: Floats, strength: float
    ) -> None:
        self.X, self.targets, self.unlabelled = X, targets, unlabelled
        self.balance, self.penalty = 2 * shares - 1, 1 / strength
        rows = unlabelled if unlabelled.shape[0] else X
        self.centre = np.asarray(rows.mean(axis=0, dtype=np.float64)).ravel()

    def minimise(
        self, weights: Floats, strength: float | None, max_iter: int
    ) -> tuple[Floats, int]:
        """Return the weights at rest from these on, and the number of steps."""
        if strength is not None:
            weights = weights.copy()
            weights[:, -1] = self.balance
        found = minimize(
            self._objective,
            weights.ravel(),
            args=(strength,),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_iter, "gtol": 1e-6},
        )
        return found.x.reshape(weights.shape), int(found.nit)

    def publish(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return weights and intercepts for rows as the user has them."""
        coef = weights[:, :-1]
        return coef, weights[:, -1] - coef @ self.centre

    def _scores(self, X: Any, weights: Floats) -> Floats:
        coef, intercept = self.publish(weights)
        return _times(X, coef.T) + intercept

    def _slope(self, X: Any, by_score: Floats) -> Floats:
        """Return the gradient by the weights, from that by the scores."""
        total = by_score.sum(axis=0)
        by_coef = _times(X.T, by_score).T
        return np.column_stack([by_coef - np.outer(total, self.centre), total])

    def _objective(self, flat: Floats, strength: float | None) -> tuple[float, Floats]:
        weights = flat.reshape(len(self.balance), -1)
        coef = weights[:, :-1]
        value = self.penalty / 2 * float(np.sum(coef * coef))
        gradient = np.column_stack([self.penalty * coef, np.zeros(len(coef))])
        short = np.maximum(0.0, 1 - self.targets * self._scores(self.X, weights))
        value += float(np.sum(short * short)) / len(short)
        gradient += self._slope(self.X, -2 * self.targets * short / len(short))
        if strength:
            scores = self._scores(self.unlabelled, weights)
            bump = np.exp(-STEEPNESS * scores * scores) * (strength / len(scores))
            value += float(bump.sum())
            gradient += self._slope(self.unlabelled, -2 * STEEPNESS * scores * bump)
        if strength is not None:
            gradient[:, -1] = 0.0
        return value, gradient.ravel()
