"""Learn from noisy labels: scikit-learn classifiers that model the noise by a confusion matrix.

Give them features, noisy labels and what you know about the noise (a confusion matrix, some checked
rows, several annotators, or nothing), and get the classifier you would have had with clean labels,
and the labels that are probably wrong. Start with `UnconfusedLogisticRegression`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from unconfused._version import __version__ as __version__

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
    from unconfused._matrix import (
        ConfusionWarning,
        GuessedConfusionWarning,
        LabelNoiseWarning,
    )
    from unconfused._report.write import write_report
    from unconfused.estimators import (
        KernelUMAClassifier,
        SelfLabelingClassifier,
        UltraconservativeClassifier,
        UMAClassifier,
        UnconfusedClassifier,
        UnconfusedDiscriminantAnalysis,
        UnconfusedLogisticRegression,
    )
    from unconfused.persistence import load, save
    from unconfused.review import next_to_check

# Names are imported on first use, so that `import unconfused` is fast.
_ESTIMATORS = {
    "KernelUMAClassifier",
    "UMAClassifier",
    "UltraconservativeClassifier",
    "UnconfusedClassifier",
    "UnconfusedDiscriminantAnalysis",
    "SelfLabelingClassifier",
    "UnconfusedLogisticRegression",
}
_MODULES = {
    "boosting",
    "confusion",
    "datasets",
    "kernels",
    "metrics",
    "noise",
    "persistence",
    "plot",
    "review",
    "selection",
    "steps",
    "theory",
}
_WARNINGS = {"ConfusionWarning", "GuessedConfusionWarning", "LabelNoiseWarning"}
_PERSISTENCE = {"load", "save"}

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
    if name in _MODULES:
        return importlib.import_module(f"unconfused.{name}")
    if name in _ESTIMATORS:
        return getattr(importlib.import_module("unconfused.estimators"), name)
    if name in _PERSISTENCE:
        return getattr(importlib.import_module("unconfused.persistence"), name)
    if name in _WARNINGS:
        return getattr(importlib.import_module("unconfused._matrix"), name)
    if name == "next_to_check":
        return importlib.import_module("unconfused.review").next_to_check
    if name == "write_report":
        return importlib.import_module("unconfused._report.write").write_report
    raise AttributeError(f"module 'unconfused' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
