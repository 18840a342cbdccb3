"""Forward and backward correction (Patrini and others, 2017), written without our library.

Both train a softmax on noisy labels with a known matrix. Forward correction mixes the model's
probabilities through the matrix and compares the result with the labels; backward correction
unmixes the loss with the inverse of the matrix, which keeps its mean but not its spread.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin


class CorrectedSoftmax(ClassifierMixin, BaseEstimator):
    """Softmax regression with a corrected loss.

    Parameters
    ----------
    matrix : (Q, Q), the chance of each label (columns) given each true class (rows)
    correction : "forward" or "backward"
    l2 : half of it times the squared weights is added to the mean loss
    """

    def __init__(self, matrix: Any, correction: str = "forward", l2: float = 1e-3) -> None:
        self.matrix = matrix
        self.correction = correction
        self.l2 = l2

    def fit(self, X: Any, y: Any, truth: Any = None) -> Self:
        """Minimise the corrected loss; rows with a truth (not -1) keep the ordinary loss."""
        matrix = np.asarray(self.matrix, dtype=float)
        n_rows, n_features = X.shape
        n_classes = len(matrix)
        known = np.zeros(n_rows, dtype=bool) if truth is None else np.asarray(truth) >= 0
        labels = np.where(known, truth, y) if known.any() else np.asarray(y)
        one_hot = np.eye(n_classes)[labels]
        # What a row's loss on each class counts: its label's, or that unmixed.
        targets = one_hot.copy()
        if self.correction == "backward":
            targets[~known] = np.linalg.inv(matrix)[labels[~known]]
        chances = matrix.T[labels]
        chances[known] = one_hot[known]
        forward = self.correction == "forward"

        def objective(flat: Any) -> tuple[float, Any]:
            weights = flat.reshape(n_classes, n_features + 1)
            scores = X @ weights[:, :-1].T + weights[:, -1]
            if forward:
                probability = softmax(scores, axis=1)
                seen = np.maximum((probability * chances).sum(axis=1, keepdims=True), 1e-300)
                loss = -np.log(seen).mean()
                slope = (probability - probability * chances / seen) / n_rows
            else:
                logs = log_softmax(scores, axis=1)
                loss = -(targets * logs).sum() / n_rows
                slope = (np.exp(logs) * targets.sum(axis=1, keepdims=True) - targets) / n_rows
            loss += self.l2 / 2 * float((weights[:, :-1] ** 2).sum())
            gradient = np.empty_like(weights)
            gradient[:, :-1] = (X.T @ slope).T + self.l2 * weights[:, :-1]
            gradient[:, -1] = slope.sum(axis=0)
            return float(loss), gradient.ravel()

        start = np.zeros(n_classes * (n_features + 1))
        found = minimize(
            objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "gtol": 1e-4}
        )
        weights = found.x.reshape(n_classes, n_features + 1)
        self.coef_, self.intercept_ = weights[:, :-1], weights[:, -1]
        self.classes_ = np.arange(n_classes)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each true class."""
        return softmax(X @ self.coef_.T + self.intercept_, axis=1)

    def predict(self, X: Any) -> Any:
        """Return the likeliest class."""
        return self.classes_[(X @ self.coef_.T + self.intercept_).argmax(axis=1)]
