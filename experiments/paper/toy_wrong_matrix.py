"""Figure 1 (b): the toy problem with labels corrupted by M, and UMA told another matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.paper import style, toy
from experiments.paper.experiment import Experiment, Scope, Summary, Task, curve, mean_and_error
from experiments.store import Record
from unconfused._typing import BoolArray, FloatArray

NAME = "toy_wrong_matrix"

PAPER = {"true": 1.8, "overestimated": 2.15, "underestimated": 2.6}
"""The paper's confusion norms, with the true matrix and on either side of it."""


def tasks(scope: Scope) -> list[Task]:
    """List the runs."""
    runs = scope.n_runs(toy.N_RUNS, 2)
    return [Task(NAME, "circle", run, "", scope.quick, toy.DECIDED) for run in runs]


def work(task: Task) -> dict[str, Any]:
    """Corrupt with M; learn through the identity (i = 0) and every matrix of the family."""
    problem = toy.make_toy(task.run)
    observed = problem.corrupted(problem.family[toy.REFERENCE - 1], toy.seed_of(task.run, 0))
    told = [None, *problem.family]
    return toy.by_member({"uma": [problem.confusion_norms(matrix, observed) for matrix in told]})


def summarise(records: list[Record]) -> Summary:
    """Average over runs, matrix by matrix, in the order of the approximation factor."""
    factors = [1 - i / toy.REFERENCE for i in range(toy.N_MATRICES + 1)]
    norms = np.array([record["uma"] for record in records])[:, ::-1]
    under = np.array([0 < factor < 1 for factor in factors[::-1]])
    over = np.array([factor < 0 for factor in factors[::-1]])
    reference = norms[:, factors[::-1].index(0.0)]
    return {
        "paper": PAPER,
        "factor": factors[::-1],
        "updates": {
            str(updates): {
                "uma": curve(norms[:, :, place].tolist()),
                # Within runs: what another matrix than the true one costs.
                "excess": curve((norms[:, :, place] - reference[:, [place]]).tolist()),
                "sides": _sides(norms[:, :, place] - reference[:, [place]], under, over),
            }
            for place, updates in enumerate(toy.CHECKPOINTS)
        },
    }


def _sides(excess: FloatArray, under: BoolArray, over: BoolArray) -> Summary:
    """Return the mean excess where noise is underestimated and overestimated, within runs."""
    means = {
        name: excess[:, side].mean(axis=1) for name, side in (("under", under), ("over", over))
    }
    means["difference"] = means["under"] - means["over"]
    return {name: mean_and_error(values.tolist()) for name, values in means.items()}


def draw(summary: Summary) -> Any:
    """Draw the curve against the approximation factor."""
    with style.page() as plt:
        figure, ax = plt.subplots(figsize=(5.2, 3.6), layout="constrained")
        for updates, look in zip(summary["updates"], style.SHADES, strict=True):
            curves = summary["updates"][updates]
            style.band(ax, summary["factor"], curves["uma"], look, f"{int(updates):,} updates")
        ax.axvline(0.0, color=style.GREY, linewidth=0.8, linestyle=":")
        ax.set_ylim(0, 3.5)
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
        ax.legend(loc="lower right")
    return figure


EXPERIMENT = Experiment("Toy problem, wrong matrix (Figure 1b)", tasks, work, summarise, draw)
