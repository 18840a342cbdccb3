"""Figure 5: error and confusion norm after every update, for three ways to select the pair."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from experiments.paper import style
from experiments.paper.data import load
from experiments.paper.experiment import Experiment, Scope, Summary, Task, curve
from experiments.paper.protocol import Scene, set_scene, sizes_of
from experiments.paper.settings import CONF_SHARE, FIRST_DRAW, TOL, setting_of
from experiments.store import Record
from unconfused import metrics
from unconfused._matrix import ConfusionWarning, make_unmixing
from unconfused.engines import LocalEngine
from unconfused.selection import SELECTIONS
from unconfused.solvers.uma.solver import UMA, UMAState
from unconfused.steps import STEPS

NAME = "figure5"
N_RUNS = 10
N_UPDATES = 120
PLATEAU = 30
"""After so many updates the paper sees no more progress."""

STRATEGIES = ("error", "confusion", "random")


def tasks(scope: Scope) -> list[Task]:
    """List runs and strategies."""
    return [
        Task(NAME, name, run, strategy, scope.quick, str(N_UPDATES))
        for run in scope.n_runs(N_RUNS)
        for name in scope.names(["reuters"])
        for strategy in STRATEGIES
    ]


def work(task: Task) -> dict[str, Any]:
    """Follow one strategy."""
    problem = load(task.data, task.run, task.quick)
    sizes = sizes_of(problem, [CONF_SHARE])
    n_labelled = setting_of(task.data, task.quick).n_labelled
    scene = set_scene(problem, n_labelled, sizes, seed=FIRST_DRAW + 700 + task.run)
    return followed(scene, sizes[0], task.part, task.run)


def followed(scene: Scene, size: int, strategy: str, seed: int) -> dict[str, Any]:
    """Make one update at a time and look at the test rows after each."""
    problem = scene.problem
    classes = np.arange(problem.n_classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfusionWarning)
        unmixing = make_unmixing(scene.confusion(size), classes)
    engine = LocalEngine(problem.X, scene.observed, problem.n_classes, intercept=False)
    one_update = UMA(
        selection=SELECTIONS[strategy],
        step=STEPS["perceptron"],
        tol=TOL,
        max_iter=1,
        average=False,
        init="zero",
        rng=np.random.RandomState(seed),
    )
    state = UMAState(np.zeros((problem.n_classes, engine.n_features)))
    values: dict[str, list[float]] = {"error": [], "confusion_norm": []}
    for _ in range(N_UPDATES):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConfusionWarning)
            state = one_update.run(engine, unmixing, 0.0, state)
        predicted = np.asarray(problem.X_test @ state.weights.T).argmax(axis=1)
        values["error"].append(float(np.mean(predicted != problem.truth_test)))
        values["confusion_norm"].append(
            metrics.confusion_rate(problem.truth_test, predicted, normalize=False)
        )
    return values


def summarise(records: list[Record]) -> Summary:
    """Average over runs, update by update."""
    found: Summary = {"n_updates": N_UPDATES, "plateau": PLATEAU}
    for measure in ("error", "confusion_norm"):
        found[measure] = {
            strategy: curve([one[measure] for one in records if one["part"] == strategy])
            for strategy in STRATEGIES
            if any(one["part"] == strategy for one in records)
        }
    return found


def draw(summary: Summary) -> Any:
    """Draw one panel for each measure."""
    updates = np.arange(1, summary["n_updates"] + 1)
    panels = (("error", "Error rate"), ("confusion_norm", "Confusion norm"))
    with style.page() as plt:
        figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.5), layout="constrained")
        for ax, (measure, title) in zip(axes, panels, strict=True):
            for strategy, values in summary[measure].items():
                style.band(ax, updates, values, style.LOOKS[strategy], strategy)
            ax.axvline(summary["plateau"], color=style.GREY, linewidth=0.8, linestyle=":")
            ax.set(title=title, xlabel="Updates", ylabel=f"{title} on test rows")
            ax.set_ylim(bottom=0)
            ax.legend(title="Pair selected by")
    return figure


EXPERIMENT = Experiment("Selection strategies (Figure 5)", tasks, work, summarise, draw)
