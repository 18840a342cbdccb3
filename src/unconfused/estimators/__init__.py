"""The estimators: scikit-learn's conventions around the solvers.

A class is imported on first use: whoever needs one does not load the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unconfused.estimators.any_classifier import UnconfusedClassifier
    from unconfused.estimators.discriminant import UnconfusedDiscriminantAnalysis
    from unconfused.estimators.kernel.classifier import KernelUMAClassifier
    from unconfused.estimators.logistic import UnconfusedLogisticRegression
    from unconfused.estimators.self_labeling.classifier import SelfLabelingClassifier
    from unconfused.estimators.ultraconservative import UltraconservativeClassifier
    from unconfused.estimators.uma import UMAClassifier

_PLACES = {
    "KernelUMAClassifier": "kernel.classifier",
    "SelfLabelingClassifier": "self_labeling.classifier",
    "UMAClassifier": "uma",
    "UltraconservativeClassifier": "ultraconservative",
    "UnconfusedClassifier": "any_classifier",
    "UnconfusedDiscriminantAnalysis": "discriminant",
    "UnconfusedLogisticRegression": "logistic",
}

__all__ = [
    "KernelUMAClassifier",
    "SelfLabelingClassifier",
    "UMAClassifier",
    "UltraconservativeClassifier",
    "UnconfusedClassifier",
    "UnconfusedDiscriminantAnalysis",
    "UnconfusedLogisticRegression",
]


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(f"unconfused.estimators.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'unconfused.estimators' has no attribute {name!r}")
