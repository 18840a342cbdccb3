"""Table 1: the paper's columns, and beside them what you would use today."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from experiments.paper.data import LOADERS, load, raw
from experiments.paper.experiment import (
    Experiment,
    Scope,
    Summary,
    Task,
    mean_and_error,
    of_data,
    shown_data,
)
from experiments.paper.methods import OURS, TODAY, semi_supervised_svm, supervised_svm
from experiments.paper.protocol import Scene, counted, fit_uma, quietly, set_scene, sizes_of
from experiments.paper.self_labeling import self_labeling
from experiments.paper.settings import CONF_SHARE, FIRST_DRAW, setting_of
from experiments.store import Record
from unconfused import UltraconservativeClassifier, UMAClassifier, confusion

NAME = "table1"
N_RUNS = 10
COLUMNS = ("f_y", "f_conf", "f_full", "s3vm", "uma", "s3vm_kernel")

EXACT = "uma_exact"
"""UMA with the matrix counted on all rows: what a perfect count would change, and nothing else."""

WHITENED = "uma_whitened"
"""UMA in whitened coordinates, otherwise with its defaults."""

ONLINE = "f_full_online"
"""f_full as a Perceptron that goes over the rows one by one until it errs no more, or 50 times."""

EPOCHS = 50

PAIRS = (
    ("uma", "f_y"),
    ("f_conf", "f_full"),
    ("uma", "f_conf"),
    ("uma", "s3vm"),
    ("s3vm", "s3vm_kernel"),
    ("f_y", "s3vm"),
    (WHITENED, "uma"),
    (WHITENED, "f_y"),
)
"""Columns whose difference, run by run, a claim of the paper or of ours is about."""

TWIN = "svm"
"""The semi-supervised SVM without the unlabelled rows: what these are good for."""

PAPER: dict[str, dict[str, float]] = {
    "digits": dict(zip(COLUMNS, (0.25, 0.21, 0.04, 0.15, 0.16, 0.07), strict=True)),
    "letter": dict(zip(COLUMNS, (0.35, 0.36, 0.23, 0.49, 0.33, 0.18), strict=True)),
    "reuters": dict(zip(COLUMNS, (0.30, 0.17, 0.01, 0.22, 0.21, 0.22), strict=True)),
}
"""The numbers as published."""


def tasks(scope: Scope) -> list[Task]:
    """List data sets, runs and methods; the Perceptrons and UMA go together."""
    found = []
    for run in scope.n_runs(N_RUNS):
        for name in scope.names(list(LOADERS)):
            setting = setting_of(name, scope.quick)
            parts = ["perceptrons", ONLINE, "s3vm", TWIN, *TODAY, OURS, WHITENED]
            if setting.n_components is not None and run < setting.n_kernel_runs:
                parts.append("s3vm_kernel")
            for part in parts:
                detail = scope.self_labeling if part == OURS else ""
                found.append(Task(NAME, name, run, part, scope.quick, detail))
    return found


def scene_of(task: Task) -> Scene:
    """Set the scene of a run, the same for every method."""
    problem = load(task.data, task.run, task.quick)
    n_labelled = setting_of(task.data, task.quick).n_labelled
    return set_scene(
        problem, n_labelled, sizes_of(problem, [CONF_SHARE]), seed=FIRST_DRAW + task.run
    )


def work(task: Task) -> dict[str, Any]:
    """Return the test errors of one method, or of UMA and the Perceptrons."""
    scene, begun = scene_of(task), time.process_time()
    if task.part == "perceptrons":
        errors = _perceptrons(scene)
    elif task.part == ONLINE:
        errors = {ONLINE: scene.problem.error(_online(scene, task.run))}
    elif task.part == WHITENED:
        errors = {WHITENED: scene.problem.error(_whitened(scene))}
    elif task.part == "s3vm":
        y = scene.partly_labelled(scene.conf)
        errors = {"s3vm": scene.problem.error(semi_supervised_svm(scene.problem.X, y))}
    elif task.part == TWIN:
        y = scene.partly_labelled(scene.conf)
        errors = {TWIN: scene.problem.error(supervised_svm(scene.problem.X, y))}
    elif task.part == "s3vm_kernel":
        errors = {"s3vm_kernel": _with_the_kernel(scene, task)}
    elif task.part == OURS:
        y, model = scene.partly_labelled(scene.known), self_labeling(task.detail, task.run)
        errors = {OURS: scene.problem.error(quietly(lambda: model.fit(scene.problem.X, y)))}
    else:
        errors = {task.part: scene.problem.error(TODAY[task.part](scene, task.run))}
    return {"errors": errors, "seconds": round(time.process_time() - begun, 2)}


def _perceptrons(scene: Scene) -> dict[str, float]:
    problem, conf = scene.problem, scene.conf
    X, truth = problem.X, problem.truth
    matrix = scene.confusion(len(conf))
    fits = {
        "f_y": (None, X, scene.observed),
        "f_conf": (None, X[conf], truth[conf]),
        "f_full": (None, X, truth),
        "uma": (matrix, X, scene.observed),
        EXACT: (counted(problem, scene.observed, np.arange(len(truth))), X, scene.observed),
    }
    errors = {
        name: problem.error(fit_uma(C, rows, labels, problem.n_classes))
        for name, (C, rows, labels) in fits.items()
    }
    condition = float(np.linalg.cond(matrix))
    return errors | {"label_noise": scene.noise, "condition_number": condition}


def _whitened(scene: Scene) -> UMAClassifier:
    """Fit UMA with its defaults; the estimate of C says how many rows it was counted on."""
    conf, classes = scene.conf, np.arange(scene.problem.n_classes)
    estimate = confusion.from_trusted(
        scene.problem.truth[conf], scene.observed[conf], classes=classes
    )
    model = UMAClassifier(estimate, classes=classes, n_jobs=1)
    quietly(lambda: model.fit(scene.problem.X, scene.observed))
    return model


def _online(scene: Scene, seed: int) -> Any:
    model = UltraconservativeClassifier(max_iter=EPOCHS, fit_intercept=False, random_state=seed)
    return quietly(lambda: model.fit(scene.problem.X, scene.problem.truth))


def _with_the_kernel(scene: Scene, task: Task) -> float:
    """Return the SVM's error with the kernel itself in place of its projection."""
    rows = raw(task.data, task.run, task.quick)
    model = semi_supervised_svm(
        rows.X,
        scene.partly_labelled(scene.conf),
        kernel="rbf",
        n_components=setting_of(task.data, task.quick).kernel_components,
    )
    return rows.error(model)


