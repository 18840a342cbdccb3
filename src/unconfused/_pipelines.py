"""The classifier inside pipelines and searches."""

from __future__ import annotations

from typing import Any


def final_step(estimator: Any) -> tuple[Any, str]:
    """Return a pipeline's last step and the prefix of its parameters, or the estimator itself."""
    prefix = ""
    while steps := getattr(estimator, "steps", None):
        name, estimator = steps[-1]
        prefix += f"{name}__"
    return estimator, prefix


def last_step(estimator: Any) -> Any:
    """Return the fitted classifier inside pipelines and searches."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        else:
            return estimator
