"""How many trusted rows are worth it: accuracy against their number, ours beside simpler ways."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.league.block import Method
from experiments.league.data import CROWD, SOURCES, load
from experiments.league.methods import METHODS
from experiments.league.problem import Problem, choose_trusted, pose, with_trusted
from experiments.league.tuning import choose_penalty
from experiments.runner import run_all
from experiments.store import Record, Store

CASES = {"digits": "random 0.6", "music": CROWD, "sentiment": CROWD}
"""The sets, with the noise of each: injected, or of people."""

N_TRUSTED = (20, 50, 100, 200, 500, 1000, 2000)
N_SEEDS, N_QUICK = 5, 1

WAYS = {
    "ours": ("ours: all labels and the trusted rows", "#0072B2", "o-"),
    "mixed": ("logistic regression on all labels, trusted rows corrected", "#E69F00", "s--"),
    "trusted": ("logistic regression on the trusted rows alone", "#D55E00", "^--"),
}
"""Methods that learn from trusted rows, with their look."""

LINES = {"noisy": ("noisy labels alone", "#999999", "--"), "clean": ("clean labels", "black", ":")}
"""What needs no trusted rows."""

FIELDS = ("data", "n_trusted", "seed", "method")


@dataclass(frozen=True)
class Task:
    """One draw of trusted rows (0: none) and the methods still to run on it."""

    data: str
    n_trusted: int
    seed: int
    methods: tuple[str, ...]


def run_break_even(options: Namespace) -> int:
    """Run what is left and draw the figure; return the exit code."""
    names = options.only or list(CASES)
    if unknown := sorted(set(names) - set(CASES)):
        print(f"No such data set: {', '.join(unknown)}. There are {', '.join(CASES)}.")
        return 2
    store = Store(options.results / "break_even.jsonl", FIELDS)
    finished = True
    if not options.summary:
        n_seeds = min(options.runs or N_SEEDS, N_QUICK if options.quick else N_SEEDS)
        todo = [task for seed in range(n_seeds) for task in _tasks(store, names, seed)]
        finished = run_all(
            todo, measure, store, kind_of=lambda t: f"{t.data} {t.n_trusted}", n_jobs=options.jobs
        )
    if len(store) == 0:
        print(f"There are no results in {store.path} yet.")
        return 2
    path = draw(store.records(), (options.docs or Path("docs")) / "league")
    print(f"Wrote {path}.")
    return 0 if finished else 130


def _tasks(store: Store, names: list[str], seed: int) -> list[Task]:
    found = []
    for name in names:
        largest = len(load(name, seed).truth) // 2
        for n_trusted in (0, *(n for n in N_TRUSTED if n <= largest)):
            methods = WAYS if n_trusted else LINES
            left = [m for m in methods if (name, str(n_trusted), str(seed), m) not in store]
            if left:
                found.append(Task(name, n_trusted, seed, tuple(left)))
    return found


def measure(task: Task) -> list[Record]:
    """Return the accuracy of every method on one draw."""
    data = load(task.data, task.seed)
    records = []
    for name in task.methods:
        knowledge = "clean" if name == "clean" else "none"
        problem = pose(task.data, CASES[task.data], task.seed, knowledge)
        if task.n_trusted:
            rows = choose_trusted(data, task.n_trusted / len(data.truth), task.seed)
            # One label a row for everybody: this is about trusted rows, not about votes.
            problem = with_trusted(problem, data, rows).without_votes()
        model = _fitted(METHODS[name], problem)
        accuracy = float(np.mean(np.asarray(model.predict(data.X_test)) == data.truth_test))
        key = dict(zip(FIELDS, (task.data, task.n_trusted, task.seed, name), strict=True))
        records.append({**key, "accuracy": accuracy})
    return records


def _fitted(method: Method, problem: Problem) -> Any:
    return method.fit(problem, choose_penalty(method, problem) if method.tuned else 0.0)


def draw(records: list[Record], folder: Path) -> Path:
    """Draw a panel per data set; return the path of the PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    names = [name for name in CASES if any(r["data"] == name for r in records)]
    figure, axes = plt.subplots(1, len(names), figsize=(3.6 * len(names), 3.9), squeeze=False)
    for ax, name in zip(axes[0], names, strict=True):
        _panel(ax, [record for record in records if record["data"] == name])
        ax.set_title(f"{SOURCES[name].title}; {CASES[name]}", fontsize=10)
    axes[0, 0].set_ylabel("test accuracy")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=2, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.17, 1, 1))
    folder.mkdir(parents=True, exist_ok=True)
    for path in (folder / "break_even.svg", folder / "break_even.png"):
        figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
    return path


def _panel(ax: Any, records: list[Record]) -> None:
    for method, (title, colour, style) in WAYS.items():
        numbers = sorted({r["n_trusted"] for r in records if r["method"] == method})
        found = [_accuracies(records, method, number) for number in numbers]
        means = [float(np.mean(own)) for own in found]
        errors = [float(np.std(own) / max(1.0, np.sqrt(len(own) - 1))) for own in found]
        look: dict[str, Any] = {"color": colour, "markersize": 5, "linewidth": 1.6, "capsize": 2}
        ax.errorbar(numbers, means, yerr=errors, fmt=style, label=title, **look)
    for method, (title, colour, style) in LINES.items():
        own = _accuracies(records, method, 0)
        if own:
            ax.axhline(np.mean(own), color=colour, linestyle=style, linewidth=1.2, label=title)
    ax.set_xscale("log")
    numbers = sorted({r["n_trusted"] for r in records if r["n_trusted"]})
    ax.set_xticks(numbers, [str(number) for number in numbers], fontsize=8)
    ax.minorticks_off()
    ax.set_xlabel("trusted rows")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _accuracies(records: list[Record], method: str, n_trusted: int) -> list[float]:
    wanted = (method, n_trusted)
    return [r["accuracy"] for r in records if (r["method"], r["n_trusted"]) == wanted]
