"""Simulated reviews: run them, and write the page that compares the ways to choose rows."""

from __future__ import annotations

from argparse import Namespace
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from experiments.league.data import SOURCES
from experiments.review.figure import draw_review
from experiments.review.simulate import (
    CASES,
    CHOSEN,
    FIELDS,
    REPEATS,
    SAMPLES,
    STRATEGIES,
    TRIED_AT,
    cases,
    simulate,
)
from experiments.runner import run_all
from experiments.store import Store

INTRODUCTION = """\
How fast do different ways of choosing rows to check find wrong labels and improve the model? In
this simulation, a reviewer who is always right checks rows in batches, up to 30 % of at most 800
rows. After each batch, five models are fitted, each without a fifth of the rows and with the
verdicts in place of the labels. All ways of choosing rows use these models:

- *ours* is `next_to_check` with its default mix: one row in twenty at random, the others by
  `judge_left_out(...).ranking` and, among similarly suspicious rows, by how uncertain the true
  class is;
- *suspicion* is 1 minus the out-of-fold probability of the label;
- *cleanlab* is `find_label_issues`, its issues first.

The accuracy is that of the same learner, fitted to the verdicts by `unconfused.review.fit_checked`.
The rule of ours was chosen on digits, reuters and music; letter, medical and youtube were only used
to judge it."""

Curves = dict[tuple[str, str], dict[str, list[Any]]]
"""Records of each data set and noise, by strategy, in the order of the seeds."""


def run_review(options: Namespace) -> int:
    """Simulate the reviews that are left, and write figure and table; return the exit code."""
    names = options.only or list(SOURCES)
    store = Store(options.results / "review.jsonl", FIELDS)
    finished = True
    if not options.summary:
        n_seeds = options.runs or (1 if options.quick else 5)
        todo = cases(store, names, n_seeds)
        print(f"{len(todo)} reviews to simulate; {len(store)} are kept from before.")
        finished = run_all(
            todo, simulate, store, kind_of=lambda c: f"{c.data} {c.strategy}", n_jobs=options.jobs
        )
    curves = gather(store)
    if not curves:
        print(f"There are no results in {store.path} yet.")
        return 2
    docs = options.docs or Path("docs")
    draw_review(curves, docs / "images")
    (docs / "review_simulation.md").write_text(page(curves), encoding="utf-8")
    print(summary(curves))
    return 0 if finished else 130


def gather(store: Store) -> Curves:
    """Return what is there for every strategy, seed by seed."""
    found: dict[tuple[str, str], dict[str, dict[int, Any]]] = defaultdict(lambda: defaultdict(dict))
    for one in store.records():
        found[one["data"], one["noise"]][one["strategy"]][one["seed"]] = one
    curves: Curves = {}
    for place in CASES:
        by = found.get(place, {})
        names = (*STRATEGIES, CHOSEN)
        seeds = set.intersection(*(set(by.get(name, {})) for name in names))
        if seeds:
            curves[place] = {name: [by[name][s] for s in sorted(seeds)] for name in names}
    return curves


def area(record: Any, what: str) -> float:
    """Return the mean height of a curve over the rows checked."""
    values = np.array(record[what], dtype=float)
    if what == "mended":
        values = values / max(1, record["n_wrong"])
    checked = np.array(record["checked"], dtype=float)
    return float(np.trapezoid(values, checked) / (checked[-1] - checked[0]))


def compare(
    records: dict[str, list[Any]], other: str, what: str, ours: str = "mix"
) -> tuple[float, float]:
    """Return by how much our area is larger, and its standard error over seeds."""
    pairs = zip(records[ours], records[other], strict=True)
    differences = np.array([area(a, what) - area(b, what) for a, b in pairs])
    n_seeds = len(differences)
    error = differences.std(ddof=1) / np.sqrt(n_seeds) if n_seeds > 1 else np.nan
    return float(differences.mean()), float(error)


def early(record: Any) -> tuple[float, float]:
    """Return precision and share of wrong labels in the first tenth of the rows."""
    place = int(np.argmin(np.abs(np.array(record["checked"]) - 0.1 * record["n_rows"])))
    precision = record["mended"][place] / record["checked"][place]
    return precision, record["n_wrong"] / record["n_rows"]


def _not_worse(difference: float, error: float) -> bool:
    return difference >= -2 * np.nan_to_num(error) - 1e-12


