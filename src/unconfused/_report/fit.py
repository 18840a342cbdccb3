"""The fit behind a report: how it converged, and what is needed to repeat it."""

from __future__ import annotations

import inspect
import platform
from collections import defaultdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._pipelines import final_step
from unconfused._report.data import Convergence, PairUse
from unconfused._text import shorten
from unconfused._typing import FloatArray, IntArray
from unconfused.estimators.any_classifier import UnconfusedClassifier
from unconfused.estimators.uma import UMAClassifier
from unconfused.solvers.uma.solver import CONVERGED

if TYPE_CHECKING:
    from unconfused._report.case import Case

MOST_POINTS = 300
"""Points of a curve: more could not be told apart on a screen."""

MOST_PAIRS = 12

LONGEST_VALUE = 120
"""Characters of a parameter that are shown."""


def convergence_of(final: Any) -> Convergence:
    """Read a fitted learner's history."""
    if isinstance(final, UMAClassifier):
        return _of_uma(final)
    if isinstance(final, UnconfusedClassifier):
        return _of_rounds(final)
    return _of_likelihood(final)


def _of_rounds(final: UnconfusedClassifier) -> Convergence:
    name, changed = type(final.estimator).__name__, final.history_["relabelled"]
    words = {
        "rounds": "the probable classes of the rows, predicted out of fold",
        "labels": "the labels",
        "mixed": "the labels, and the truth where known",
        "trusted": "the trusted rows alone",
    }
    shares = sorted(final.shares_.items(), key=lambda item: -item[1])
    learnt = "; ".join(f"{words[name]} ({share:.0%})" for name, share in shares if share > 0)
    trained = f"The averaged models were trained on: {learnt}."
    if len(changed):
        trained += " Below is the share of rows whose pseudo-label changed."
    return Convergence(
        "rounds",
        f"{name} was fitted {final.n_fits_} times, in {final.n_rounds_} rounds. {trained}",
        list(range(1, len(changed) + 1)),
        changed.tolist(),
        n_steps=len(changed),
    )


def _of_uma(final: UMAClassifier) -> Convergence:
    history, n_updates = final.history_, len(final.history_["norm"])
    shown = _spread(n_updates)
    ended = (
        "It converged: no pair of classes is statistically significant any more."
        if final.stopped_ == CONVERGED
        else f"It was ended before it converged ({final.stopped_})."
    )
    words = f"UMA made {n_updates:,} updates. {ended}"
    return Convergence(
        "uma",
        words,
        (shown + 1).tolist(),
        np.asarray(history["norm"])[shown].tolist(),
        np.asarray(history["noise"])[shown].tolist(),
        _pairs(history["predicted"], history["true"]),
        n_steps=n_updates,
    )


def _pairs(predicted: FloatArray | IntArray, true: FloatArray | IntArray) -> list[PairUse]:
    """List the pairs by how often they were chosen, the most frequent first."""
    used: dict[tuple[int, int], list[int]] = defaultdict(list)
    for update, pair in enumerate(zip(predicted.tolist(), true.tolist(), strict=True), start=1):
        used[int(pair[0]), int(pair[1])].append(update)
    ranked = sorted(used.items(), key=lambda item: (-len(item[1]), item[0]))
    return [PairUse(p, q, updates) for (p, q), updates in ranked[:MOST_PAIRS]]


def _of_likelihood(final: Any) -> Convergence:
    objective = np.asarray(final.history_["objective"])
    shown = _spread(len(objective))
    rest = getattr(final, "_state", None)
    ended = " It converged."
    if rest is None:  # a model that was stored and loaded again may not know
        ended = ""
    elif rest.exhausted:
        ended = " It did not converge: raise max_iter, or scale the features."
    elif rest.interrupted:
        ended = " It was interrupted."
    return Convergence(
        "likelihood",
        f"The likelihood was maximised in {len(objective):,} steps.{ended}",
        (shown + 1).tolist(),
        objective[shown].tolist(),
        weights=_weights_tried(final),
        weight=float(getattr(final, "noisy_weight_", 1.0)),
        n_steps=len(objective),
    )


def _weights_tried(final: Any) -> list[tuple[float, float]]:
    """List weights of noisy rows and the least held-out loss of each, where one was looked for."""
    choice = getattr(final, "choice_", None)
    if choice is None or len(np.unique(choice["noisy_weight"])) < 2:
        return []
    through = choice["believed"] == 0.0
    weights, losses = choice["noisy_weight"][through], choice["loss"][through]
    return [(one, losses[weights == one].min()) for one in np.unique(weights).tolist()]


def _spread(n_points: int) -> IntArray:
    """Return places over the whole curve, first and last included."""
    if n_points <= MOST_POINTS:
        return np.arange(n_points)
    return np.unique(np.linspace(0, n_points - 1, MOST_POINTS).round().astype(np.intp))


def settings_of(case: Case) -> list[tuple[str, str]]:
    """List the learner's parameters, and the steps before it."""
    steps = [(f"step {name}", _short(step)) for name, step in getattr(case.model, "steps", [])[:-1]]
    settings = case.final.get_params(deep=False)
    shown = {name: _short(value) for name, value in settings.items()}
    if settings.get("confusion") is not None:
        shown["confusion"] = f"{type(settings['confusion']).__name__}, the matrix given"
    return [*steps, *shown.items()]


def versions() -> list[tuple[str, str]]:
    """List the versions in use."""
    packages = ("unconfused", "numpy", "scipy", "scikit-learn", "numba")
    return [*((name, version(name)) for name in packages), ("Python", platform.python_version())]


def code_of(case: Case, seed: int) -> str:
    """Write the fit and the report as code."""
    learner = _call(case.final)
    steps = getattr(case.model, "steps", None)
    if steps is not None:
        before = "".join(f"    ({name!r}, {_one_line(step)}),\n" for name, step in steps[:-1])
        learner = f"Pipeline([\n{before}    ({steps[-1][0]!r}, {learner}),\n])"
    truth = ", y_true=y_true" if case.trusted.any() else ""
    fit_truth = f", {final_step(case.model)[1]}y_true=y_true" if truth else ""
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
        elif type(value) is not type(usual := defaults[name].default) or np.any(value != usual):
            parts.append(f"{name}={_short(value)}")
    return f"{type(final).__name__}({', '.join(parts)})"


def _one_line(value: Any) -> str:
    return " ".join(repr(value).split())


def _short(value: Any) -> str:
    return shorten(_one_line(value), LONGEST_VALUE)
