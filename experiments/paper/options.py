"""What two options of SelfLabelingClassifier do: the known labels, and further rounds.

The paper throws the known labels away once C is counted; ours tells them to the learner unless
``use_known_labels=False``. With ``n_rounds`` the learner labels the rows anew, its C is counted,
and it learns again, until C settles. Runs and setting are those of Table 1. Letter is left out: a
fit takes minutes there.
"""

from __future__ import annotations

from typing import Any

from experiments.paper.experiment import (
    Experiment,
    Scope,
    Summary,
    Task,
    mean_and_error,
    of_data,
    shown_data,
)
from experiments.paper.protocol import quietly
from experiments.paper.self_labeling import self_labeling
from experiments.paper.table1 import N_RUNS, scene_of
from experiments.store import Record

NAME = "options"
MOST_ROUNDS = 4

VARIANTS: dict[str, dict[str, Any]] = {
    "known labels, one round": {},
    f"known labels, up to {MOST_ROUNDS} rounds": {"n_rounds": MOST_ROUNDS},
    "labeller's labels only, one round": {"use_known_labels": False},
    f"labeller's labels only, up to {MOST_ROUNDS} rounds": {
        "use_known_labels": False,
        "n_rounds": MOST_ROUNDS,
    },
}


def tasks(scope: Scope) -> list[Task]:
    """List runs and data sets."""
    return [
        Task(NAME, name, run, "", scope.quick, scope.self_labeling)
        for run in scope.n_runs(N_RUNS)
        for name in scope.names(["digits", "reuters"])
    ]


def work(task: Task) -> dict[str, Any]:
    """Return the test error of every variant, and how many rounds it took."""
    scene = scene_of(task)
    y = scene.partly_labelled(scene.known)
    errors, rounds = {}, {}
    for name, options in VARIANTS.items():
        model = self_labeling(task.detail, task.run).set_params(**options)
        fitted = quietly(lambda model=model: model.fit(scene.problem.X, y))
        errors[name], rounds[name] = scene.problem.error(fitted), int(fitted.n_rounds_)
    return {"errors": errors, "rounds": rounds}


def summarise(records: list[Record]) -> Summary:
    """Average errors and rounds over runs."""
    found: Summary = {}
    for data in shown_data(records):
        own = of_data(records, data)
        found[data] = {
            name: mean_and_error([record["errors"][name] for record in own])
            | {"rounds": sum(record["rounds"][name] for record in own) / len(own)}
            for name in VARIANTS
        }
    return found


EXPERIMENT = Experiment("Two options of SelfLabelingClassifier", tasks, work, summarise, None)