def targets(curves: Curves, ours: str = "mix") -> list[tuple[str, str]]:
    """Say of each target how far it is met."""
    kinds = ("accuracy", "mended")
    random = [_not_worse(*compare(r, "random", w, ours)) for r in curves.values() for w in kinds]
    others = [
        all(_not_worse(*compare(r, o, w, ours)) for o in STRATEGIES[1:])
        for r in curves.values()
        for w in kinds
    ]
    few, many = [], []
    for records in curves.values():
        found = np.array([early(one) for one in records[ours]]).mean(axis=0)
        if found[1] <= 0.4:
            few.append(bool(found[0] >= min(2 * found[1], 1.0)))
        else:
            many.append(bool(found[0] >= 0.9))
    return [
        ("never below random, by area", f"{sum(random)} of {len(random)} curves"),
        (
            "at least as good as the best of the others, on three quarters of the curves",
            f"{sum(others)} of {len(others)}",
        ),
        (
            "first tenth of the rows, at most 40 % wrong: twice as many wrong labels as random",
            f"{sum(few)} of {len(few)}",
        ),
        (
            "first tenth, more than 40 % wrong: precision at least 0.9",
            f"{sum(many)} of {len(many)}",
        ),
    ]


def summary(curves: Curves) -> str:
    """Return the targets in lines."""
    return "\n".join(f"{what}: {how}" for what, how in targets(curves))


def page(curves: Curves) -> str:
    """Return the table as a page."""
    seeds = min(len(records["mix"]) for records in curves.values())
    head = "| data | noise | wrong | ours | random | suspicion | cleanlab |"
    lines = [
        "# Which rows to check: a simulation",
        "",
        INTRODUCTION,
        "",
        f"Made by `python -m experiments review`, with {seeds} seeds or more per line. Differences "
        "are judged with two paired standard errors over the seeds.",
        "",
        "| target | met | with `random_share=0` |",
        "| --- | --- | --- |",
        *(
            f"| {what} | {how} | {alone} |"
            for (what, how), (_, alone) in zip(
                targets(curves), targets(curves, CHOSEN), strict=True
            )
        ),
        "",
    ]  # fmt: skip
    for what, title in (("mended", "Labels corrected"), ("accuracy", "Accuracy")):
        lines += [f"## {title}: mean over the rows checked", "", head, "| --- " * 7 + "|"]
        for (data, noise), records in curves.items():
            wrong = np.mean([one["n_wrong"] / one["n_rows"] for one in records["mix"]])
            means = [np.mean([area(one, what) for one in records[s]]) for s in STRATEGIES]
            best = max(round(one, 3) for one in means)
            cells = [f"**{m:.3f}**" if round(m, 3) == best else f"{m:.3f}" for m in means]
            lines.append(f"| {data} | {noise} | {wrong:.2f} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join([*lines, *interval_table(curves), *confusion_table(curves)])


def interval_table(curves: Curves) -> list[str]:
    """Return how good intervals for the wrong labels left are, as lines of the page."""
    heads = [f"{size} rows: {what}" for size in SAMPLES for what in ("covers", "width")]
    lines = [
        "## How many wrong labels are left: the 95 % interval",
        "",
        f"After {100 * TRIED_AT:.0f} % of the rows were checked by the mix, {REPEATS} random "
        "samples are drawn per seed. *Covers*: how often the interval of `wrong_left` with the "
        "model holds the true share of wrong labels left, and in brackets that of counts alone; "
        "*width*: mean width, likewise.",
        "",
        f"| data | noise | {' | '.join(heads)} |",
        "| --- " * (2 + len(heads)) + "|",
    ]
    for (data, noise), records in curves.items():
        cells = [
            f"{ours:.2f} ({alone:.2f})"
            for found in np.mean([one["intervals"] for one in records["mix"]], axis=0)
            for ours, alone in zip(*found[:, :2], strict=True)
        ]
        lines.append(f"| {data} | {noise} | {' | '.join(cells)} |")
    return [*lines, ""]


def confusion_table(curves: Curves) -> list[str]:
    """Return how far C is off at the end of our reviews, as lines of the page."""
    lines = [
        "## The confusion matrix: verdicts on chosen rows",
        "",
        "Mean total variation distance of the estimate's rows from the shares among all labels, at "
        "the end of our reviews. *Own row*: a verdict on a row that was chosen for looking wrong "
        "counts for its row, in place of the row's posterior. *Not counted*: only rows drawn at "
        "random count.",
        "",
        "| data | noise | own row | not counted |",
        "| --- | --- | --- | --- |",
    ]
    for (data, noise), records in curves.items():
        own, without = np.mean([one["confusion"] for one in records["mix"]], axis=0)
        lines.append(f"| {data} | {noise} | {own:.3f} | {without:.3f} |")
    return [*lines, ""]
