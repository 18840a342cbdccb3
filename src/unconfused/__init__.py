"""Learn from noisy labels: scikit-learn classifiers that model the noise by a confusion matrix.

Give them features, noisy labels and what you know about the noise (a confusion matrix, some checked
rows, several annotators, or nothing), and get the classifier you would have had with clean labels,
and the labels that are probably wrong. Start with `UnconfusedLogisticRegression`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from unconfused._version import __version__ as __version__
from unconfused.estimators import PLACES

if TYPE_CHECKING:
    from unconfused import (
        boosting,
        confusion,
        datasets,
        kernels,
        metrics,
        noise,
        persistence,
        plot,
        review,
        selection,
        steps,
        theory,
    )
    from unconfused._matrix import ConfusionWarning, GuessedConfusionWarning, LabelNoiseWarning
    from unconfused._report.write import write_report
    from unconfused.estimators.any_classifier import UnconfusedClassifier
    from unconfused.estimators.discriminant import UnconfusedDiscriminantAnalysis
    from unconfused.estimators.kernel.classifier import KernelUMAClassifier
    from unconfused.estimators.logistic import UnconfusedLogisticRegression
    from unconfused.estimators.self_labeling.classifier import SelfLabelingClassifier
    from unconfused.estimators.ultraconservative import UltraconservativeClassifier
    from unconfused.estimators.uma import UMAClassifier
    from unconfused.persistence import load, save
    from unconfused.review import next_to_check

_PLACES = PLACES | {
    "ConfusionWarning": "_matrix",
    "GuessedConfusionWarning": "_matrix",
    "LabelNoiseWarning": "_matrix",
    "load": "persistence",
    "next_to_check": "review",
    "save": "persistence",
    "write_report": "_report.write",
}
"""Where a name comes from. It is imported on first use, so that `import unconfused` is fast."""

__all__ = [
    "ConfusionWarning",
    "GuessedConfusionWarning",
    "KernelUMAClassifier",
    "LabelNoiseWarning",
    "SelfLabelingClassifier",
    "UMAClassifier",
    "UltraconservativeClassifier",
    "UnconfusedClassifier",
    "UnconfusedDiscriminantAnalysis",
    "UnconfusedLogisticRegression",
    "boosting",
    "confusion",
    "datasets",
    "kernels",
    "load",
    "metrics",
    "next_to_check",
    "noise",
    "persistence",
    "plot",
    "review",
    "save",
    "selection",
    "steps",
    "theory",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(importlib.import_module(f"unconfused.{_PLACES[name]}"), name)
    if name in __all__:
        return importlib.import_module(f"unconfused.{name}")
    raise AttributeError(f"module 'unconfused' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
