"""One contest: fit a method, look at test rows, write down what came out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import average_precision_score

from experiments.league.block import Block, find_block
from experiments.league.data import SOURCES, load
from experiments.league.problem import Problem, knowledge_of, pose
from experiments.league.targets import SIMPLE, pack
from experiments.league.tuning import choose_penalty, full_probability
from experiments.store import Record, Store
from unconfused._typing import FloatArray, IntArray

FIELDS = ("data", "noise", "seed", "knowledge", "method")


@dataclass(frozen=True)
class Contest:
    """A problem and the methods that have not met it yet."""

    block: str
    data: str
    noise: str
    seed: int
    knowledge: str
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """Which contests to hold."""

    names: list[str]
    n_seeds: dict[str, int]
    entrants: Collection[str]
    noises: Collection[str] | None = None
    """None: those of each data set."""


def contests(block: Block, store: Store, plan: Plan) -> list[Contest]:
    """List what is left to do, seed by seed, so that a part is a fair part."""
    todo = []
    for seed in range(max(plan.n_seeds[name] for name in plan.names)):
        for name in plan.names:
            if seed < plan.n_seeds[name]:
                todo += [c for c in _of_seed(block, name, seed, store, plan) if c.methods]
    return todo


def noises_of(block: Block, name: str) -> tuple[str, ...]:
    """Return the noises of a data set in a block."""
    return block.noises.get(name, SOURCES[name].noises)


def _of_seed(block: Block, name: str, seed: int, store: Store, plan: Plan) -> list[Contest]:
    noises = [n for n in noises_of(block, name) if plan.noises is None or n in plan.noises]
    posed = [(noise, knowledge) for noise in noises for knowledge in knowledge_of(noise)]
    found = []
    for noise, knowledge in [("none", "clean"), *posed]:
        has_votes = noise != "none" and SOURCES[name].votes
        entered = [
            key
            for key, method in block.methods.items()
            if knowledge in method.knowledge and (has_votes or not method.votes)
        ]
        if noise != "none":
            entered += [key for key, one in block.finders.items() if knowledge in one.knowledge]
        left = tuple(
            method
            for method in entered
            if method in plan.entrants and (name, noise, str(seed), knowledge, method) not in store
        )
        found.append(Contest(block.name, name, noise, seed, knowledge, left))
    return found


def hold(contest: Contest) -> list[Record]:
    """Run the methods of a contest; one that fails says why instead of an error."""
    block = find_block(contest.block)
    problem = pose(contest.data, contest.noise, contest.seed, contest.knowledge)
    records = []
    for name in contest.methods:
        begun = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of steps not taken; the error says enough
                run = _find if name in block.finders else _fit
                result = run(block, name, problem, contest)
        except Exception as error:  # whatever a contestant's library raises is its result
            result = {"failed": f"{type(error).__name__}: {error}"[:300]}
        key = dict(zip(FIELDS, (*_place(contest), name), strict=True))
        seconds = round(time.process_time() - begun, 3)
        records.append({**key, **result, "seconds": seconds})
    return records


def _place(contest: Contest) -> tuple[str, str, int, str]:
    return contest.data, contest.noise, contest.seed, contest.knowledge


def _fit(block: Block, name: str, problem: Problem, contest: Contest) -> Record:
    method, data = block.methods[name], load(contest.data, contest.seed)
    l2 = choose_penalty(method, problem) if method.tuned else None
    begun = time.process_time()
    model = method.fit(problem, l2 or 0.0)
    if method.ours:
        problem.kept[name] = model  # labels are found with the same one
    result: Record = {"l2": l2, "fit_seconds": round(time.process_time() - begun, 3)}
    if hasattr(model, "predict_proba"):
        probability = full_probability(model, data.X_test, data.n_classes)
        result["calibration_error"] = calibration_error(probability, data.truth_test)
        chance = probability[np.arange(len(probability)), data.truth_test]
        result["log_loss"] = float(-np.log(np.maximum(chance, 1e-12)).mean())
    right = np.asarray(model.predict(data.X_test)) == data.truth_test
    result["error"] = float(1.0 - right.mean())
    if name in (*SIMPLE, "ours") and contest.knowledge in ("trusted", "none"):
        result |= pack(right)
    result |= {
        key: float(getattr(model, f"{key}_"))
        for key in ("l2", "noisy_weight", "relabel", "n_fits")
        if method.ours and hasattr(model, f"{key}_")
    }
    if name == "noisy":
        known = data.truth >= 0
        result["wrong_labels"] = float(np.mean(problem.seen[known] != data.truth[known]))
    return result


def _find(block: Block, name: str, problem: Problem, contest: Contest) -> Record:
    """Rank labels by how likely they are wrong; trusted rows are left out of the count."""
    truth = load(contest.data, contest.seed).truth
    ranked = (problem.truth < 0) & (truth >= 0)
    suspicion = block.finders[name].find(problem)
    wrong = (problem.seen != truth)[ranked]
    return {"average_precision": float(average_precision_score(wrong, suspicion[ranked]))}


def calibration_error(probability: FloatArray, truth: IntArray, n_bins: int = 15) -> float:
    """Return the expected calibration error of the top class, over bins of equal width."""
    sure = probability.max(axis=1)
    right = probability.argmax(axis=1) == truth
    bins = np.minimum((sure * n_bins).astype(int), n_bins - 1)
    gaps = np.bincount(bins, right - sure, minlength=n_bins)
    return float(np.abs(gaps).sum() / len(truth))


def seeds_of(names: Collection[str], quick: bool, runs: int | None) -> dict[str, int]:
    """Return how many seeds each data set gets."""
    usual = {name: SOURCES[name].n_quick if quick else SOURCES[name].n_seeds for name in names}
    return {name: min(runs, n) if runs else n for name, n in usual.items()}
