"""Figure 3: UMA and the Perceptron on S_conf alone, as S_conf grows; Reuters, m = 70."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.paper import style
from experiments.paper.data import load
from experiments.paper.experiment import Experiment, Scope, Summary, Task, curve
from experiments.paper.protocol import fit_uma, set_scene, sizes_of
from experiments.paper.settings import FIRST_DRAW, setting_of
from experiments.store import Record

NAME = "figure3"
N_LABELLED = 70
N_RUNS = 10


def tasks(scope: Scope) -> list[Task]:
    """List the runs."""
    return [
        Task(NAME, name, run, "", scope.quick, str(N_LABELLED))
        for run in scope.n_runs(N_RUNS)
        for name in scope.names(["reuters"])
    ]


def work(task: Task) -> dict[str, Any]:
    """Learn from each size of S_conf in two ways: through its matrix, and from its labels."""
    problem = load(task.data, task.run, task.quick)
    sizes = sizes_of(problem, setting_of(task.data, task.quick).shares)
    scene = set_scene(problem, N_LABELLED, sizes, seed=FIRST_DRAW + 500 + task.run)
    values: dict[str, list[float]] = {"uma": [], "f_conf": []}
    for size in sizes:
        through = fit_uma(scene.confusion(size), problem.X, scene.observed, problem.n_classes)
        rows = scene.conf[:size]
        alone = fit_uma(None, problem.X[rows], problem.truth[rows], problem.n_classes)
        values["uma"].append(problem.error(through))
        values["f_conf"].append(problem.error(alone))
    return {"sizes": sizes, "noise": scene.noise, **values}


def summarise(records: list[Record]) -> Summary:
    """Average over runs, size by size."""
    return {
        "n_labelled": N_LABELLED,
        "sizes": records[0]["sizes"],
        "noise": float(np.mean([record["noise"] for record in records])),
        **{name: curve([record[name] for record in records]) for name in ("uma", "f_conf")},
    }


def draw(summary: Summary) -> Any:
    """Draw both curves against the size of S_conf."""
    with style.page() as plt:
        figure, ax = plt.subplots(figsize=(5.2, 3.6), layout="constrained")
        for key, label in (("uma", "UMA through C"), ("f_conf", "Perceptron on S_conf")):
            style.band(ax, summary["sizes"], summary[key], style.LOOKS[key], label)
        style.sizes_axis(ax, summary["sizes"])
        ax.set(
            ylabel="Error on test rows",
            title=f"Reuters, {summary['n_labelled']} labels per class for the labeller",
        )
        ax.set_ylim(bottom=0)
        ax.legend()
    return figure


EXPERIMENT = Experiment("UMA and f_conf as S_conf grows (Figure 3)", tasks, work, summarise, draw)
