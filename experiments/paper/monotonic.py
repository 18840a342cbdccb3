"""Monotonic noise: mistakes near the boundary between two classes are more frequent than far away.

The paper takes from Blum and others that robustness to classification noise, whose rate depends on
the class alone, generalises robustness to monotonic noise. So the same learners meet labels
corrupted in both ways with the same matrix, which they know. Boundaries are those of a linear
classifier that was fitted to the true labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from experiments.paper.data import Problem, raw
from experiments.paper.experiment import Experiment, Scope, Summary, Task, mean_and_error
from experiments.paper.protocol import quietly
from experiments.paper.settings import FIRST_DRAW, plain_uma
from experiments.store import Record
from unconfused import UnconfusedLogisticRegression, noise

NAME = "monotonic"
N_RUNS = 5
MATRICES = {"pair flips, 0.3": (noise.pairwise, 0.3), "symmetric, 0.4": (noise.symmetric, 0.4)}
KINDS = {"uniform": "by class", "boundary": "near the boundary"}
LEARNERS = {
    "perceptron": "Perceptron, labels believed",
    "uma": "UMA through C",
    "logistic": "logistic regression, labels believed",
    "likelihood": "likelihood through C",
}


def tasks(scope: Scope) -> list[Task]:
    """List runs and matrices; both kinds of noise and all learners go together."""
    return [
        Task(NAME, "digits", run, kind, scope.quick)
        for run in scope.n_runs(N_RUNS)
        for _ in scope.names(["digits"])
        for kind in MATRICES
    ]


def work(task: Task) -> dict[str, Any]:
    """Return the test errors of all learners under both kinds of noise."""
    problem, seed = raw("digits", task.run, task.quick), FIRST_DRAW + task.run
    make, rate = MATRICES[task.part]
    C = make(problem.n_classes, rate)
    clean = LogisticRegression(C=1.0, max_iter=300).fit(problem.X, problem.truth)
    scores = clean.decision_function(problem.X)
    seen = {
        "uniform": noise.corrupt_labels(problem.truth, C, random_state=seed),
        "boundary": noise.boundary(problem.truth, scores, C, random_state=seed),
    }
    values = {kind: _errors(problem, labels, C) for kind, labels in seen.items()}
    wrong = {kind: float(np.mean(labels != problem.truth)) for kind, labels in seen.items()}
    return {"errors": values, "wrong": wrong, "clean": problem.error(clean)}


def _errors(problem: Problem, seen: Any, C: Any) -> dict[str, float]:
    settings: dict[str, Any] = {"l2": 1e-3, "relabel": 0, "n_jobs": 1}
    models = {
        "perceptron": plain_uma(None, n_jobs=1),
        "uma": plain_uma(C, n_jobs=1),
        "logistic": UnconfusedLogisticRegression(None, **settings),
        "likelihood": UnconfusedLogisticRegression(C, **settings),
    }
    return {
        name: problem.error(quietly(lambda model=model: model.fit(problem.X, seen)))
        for name, model in models.items()
    }


def summarise(records: list[Record]) -> Summary:
    """Average over runs, and the differences between the kinds of noise within runs."""
    found: Summary = {}
    for kind in MATRICES:
        own = [record["errors"] for record in records if record["part"] == kind]
        if not own:
            continue
        found[kind] = {
            name: {
                **{which: mean_and_error([one[which][name] for one in own]) for which in KINDS},
                "difference": mean_and_error(
                    [one["boundary"][name] - one["uniform"][name] for one in own]
                ),
            }
            for name in LEARNERS
        }
    clean = mean_and_error([record["clean"] for record in records])
    return {"errors": found, "clean": clean}


EXPERIMENT = Experiment("Monotonic noise", tasks, work, summarise, None)
