"""Learn from labels that are wrong in a way you can describe.

Give it features, noisy labels and what you know of the noise, and get the classifier you would have
had with clean labels. See `UMAClassifier` to begin with.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from unconfused import confusion, datasets, kernels, metrics, noise, selection, steps, theory
    from unconfused._matrix import ConfusionWarning
    from unconfused.estimators import (
        SelfLabelingClassifier,
        UltraconservativeClassifier,
        UMAClassifier,
        UnconfusedLogisticRegression,
    )

# Each name is imported when it is first asked for: `import unconfused` itself costs nothing.
_ESTIMATORS = {
    "SelfLabelingClassifier",
    "UMAClassifier",
    "UltraconservativeClassifier",
    "UnconfusedLogisticRegression",
}
_MODULES = {
    "confusion",
    "datasets",
    "kernels",
    "metrics",
    "noise",
    "selection",
    "steps",
    "theory",
}

__all__ = [
    "ConfusionWarning",
    "SelfLabelingClassifier",
    "UMAClassifier",
    "UltraconservativeClassifier",
    "UnconfusedLogisticRegression",
    "confusion",
    "datasets",
    "kernels",
    "metrics",
    "noise",
    "selection",
    "steps",
    "theory",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"unconfused.{name}")
    if name in _ESTIMATORS:
        return getattr(importlib.import_module("unconfused.estimators"), name)
    if name == "ConfusionWarning":
        return importlib.import_module("unconfused._matrix").ConfusionWarning
    raise AttributeError(f"module 'unconfused' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
