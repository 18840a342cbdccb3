"""Figure 2 (a): the toy problem under more and more noise, the confusion matrix known."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.paper import style, toy
from experiments.paper.experiment import Experiment, Scope, Summary, Task, curve
from experiments.store import Record
from unconfused import metrics

NAME = "toy_noise"

PAPER = {"uma": [0.5, 2.25], "perceptron": [1.7, 2.75]}
"""The paper's confusion norms, at the least noise and the most."""

SAME = 0.01
"""Once nothing is left on the diagonal, the family stands still up to this norm."""


def tasks(scope: Scope) -> list[Task]:
    """List the runs."""
    runs = scope.n_runs(toy.N_RUNS, 2)
    return [Task(NAME, "circle", run, "", scope.quick, str(toy.N_UPDATES)) for run in runs]


def work(task: Task) -> dict[str, Any]:
    """Learn under every matrix of the family, through it and with the identity in its place."""
    problem = toy.make_toy(task.run)
    values: dict[str, list[Any]] = {"noise": [], "uma": [], "perceptron": []}
    for member, matrix in enumerate(problem.family, 1):
        observed = problem.corrupted(matrix, toy.seed_of(task.run, member))
        values["noise"].append(metrics.off_diagonal_norm(matrix))
        values["uma"].append(problem.confusion_norm(matrix, observed))
        values["perceptron"].append(problem.confusion_norm(None, observed))
    return toy.by_member(values)


def summarise(records: list[Record]) -> Summary:
    """Average over runs, matrix by matrix; matrices that no longer differ count as one."""
    noise = np.mean([record["noise"] for record in records], axis=0)
    new = np.append(True, np.diff(noise) > SAME)
    members = np.split(np.arange(len(noise)), np.flatnonzero(new)[1:])

    def merged(name: str) -> list[list[float]]:
        return [[float(np.mean(np.take(r[name], one))) for one in members] for r in records]

    return {
        "paper": PAPER,
        "noise": [float(noise[one].mean()) for one in members],
        "n_matrices": [len(one) for one in members],
        "uma": curve(merged("uma")),
        "perceptron": curve(merged("perceptron")),
    }


def draw(summary: Summary) -> Any:
    """Draw both curves against the norm of the noise."""
    with style.page() as plt:
        figure, ax = plt.subplots(figsize=(5.2, 3.6), layout="constrained")
        for key, label in (("perceptron", "C = identity (Perceptron)"), ("uma", "UMA with C")):
            style.band(ax, summary["noise"], summary[key], style.LOOKS[key], label)
        ax.set(
            xlabel="Noise: norm of C off its diagonal",
            ylabel="Confusion norm on test rows",
            title="Toy problem: more and more noise",
        )
        ax.set_ylim(bottom=0)
        ax.legend(loc="lower right")
    return figure


EXPERIMENT = Experiment("Toy problem, more noise (Figure 2a)", tasks, work, summarise, draw)
