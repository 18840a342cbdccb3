"""The estimators: scikit-learn's conventions around the solvers."""

from unconfused.estimators.any_classifier import UnconfusedClassifier
from unconfused.estimators.discriminant import UnconfusedDiscriminantAnalysis
from unconfused.estimators.kernel.classifier import KernelUMAClassifier
from unconfused.estimators.logistic import UnconfusedLogisticRegression
from unconfused.estimators.self_labeling.classifier import SelfLabelingClassifier
from unconfused.estimators.ultraconservative import UltraconservativeClassifier
from unconfused.estimators.uma import UMAClassifier

__all__ = [
    "KernelUMAClassifier",
    "SelfLabelingClassifier",
    "UMAClassifier",
    "UltraconservativeClassifier",
    "UnconfusedClassifier",
    "UnconfusedDiscriminantAnalysis",
    "UnconfusedLogisticRegression",
]
