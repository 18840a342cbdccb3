"""Figure 2 (b): the toy problem with labels corrupted by M, and UMA told another matrix."""

from __future__ import annotations

from typing import Any

from experiments.paper import style, toy
from experiments.paper.experiment import Experiment, Scope, Summary, Task, curve
from experiments.store import Record

NAME = "toy_wrong_matrix"

PAPER = {"true": 1.8, "overestimated": 2.15, "underestimated": 2.6}
"""The paper's confusion norms, with the true matrix and on either side of it."""


def tasks(scope: Scope) -> list[Task]:
    """List the runs."""
    runs = scope.n_runs(toy.N_RUNS, 2)
    return [Task(NAME, "circle", run, "", scope.quick, str(toy.N_UPDATES)) for run in runs]


def work(task: Task) -> dict[str, Any]:
    """Corrupt with M; learn through the identity (i = 0) and every matrix of the family."""
    problem = toy.make_toy(task.run)
    observed = problem.corrupted(problem.family[toy.REFERENCE - 1], toy.seed_of(task.run, 0))
    told = [None, *problem.family]
    return toy.by_member({"uma": [problem.confusion_norm(matrix, observed) for matrix in told]})


def summarise(records: list[Record]) -> Summary:
    """Average over runs, matrix by matrix, in the order of the approximation factor."""
    factors = [1 - i / toy.REFERENCE for i in range(toy.N_MATRICES + 1)]
    return {
        "paper": PAPER,
        "factor": factors[::-1],
        "uma": curve([record["uma"][::-1] for record in records]),
    }


def draw(summary: Summary) -> Any:
    """Draw the curve against the approximation factor."""
    with style.page() as plt:
        figure, ax = plt.subplots(figsize=(5.2, 3.6), layout="constrained")
        style.band(ax, summary["factor"], summary["uma"], style.LOOKS["uma"], "UMA")
        ax.axvline(0.0, color=style.GREY, linewidth=0.8, linestyle=":")
        ax.margins(y=0.12)
        for x, words, side in (
            (-0.04, "noise overestimated", "right"),
            (0.04, "noise underestimated", "left"),
        ):
            ax.text(
                x,
                0.99,
                words,
                ha=side,
                va="top",
                color=style.GREY,
                transform=ax.get_xaxis_transform(),
            )
        ax.set(
            xlabel="Approximation factor ρ (0: the true matrix, 1: the identity)",
            ylabel="Confusion norm on test rows",
            title="Toy problem: a wrong confusion matrix",
        )
    return figure


EXPERIMENT = Experiment("Toy problem, wrong matrix (Figure 2b)", tasks, work, summarise, draw)
