"""Figure 1 (a): the toy problem under more and more noise, the confusion matrix known."""

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

LABELS = {"perceptron": "C = identity (Perceptron)", "uma": "UMA with C"}

SAME = 0.01
"""Once nothing is left on the diagonal, the family stands still up to this norm."""


def tasks(scope: Scope) -> list[Task]:
    """List the runs."""
    runs = scope.n_runs(toy.N_RUNS, 2)
    return [Task(NAME, "circle", run, "", scope.quick, toy.DECIDED) for run in runs]


def work(task: Task) -> dict[str, Any]:
    """Learn under every matrix of the family, through it and with the identity in its place."""
    problem = toy.make_toy(task.run)
    values: dict[str, list[Any]] = {"noise": [], "uma": [], "perceptron": []}
    for member, matrix in enumerate(problem.family, 1):
        observed = problem.corrupted(matrix, toy.seed_of(task.run, member))
        values["noise"].append(metrics.off_diagonal_norm(matrix))
        values["uma"].append(problem.confusion_norms(matrix, observed))
        values["perceptron"].append(problem.confusion_norms(None, observed))
    return toy.by_member(values)


def summarise(records: list[Record]) -> Summary:
    """Average over runs, matrix by matrix; matrices that no longer differ count as one."""
    noise = np.mean([record["noise"] for record in records], axis=0)
    new = np.append(True, np.diff(noise) > SAME)
    members = np.split(np.arange(len(noise)), np.flatnonzero(new)[1:])

    # (runs, matrices, checkpoints)
    norms = {name: np.array([record[name] for record in records]) for name in LABELS}
    norms["difference"] = norms["uma"] - norms["perceptron"]  # within runs

    def along(name: str, place: int) -> dict[str, Any]:
        columns = [norms[name][:, one, place].mean(axis=1) for one in members]
        return curve(np.transpose(columns).tolist())

    return {
        "paper": PAPER,
        "noise": [float(noise[one].mean()) for one in members],
        "n_matrices": [len(one) for one in members],
        "updates": {
            str(updates): {name: along(name, place) for name in norms}
            for place, updates in enumerate(toy.CHECKPOINTS)
        },
    }


def draw(summary: Summary) -> Any:
    """Draw both curves against the norm of the noise, one panel for each number of updates."""
    panels = summary["updates"]
    with style.page() as plt:
        figure, axes = plt.subplots(
            1, len(panels), figsize=(10.5, 3.5), layout="constrained", sharey=True, squeeze=False
        )
        for ax, (updates, curves) in zip(axes[0], panels.items(), strict=True):
            for key, label in LABELS.items():
                style.band(ax, summary["noise"], curves[key], style.LOOKS[key], label)
                # The paper's ends of each curve, at the least noise and the most.
                ends = summary["noise"][0], summary["noise"][-1]
                colour = style.LOOKS[key]["color"]
                ax.plot(ends, summary["paper"][key], "x", color=colour, label=f"{label}: the paper")
            ax.set(xlabel="Noise: norm of C off its diagonal", title=f"{int(updates):,} updates")
            ax.set_xlim(left=0)
            ax.set_ylim(bottom=0)
        axes[0, 0].set_ylabel("Confusion norm on test rows")
        axes[0, 0].legend(loc="lower right", fontsize=7)
    return figure


EXPERIMENT = Experiment("Toy problem, more noise (Figure 1a)", tasks, work, summarise, draw)
