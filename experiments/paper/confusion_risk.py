"""Error or confusion rate: class weights of true classes, on Reuters with all its classes.

Labels are corrupted (each wrong label equally likely), C is known, and the classes are as uneven
as they come. One run has every learner with and without class weights; only the way mistakes are
counted differs.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from experiments.paper import data
from experiments.paper.experiment import Experiment, Scope, Summary, Task, mean_and_error
from experiments.paper.settings import plain_uma
from experiments.store import Record
from unconfused import (
    UnconfusedLogisticRegression,
    metrics,
    noise,
)

NAME = "confusion_risk"
N_RUNS = 3
RATE = 0.3
"""Share of wrong labels."""

FEWEST = 20
"""Training rows that a class must have: a share of its test rows should mean something."""

UMA: dict[str, dict[str, Any]] = {
    "UMA": {},
    'UMA, selection="confusion"': {"selection": "confusion"},
    'UMA, class_weight="balanced"': {"class_weight": "balanced"},
    'UMA, class_weight="balanced", step="copa"': {"class_weight": "balanced", "step": "copa"},
}
LIKELIHOOD = "likelihood"
BALANCED = 'likelihood, class_weight="balanced"'
METHODS = (*UMA, LIKELIHOOD, BALANCED)


def tasks(scope: Scope) -> list[Task]:
    """List the runs."""
    runs = scope.n_runs(N_RUNS)
    names = scope.names(["reuters"])
    return [Task(NAME, name, run, "", scope.quick, str(RATE)) for run in runs for name in names]


def work(task: Task) -> dict[str, Any]:
    """Return error and confusion rate of every learner."""
    X, y, X_test, y_test = data.all_reuters()
    classes, sizes = np.unique(y, return_counts=True)
    kept = classes[(sizes >= FEWEST) & np.isin(classes, y_test)]
    rows, shown = np.isin(y, kept), np.isin(y_test, kept)
    X, y, X_test, y_test = X[rows], y[rows], X_test[shown], y_test[shown]
    C = noise.symmetric(len(kept), RATE)
    seen = noise.corrupt_labels(y, C, random_state=task.run)
    found: dict[str, Any] = {}
    begun = time.process_time()
    for name, settings in UMA.items():
        model = plain_uma(C, n_jobs=1, **settings).fit(X, seen)
        found[name] = _rates(y_test, model.predict(X_test))
    settings = {"l2": 1e-4, "relabel": 0, "n_jobs": 1}
    model = UnconfusedLogisticRegression(C, **settings).fit(X, seen)
    found[LIKELIHOOD] = _rates(y_test, model.predict(X_test))
    model.set_params(class_weight="balanced")  # of the same fit
    found[BALANCED] = _rates(y_test, model.predict(X_test))
    seconds = time.process_time() - begun
    shape = {"classes": len(kept), "rows": len(y), "smallest": int(sizes[sizes >= FEWEST].min())}
    return {"rates": found, "shape": shape | {"largest": int(sizes.max())}, "seconds": seconds}


def _rates(truth: Any, predicted: Any) -> dict[str, float]:
    error = float(np.mean(np.asarray(predicted) != truth))
    return {"error": error, "confusion_rate": metrics.confusion_rate(truth, predicted)}


def summarise(records: list[Record]) -> Summary:
    """Average both rates over the runs."""
    table = {
        name: {
            rate: mean_and_error([record["rates"][name][rate] for record in records])
            for rate in ("error", "confusion_rate")
        }
        for name in METHODS
    }
    return {"noise": RATE, "shape": records[0]["shape"], "table": table}


EXPERIMENT = Experiment("Error or confusion rate", tasks, work, summarise, None)
