"""The estimators: scikit-learn's conventions around the solvers."""

from unconfused.estimators.discriminant import UnconfusedDiscriminantAnalysis
from unconfused.estimators.logistic import UnconfusedLogisticRegression
from unconfused.estimators.self_labeling import SelfLabelingClassifier
from unconfused.estimators.ultraconservative import UltraconservativeClassifier
from unconfused.estimators.uma import UMAClassifier

__all__ = [
    "SelfLabelingClassifier",
    "UMAClassifier",
    "UltraconservativeClassifier",
    "UnconfusedDiscriminantAnalysis",
    "UnconfusedLogisticRegression",
]