def summarise(records: list[Record]) -> Summary:
    """Average every column over its runs, beside the paper's."""
    found: Summary = {}
    for name in shown_data(records):
        columns: dict[str, list[float]] = {}
        seconds: dict[str, list[float]] = {}
        by_run: dict[str, dict[str, float]] = {}
        for record in of_data(records, name):
            seconds.setdefault(record["part"], []).append(record["seconds"])
            for column, error in record["errors"].items():
                columns.setdefault(column, []).append(error)
            for column, error in record["errors"].items():
                by_run.setdefault(column, {})[record["run"]] = error
        if name == "reuters" and "s3vm" in columns:  # no kernel, so nothing to leave out
            columns["s3vm_kernel"] = columns["s3vm"]
        found[name] = {
            "paper": PAPER[name],
            "ours": {column: mean_and_error(errors) for column, errors in columns.items()},
            "differences": _differences(by_run),
            "seconds": {part: float(np.mean(times)) for part, times in seconds.items()},
        }
    return found


def _differences(by_run: dict[str, dict[str, float]]) -> Summary:
    """Return the mean difference of columns within runs: of the first minus the second."""
    found = {}
    for first, second in PAIRS:
        runs = sorted(set(by_run.get(first, {})) & set(by_run.get(second, {})))
        if runs:
            gaps = [by_run[first][run] - by_run[second][run] for run in runs]
            found[f"{first} - {second}"] = mean_and_error(gaps)
    return found


EXPERIMENT = Experiment("Table 1, and what you would use today", tasks, work, summarise, None)
