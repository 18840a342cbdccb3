"""What is needed to repeat a report: parameters, versions, a few lines of code."""

from __future__ import annotations

import inspect
import platform
from importlib.metadata import version
from typing import Any

import numpy as np

from unconfused._report.analysis.case import Case
from unconfused._text.words import shorten

LONGEST_VALUE = 120


def settings_of(case: Case) -> list[tuple[str, str]]:
    """List the learner's parameters, and the steps before it."""
    steps = [
        (f"step {name}", shorten(_one_line(step), LONGEST_VALUE))
        for name, step in getattr(case.model, "steps", [])[:-1]
    ]
    return steps + [
        (name, _value(name, value)) for name, value in case.final.get_params(deep=False).items()
    ]


def versions() -> list[tuple[str, str]]:
    """List the versions in use."""
    packages = ("unconfused", "numpy", "scipy", "scikit-learn", "numba")
    return [
        *((name, version(name)) for name in packages),
        ("Python", platform.python_version()),
    ]


def code_of(case: Case, seed: int) -> str:
    """Write the fit and the report as code."""
    learner = _call(case.final)
    steps = getattr(case.model, "steps", None)
    if steps is not None:
        before = "".join(f"    ({name!r}, {_one_line(step)}),\n" for name, step in steps[:-1])
        learner = f"Pipeline([\n{before}    ({steps[-1][0]!r}, {learner}),\n])"
    truth = ", y_true=y_true" if case.trusted.any() else ""
    fit_truth = f", {case.prefix}y_true=y_true" if truth else ""
    return (
        f"model = {learner}\n"
        f"model.fit(X, y{fit_truth})\n"
        f'unconfused.write_report(model, X, y, "report.html"{truth}, random_state={seed})'
    )


def _call(final: Any) -> str:
    """Write the constructor's call with what differs from its defaults."""
    defaults = inspect.signature(type(final)).parameters
    parts = []
    for name, value in final.get_params(deep=False).items():
        if name == "confusion":
            parts += [] if value is None else ["C"]
        elif not _same(value, defaults[name].default):
            parts.append(f"{name}={shorten(_one_line(value), LONGEST_VALUE)}")
    return f"{type(final).__name__}({', '.join(parts)})"


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(np.all(value == default))


def _value(name: str, value: Any) -> str:
    if name == "confusion" and value is not None:
        return f"{type(value).__name__}, the matrix given"
    return shorten(_one_line(value), LONGEST_VALUE)


def _one_line(value: Any) -> str:
    return " ".join(repr(value).split())
