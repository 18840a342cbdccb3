"""How many updates UMA and the Perceptrons make, chosen by labels that runs may know.

The rule, fixed beforehand: of `TURNS_TRIED`, the number of updates for each
ordered pair of classes with the lowest error of UMA on the rows of S_conf, averaged over the three
data sets and `N_RUNS` runs of their own (their draws are none of Table 1's). UMA learns from the
rough classifier's labels of these rows; their true labels enter through C alone. Test rows are
not looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.paper.data import LOADERS, load
from experiments.paper.experiment import (
    Experiment,
    Scope,
    Summary,
    Task,
    mean_and_error,
    of_data,
    shown_data,
)
from experiments.paper.protocol import fit_uma, set_scene, sizes_of
from experiments.paper.settings import CONF_SHARE, TURNS, setting_of
from experiments.store import Record

NAME = "updates"
TURNS_TRIED = (1, 2, 4, 8)
N_RUNS = 3


def tasks(scope: Scope) -> list[Task]:
    """List data sets, runs and numbers of turns."""
    return [
        Task(NAME, name, run, str(turns), scope.quick)
        for run in scope.n_runs(N_RUNS)
        for name in scope.names(list(LOADERS))
        for turns in TURNS_TRIED
    ]


def work(task: Task) -> dict[str, Any]:
    """Return UMA's error on the rows of S_conf."""
    problem, turns = load(task.data, task.run, task.quick), int(task.part)
    n_labelled, sizes = (
        setting_of(task.data, task.quick).n_labelled,
        sizes_of(problem, [CONF_SHARE]),
    )
    scene = set_scene(problem, n_labelled, sizes, seed=800 + task.run, turns=turns)
    matrix = scene.confusion(sizes[0])
    model = fit_uma(matrix, problem.X, scene.observed, problem.n_classes, turns)
    predicted = np.asarray(model.predict(problem.X[scene.conf]))
    return {"error": float(np.mean(predicted != problem.truth[scene.conf]))}


def summarise(records: list[Record]) -> Summary:
    """Return the mean errors, and which number of turns has the lowest."""
    errors: Summary = {
        name: {
            str(turns): mean_and_error([r["error"] for r in own if r["part"] == str(turns)])
            for turns in TURNS_TRIED
            if any(r["part"] == str(turns) for r in own)
        }
        for name in shown_data(records)
        for own in [of_data(records, name)]
    }
    everywhere = [t for t in map(str, TURNS_TRIED) if all(t in one for one in errors.values())]
    means = {t: float(np.mean([one[t]["mean"] for one in errors.values()])) for t in everywhere}
    lowest = int(min(means, key=lambda turns: means[turns])) if means else None
    return {"error_on_s_conf": errors, "mean": means, "lowest": lowest, "used": TURNS}


EXPERIMENT = Experiment("The number of updates", tasks, work, summarise, None)
