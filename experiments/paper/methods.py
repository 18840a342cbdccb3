"""The methods that UMA is measured against: a semi-supervised SVM, and what one uses today.

Those of today get every label that UMA's protocol has paid for, the m of each class and S_conf
together, and the same features. Logistic regression's penalty is chosen by cross-validation on
these labels; the likelihood learner comes as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from experiments.paper.protocol import Scene, quietly
from experiments.s3vm import S3VMClassifier
from unconfused import UnconfusedLogisticRegression, confusion
from unconfused._typing import IntArray, Rows

STRENGTHS = (1.0, 10.0, 100.0, 1000.0)
"""Of logistic regression against its penalty, scikit-learn's C."""

N_FOLDS = 3
N_NEIGHBOURS = 7


def semi_supervised_svm(X: Rows, y: IntArray, *, seed: int = 0, **settings: Any) -> Any:
    """Fit the SVM to rows labelled in part (-1: not labelled)."""
    return S3VMClassifier(**settings, n_stages=5, max_iter=50, random_state=seed).fit(X, y)


def supervised_svm(X: Rows, y: IntArray) -> Any:
    """Fit the same machine to the labelled rows alone."""
    return S3VMClassifier(unlabelled_weight=0, max_iter=300, random_state=0).fit(X, y)


def _best_logistic(scene: Scene) -> Any:
    """Return logistic regression on the labelled rows, its penalty cross-validated."""
    rows = scene.known
    search = GridSearchCV(
        LogisticRegression(max_iter=300), {"C": list(STRENGTHS)}, cv=N_FOLDS, refit=True
    )
    return quietly(lambda: search.fit(scene.problem.X[rows], scene.problem.truth[rows]))


def logistic(scene: Scene, seed: int) -> Any:
    """Fit logistic regression to the labelled rows alone."""
    return _best_logistic(scene).best_estimator_


def self_training(scene: Scene, seed: int) -> Any:
    """Let that logistic regression label the rows it is sure of, and learn again."""
    base = LogisticRegression(C=_best_logistic(scene).best_params_["C"], max_iter=100, tol=1e-3)
    model = SelfTrainingClassifier(base, threshold=0.9, max_iter=5)
    return quietly(lambda: model.fit(scene.problem.X, scene.partly_labelled(scene.known)))


def label_spreading(scene: Scene, seed: int) -> Any:
    """Spread the labels among near neighbours."""
    model = LabelSpreading(kernel="knn", n_neighbors=N_NEIGHBOURS, max_iter=100, n_jobs=1)
    return quietly(lambda: model.fit(scene.problem.X, scene.partly_labelled(scene.known)))


def likelihood(scene: Scene, seed: int) -> Any:
    """Fit the likelihood learner, as it comes, to the rough labels, C, and the known labels."""
    problem, conf = scene.problem, scene.conf
    classes = np.arange(problem.n_classes)
    # An estimate, not a plain matrix: how few rows were counted is for the learner to weigh.
    estimate = confusion.from_trusted(problem.truth[conf], scene.observed[conf], classes=classes)
    settings: dict[str, Any] = {"l2": 1e-4, "relabel": 0}  # as when the results were made
    model = UnconfusedLogisticRegression(estimate, n_jobs=1, random_state=seed, **settings)
    truth = [None if one < 0 else int(one) for one in scene.partly_labelled(scene.known)]
    return quietly(lambda: model.fit(problem.X, scene.observed, y_true=truth))


TODAY: dict[str, Callable[[Scene, int], Any]] = {
    "logistic": logistic,
    "self_training": self_training,
    "label_spreading": label_spreading,
    "likelihood": likelihood,
}
"""What you would use today, but for ours."""

OURS = "self_labeling"
"""SelfLabelingClassifier, which needs a setting besides (see `experiments.paper.self_labeling`)."""
