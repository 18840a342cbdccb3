"""Figure 2: how many training rows each class of the three data sets has."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.paper import style
from experiments.paper.data import LOADERS, raw
from experiments.paper.experiment import Experiment, Scope, Summary, Task
from experiments.paper.settings import setting_of
from experiments.store import Record

NAME = "class_distributions"


def tasks(scope: Scope) -> list[Task]:
    """List the data sets."""
    return [Task(NAME, name, 0, "", scope.quick) for name in scope.names(list(LOADERS))]


def work(task: Task) -> dict[str, Any]:
    """Count the training rows of each class."""
    problem = raw(task.data, task.run, task.quick)
    counts = np.bincount(problem.truth, minlength=problem.n_classes)
    return {
        "title": setting_of(task.data, task.quick).title,
        "classes": list(problem.classes),
        "counts": counts.tolist(),
        "n_test": len(problem.truth_test),
        "n_features": int(problem.X.shape[1]),
    }


def summarise(records: list[Record]) -> Summary:
    """Return the counts by data set."""
    kept = ("title", "classes", "counts", "n_test", "n_features")
    return {record["data"]: {name: record[name] for name in kept} for record in records}


def draw(summary: Summary) -> Any:
    """Draw one panel of bars for each data set."""
    widths = [max(len(one["classes"]), 9) for one in summary.values()]
    with style.page() as plt:
        figure, axes = plt.subplots(
            1,
            len(summary),
            figsize=(10.5, 3.0),
            layout="constrained",
            squeeze=False,
            gridspec_kw={"width_ratios": widths},
        )
        for ax, one in zip(axes[0], summary.values(), strict=True):
            ax.bar(one["classes"], one["counts"], color=style.BLUE, width=0.75)
            ax.grid(axis="x", visible=False)
            ax.margins(x=0.02)
            ax.set(title=one["title"], xlabel="Class")
            ax.tick_params(axis="x", labelrotation=90 if len(one["classes"][0]) > 1 else 0)
        axes[0, 0].set_ylabel("Training rows")
    return figure


EXPERIMENT = Experiment("Class distributions (Figure 2)", tasks, work, summarise, draw)
