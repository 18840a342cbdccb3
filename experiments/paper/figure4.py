"""Figure 4: UMA and the semi-supervised SVM as S_conf grows, on all three data sets."""

from __future__ import annotations

from typing import Any

from experiments.paper import style
from experiments.paper.data import LOADERS, load
from experiments.paper.experiment import (
    Experiment,
    Scope,
    Summary,
    Task,
    curve,
    of_data,
    shown_data,
)
from experiments.paper.figure_words import TITLES
from experiments.paper.methods import semi_supervised_svm
from experiments.paper.protocol import Scene, fit_uma, set_scene, sizes_of
from experiments.paper.settings import FIRST_DRAW, setting_of
from experiments.store import Record

NAME = "figure4"
N_RUNS = 15
LABELS = {"uma": "UMA", "s3vm": "Semi-supervised SVM"}


def tasks(scope: Scope) -> list[Task]:
    """List the runs; the SVM takes minutes, so each of its sizes is a task."""
    found = []
    for run in scope.n_runs(N_RUNS):
        for name in scope.names(list(LOADERS)):
            parts = ["uma"] + [f"s3vm {share}" for share in setting_of(name, scope.quick).shares]
            found += [Task(NAME, name, run, part, scope.quick) for part in parts]
    return found


def _scene(task: Task) -> tuple[Scene, list[int]]:
    setting = setting_of(task.data, task.quick)
    problem = load(task.data, task.run, task.quick)
    sizes = sizes_of(problem, setting.shares)
    return set_scene(problem, setting.n_labelled, sizes, seed=FIRST_DRAW + 600 + task.run), sizes


def work(task: Task) -> dict[str, Any]:
    """Learn with UMA from every size of S_conf, or with the SVM from one."""
    scene, sizes = _scene(task)
    problem = scene.problem
    if task.part == "uma":
        fits = [
            fit_uma(scene.confusion(size), problem.X, scene.observed, problem.n_classes)
            for size in sizes
        ]
        return {"sizes": sizes, "errors": [problem.error(model) for model in fits]}
    share = float(task.part.split()[1])
    size = sizes[setting_of(task.data, task.quick).shares.index(share)]
    y = scene.partly_labelled(scene.conf[:size])
    return {"size": size, "error": problem.error(semi_supervised_svm(problem.X, y))}


def summarise(records: list[Record]) -> Summary:
    """Average over runs, size by size; a run of the SVM counts once all its sizes are done."""
    found: Summary = {}
    for name in shown_data(records):
        own = of_data(records, name)
        whole = [record for record in own if record["part"] == "uma"]
        if not whole:
            continue
        sizes = whole[0]["sizes"]
        found[name] = {"sizes": sizes, "uma": curve([record["errors"] for record in whole])}
        by_run: dict[str, dict[int, float]] = {}
        for record in own:
            if record["part"] != "uma":
                by_run.setdefault(record["run"], {})[record["size"]] = record["error"]
        complete = [
            [errors[size] for size in sizes]
            for errors in by_run.values()
            if len(errors) == len(sizes)
        ]
        if complete:
            found[name]["s3vm"] = curve(complete)
    return found


def _lines(ax: Any) -> tuple[list[Any], list[str]]:
    found: tuple[list[Any], list[str]] = ax.get_legend_handles_labels()
    return found


def _runs(one: Summary) -> str:
    """Say how many runs there are, of each if they differ."""
    counts = {label: one[key]["n_runs"] for key, label in LABELS.items() if key in one}
    if len(set(counts.values())) == 1:
        n_runs = next(iter(counts.values()))
        return f"{n_runs} run{'s' * (n_runs > 1)}"
    return "runs: " + ", ".join(f"{label} {n_runs}" for label, n_runs in counts.items())


def draw(summary: Summary) -> Any:
    """Draw one panel for each data set."""
    order = [name for name in ("reuters", "digits", "letter") if name in summary]
    with style.page() as plt:
        figure, axes = plt.subplots(
            1, len(order), figsize=(10.5, 3.4), layout="constrained", squeeze=False
        )
        for ax, name in zip(axes[0], order, strict=True):
            for key, label in LABELS.items():
                if key in summary[name]:
                    style.band(
                        ax, summary[name]["sizes"], summary[name][key], style.LOOKS[key], label
                    )
            style.sizes_axis(ax, summary[name]["sizes"])
            ax.set(title=f"{TITLES[name]} ({_runs(summary[name])})")
            ax.set_ylim(bottom=0)
        handles = {label: line for ax in axes[0] for line, label in zip(*_lines(ax), strict=True)}
        figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=2)
        axes[0, 0].set_ylabel("Error on test rows")
    return figure


EXPERIMENT = Experiment("UMA and S3VM as S_conf grows (Figure 4)", tasks, work, summarise, draw)
