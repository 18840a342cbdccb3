"""Extra-trees on raw letters, C known: ours beside CleanLearning."""

from __future__ import annotations

import time
import warnings
from argparse import Namespace
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split

from experiments.runner import run_all
from experiments.store import Record, Store
from unconfused import UnconfusedClassifier, datasets, noise

N_TRAIN, N_TEST, SEEDS = 3000, 10_000, 5

NOISES = {
    "pair flip 0.3": lambda q: noise.pairwise(q, 0.3),
    "pair flip 0.45": lambda q: noise.pairwise(q, 0.45),
    "symmetric 0.5": lambda q: noise.symmetric(q, 0.5),
    "symmetric 0.7": lambda q: noise.symmetric(q, 0.7),
}
COLUMNS = ("clean labels", "noisy labels", "CleanLearning(C)", "UnconfusedClassifier")


def _fit(column: str, y: Any, seen: Any, C: Any, X: Any, seed: int) -> Any:
    base = ExtraTreesClassifier(100, random_state=seed)
    if column == "clean labels":
        return base.fit(X, y)
    if column == "noisy labels":
        return base.fit(X, seen)
    if column == "UnconfusedClassifier":
        return UnconfusedClassifier(base, C, random_state=seed).fit(X, seen)
    from cleanlab.classification import CleanLearning

    model = CleanLearning(base, seed=seed, find_label_issues_kwargs={"n_jobs": 1})
    return model.fit(X, seen, noise_matrix=C.T)


def hold(task: tuple[str, int]) -> list[Record]:
    """Fit all columns of one noise and seed."""
    name, seed = task
    X, letters = datasets.fetch_letter(return_X_y=True)
    y = np.unique(letters, return_inverse=True)[1]
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=N_TRAIN, test_size=N_TEST, stratify=y, random_state=seed
    )
    C = NOISES[name](26)
    seen = noise.corrupt_labels(y, C, random_state=seed)
    records = []
    for column in COLUMNS:
        begun = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = _fit(column, y, seen, C, X, seed)
        error = float(np.mean(model.predict(X_test) != y_test))
        seconds = round(time.process_time() - begun, 2)
        key: Record = {"noise": name, "seed": seed, "method": column}
        records.append(key | {"error": error, "seconds": seconds})
    return records


def run_extra_trees(options: Namespace) -> int:
    """Hold what is left, and print the table; return the exit code."""
    store = Store(options.results / "extra_trees.jsonl", ("noise", "seed", "method"))
    n_seeds = min(SEEDS, options.runs or (1 if options.quick else SEEDS))
    todo = [
        (name, seed)
        for seed in range(n_seeds)
        for name in NOISES
        if (name, str(seed), COLUMNS[-1]) not in store
    ]
    finished = True
    if not options.summary:
        finished = run_all(todo, hold, store, kind_of=lambda task: task[0], n_jobs=options.jobs)
    print(f"Test error of extra-trees, {N_TRAIN:,} letters; mean over the seeds in brackets.\n")
    print("| noise | " + " | ".join(COLUMNS) + " | times clean |")
    print("| --- |" + " ---: |" * (len(COLUMNS) + 1))
    for name in NOISES:
        own = [record for record in store.records() if record["noise"] == name]
        means = [
            np.mean([r["error"] for r in own if r["method"] == column] or [np.nan])
            for column in COLUMNS
        ]
        cells = " | ".join(f"{mean:.3f}" for mean in means)
        n_own = len({record["seed"] for record in own})
        print(f"| {name} [{n_own}] | {cells} | {means[-1] / means[0]:.2f} |")
    return 0 if finished else 130
