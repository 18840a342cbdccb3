"""Measure UMA's engine; see `python -m engine --help`, run in the folder benchmarks."""

from __future__ import annotations

import argparse
import os
import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from engine import growth
from engine.data import Problem, dense, named, text
from engine.measuring import Measured, in_turn, peak_bytes, read_seconds
from engine.peers import literal, next_to_nothing, ours, plain, weights_difference, whole_fits
from engine.table import save, show

HERE = Path(__file__).resolve().parents[1]
UPDATES = 300

SAME_WEIGHTS = 1e-4
"""Weights that differ by more than this share of the largest are not the same but for rounding."""


def measure(problem: Problem, options: argparse.Namespace) -> dict[str, Any]:
    """Measure one data set: equal updates beside the paper's, whole fits beside the peers."""
    read = read_seconds(problem.X)
    updates = options.updates
    fits = {f"ours, {updates} updates": ours(problem, updates, tol=1e-9)}
    if not sparse.issparse(problem.X):
        fits[f"plain incremental, {updates} updates"] = plain(problem, updates)
    few = options.literal_updates or updates
    difference = weights_difference(problem, problem, few)
    fits[f"literal, {few} updates"] = literal(problem, few)
    doubled = None
    if difference > SAME_WEIGHTS and problem.X.dtype == np.float32:
        # Its products round to other choices. This is what it takes to come to our weights.
        exact = replace(problem, X=problem.X.astype(np.float64))
        doubled = weights_difference(problem, exact, few)
        fits[f"literal, {few} in double"] = literal(exact, few)
    equal = in_turn(fits, problem.X_test, problem.y_test, options.repeats)
    over = peak_bytes(next(iter(fits.values())), next_to_nothing(problem))
    if over is not None:
        equal[0].peak_bytes = over + problem.n_bytes
    show(f"{problem.name}, equal updates", equal, read, problem.n_bytes)
    print(
        f"  largest difference of the weights after {few} updates: {difference:.1e} of the largest"
        + ("" if doubled is None else f"; from those in double precision {doubled:.1e}")
    )
    measured = {
        "weights_difference": difference,
        "weights_difference_in_double": doubled,
        "read_seconds": read,
        "n_bytes": problem.n_bytes,
        "equal": equal,
    }
    if options.equal_only:
        return measured
    peers = {"ours, whole fit from the means": ours(problem, 1000, init="means")}
    peers |= whole_fits(problem, slow=not options.quick)
    whole: list[Measured] = in_turn(peers, problem.X_test, problem.y_test, options.repeats)
    show(f"{problem.name}, whole fits", whole, read, problem.n_bytes)
    return {**measured, "whole": whole}


def main() -> None:
    """Measure, and print tables of ratios."""
    parser = argparse.ArgumentParser(prog="python -m engine", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, under three minutes")
    parser.add_argument("--only", nargs="*", help="data sets to measure: dense letter ... growth")
    parser.add_argument("--updates", type=int, default=None, help="updates of the equal runs")
    parser.add_argument(
        "--literal-updates",
        type=int,
        help="fewer updates of the literal one, each of which costs the same; ratios per update",
    )
    parser.add_argument("--equal-only", action="store_true", help="leave out the whole fits")
    parser.add_argument("--double", action="store_true", help="rows in double precision")
    parser.add_argument("--repeats", type=int, default=None, help="fits that are timed")
    parser.add_argument("--output", type=Path, default=HERE / "results" / "engine.json")
    options = parser.parse_args()
    options.repeats = options.repeats or (1 if options.quick else 3)
    options.updates = options.updates or (30 if options.quick else UPDATES)
    problems = named(HERE / "results")
    wanted = options.only or ["dense", "sparse", "growth"]
    if not options.only and not options.quick:
        wanted += ["letter", "reuters"]
    record: dict[str, Any] = {
        "machine": platform.platform(), "cores": os.cpu_count(), "updates": options.updates
    }  # fmt: skip
    if options.quick:
        problems["dense"] = lambda: dense(n_rows=30_000)
        problems["sparse"] = lambda: text(n_rows=10_000, n_columns=10_000, n_classes=20)
    for name in wanted:
        if name != "growth":
            problem = problems[name]()
            if options.double:
                problem = replace(problem, X=problem.X.astype(np.float64))
            record[name] = measure(problem, options)
    if "growth" in wanted:
        few = options.quick
        rows = [10_000, 30_000] + ([] if few else [100_000, 300_000, 1_000_000, 3_000_000])
        columns = [25, 100] + ([] if few else [400, 1_600])
        classes = [2, 10] + ([] if few else [50, 250, 1_000])
        sizes = {"n_rows": 30_000, "n_columns": 100, "n_classes": 10}
        record["growth"] = [
            growth.series(name, values, {k: v for k, v in sizes.items() if k != name}, 1)
            for name, values in zip(sizes, [rows, columns, classes], strict=True)
        ]
    save(options.output, record)


if __name__ == "__main__":
    main()
