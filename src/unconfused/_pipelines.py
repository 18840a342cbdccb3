"""The classifier inside pipelines and searches."""

from __future__ import annotations

from typing import Any


def final_step(estimator: Any) -> tuple[Any, str]:
    """Return a pipeline's last step and the prefix of its parameters, or the estimator itself."""
    steps = getattr(estimator, "steps", None)
    return (steps[-1][1], f"{steps[-1][0]}__") if steps else (estimator, "")


def last_step(estimator: Any) -> Any:
    """Return what is fitted at the heart of searches and pipelines."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        else:
            return estimator
