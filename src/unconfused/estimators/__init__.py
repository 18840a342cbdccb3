"""The estimators: scikit-learn's conventions around the solvers."""

from __future__ import annotations

from importlib import import_module
from typing import Any

PLACES = {
    "KernelUMAClassifier": "estimators.kernel.classifier",
    "SelfLabelingClassifier": "estimators.self_labeling.classifier",
    "UMAClassifier": "estimators.uma",
    "UltraconservativeClassifier": "estimators.ultraconservative",
    "UnconfusedClassifier": "estimators.any_classifier",
    "UnconfusedDiscriminantAnalysis": "estimators.discriminant",
    "UnconfusedLogisticRegression": "estimators.logistic",
}
"""The module of each estimator: whoever needs one does not load the others."""


def all_estimators() -> list[type[Any]]:
    """Import and return the classes of all estimators."""
    return [getattr(import_module(f"unconfused.{place}"), name) for name, place in PLACES.items()]
