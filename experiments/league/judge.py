"""One contest: fit a method, look at test rows, write down what came out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from experiments.league.data import SOURCES, load
from experiments.league.finding import FINDERS
from experiments.league.methods import METHODS
from experiments.league.noises import CROWD, NOISES
from experiments.league.problem import KNOWLEDGE, Problem, pose
from experiments.league.tuning import choose_penalty, full_probability
from experiments.store import Record, Store
from unconfused._typing import FloatArray, IntArray

FIELDS = ("data", "noise", "seed", "knowledge", "method")


@dataclass(frozen=True)
class Contest:
    """A problem and the methods that have not met it yet."""

    data: str
    noise: str
    seed: int
    knowledge: str
    methods: tuple[str, ...]


def contests(
    store: Store, names: list[str], n_seeds: dict[str, int], entrants: Collection[str]
) -> list[Contest]:
    """List what is left to do, seed by seed, so that a part is a fair part."""
    todo = []
    for seed in range(max(n_seeds[name] for name in names)):
        for name in names:
            if seed < n_seeds[name]:
                todo += [c for c in _of_seed(name, seed, store, entrants) if c.methods]
    return todo


def _of_seed(name: str, seed: int, store: Store, entrants: Collection[str]) -> list[Contest]:
    noises = (CROWD,) if name == "music" else NOISES
    found = []
    for noise, knowledge in [("none", "clean")] + [(n, k) for n in noises for k in KNOWLEDGE[1:]]:
        if knowledge == "known" and noise == CROWD:
            continue  # people's mistakes have no matrix that could be known
        entered = [
            key
            for key, method in METHODS.items()
            if knowledge in method.knowledge and (noise == CROWD or not method.crowd)
        ]
        if noise != "none":
            entered += [key for key, finder in FINDERS.items() if finder.knowledge == knowledge]
        left = tuple(
            method
            for method in entered
            if method in entrants and (name, noise, str(seed), knowledge, method) not in store
        )
        found.append(Contest(name, noise, seed, knowledge, left))
    return found


def hold(contest: Contest) -> list[Record]:
    """Run the methods of a contest; one that fails says why instead of an error."""
    problem = pose(contest.data, contest.noise, contest.seed, contest.knowledge)
    records = []
    for name in contest.methods:
        begun = time.monotonic()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of steps not taken; the error says enough
                run = _find if name in FINDERS else _fit
                result = run(name, problem, contest)
        except Exception as error:  # whatever a contestant's library raises is its result
            result = {"failed": f"{type(error).__name__}: {error}"[:300]}
        key = dict(zip(FIELDS, (*_place(contest), name), strict=True))
        seconds = round(time.monotonic() - begun, 3)
        records.append({**key, **result, "seconds": seconds})
    return records


def _place(contest: Contest) -> tuple[str, str, int, str]:
    return contest.data, contest.noise, contest.seed, contest.knowledge


def _fit(name: str, problem: Problem, contest: Contest) -> Record:
    method, data = METHODS[name], load(contest.data, contest.seed)
    l2 = choose_penalty(method, problem) if method.tuned else None
    begun = time.monotonic()
    model = method.fit(problem, l2 or 0.0)
    if name == "ours":
        problem.kept[name] = model  # labels are found with the same one
    result: Record = {"l2": l2, "fit_seconds": round(time.monotonic() - begun, 3)}
    X_test = data.raw_test if method.raw else data.X_test
    right = np.asarray(model.predict(X_test)) == data.truth_test
    result["error"] = float(1.0 - right.mean())
    if contest.data == "music":
        result["right"] = "".join("01"[int(hit)] for hit in right)
    if method.tuned:
        probability = full_probability(model, X_test, data.n_classes)
        result["calibration_error"] = calibration_error(probability, data.truth_test)
        chance = probability[np.arange(len(right)), data.truth_test]
        result["log_loss"] = float(-np.log(np.maximum(chance, 1e-12)).mean())
    if hasattr(model, "noisy_weight_"):
        result["noisy_weight"] = model.noisy_weight_
    if name == "noisy":
        result["wrong_labels"] = float(np.mean(problem.seen != data.truth))
    return result


def _find(name: str, problem: Problem, contest: Contest) -> Record:
    """Rank labels by how likely they are wrong; trusted rows are left out of the count."""
    truth = load(contest.data, contest.seed).truth
    ranked = problem.truth < 0
    suspicion = FINDERS[name].find(problem)
    wrong = (problem.seen != truth)[ranked]
    return {"average_precision": float(average_precision_score(wrong, suspicion[ranked]))}


def calibration_error(probability: FloatArray, truth: IntArray, n_bins: int = 15) -> float:
    """Return the expected calibration error of the top class, over bins of equal width."""
    sure = probability.max(axis=1)
    right = probability.argmax(axis=1) == truth
    bins = np.minimum((sure * n_bins).astype(int), n_bins - 1)
    gaps = np.bincount(bins, right - sure, minlength=n_bins)
    return float(np.abs(gaps).sum() / len(truth))


def seeds_of(quick: bool, runs: int | None) -> dict[str, int]:
    """Return how many seeds each data set gets."""
    usual: dict[str, Any] = {
        name: source.n_quick if quick else source.n_seeds for name, source in SOURCES.items()
    }
    return {name: min(runs, n) if runs else n for name, n in usual.items()}
