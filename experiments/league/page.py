"""The league as a page: targets met and missed, then every number."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from experiments.league.data import SOURCES
from experiments.league.finding import FINDERS
from experiments.league.methods import METHODS
from experiments.league.noises import CROWD, NOISES
from experiments.league.results import Place, Results, clean_place
from experiments.league.targets import TARGETS
from unconfused._typing import FloatArray

Best = Callable[[FloatArray], float]
"""Chooses the best of several numbers."""

KNOWN_AS = {
    "known": "The confusion matrix is known",
    "trusted": "A few rows are trusted",
    "none": "Nothing is known but the labels",
}


def write_page(results: Results, introduction: str) -> str:
    """Return the page in Markdown."""
    parts = [introduction.rstrip(), "", *_targets(results)]
    for knowledge, title in KNOWN_AS.items():
        parts += ["", f"## {title}", "", *_errors(results, knowledge)]
    parts += ["", "## Finding wrong labels: average precision", "", *_finding(results)]
    parts += ["", "## Calibration: expected calibration error", "", *_calibration(results)]
    parts += ["", "## For context: methods with a kernel of their own", "", *_context(results)]
    parts += ["", "## What it took", "", *_time(results)]
    return "\n".join(parts) + "\n"


def _targets(results: Results) -> Iterator[str]:
    yield "## What we set out to reach"
    for title, target in TARGETS.items():
        checks = list(target(results))
        met = sum(check.met for check in checks)
        yield from ("", f"**{title}**: {met} of {len(checks)}.")
        missed = [check for check in checks if not check.met]
        if missed:
            # Folded away: the counts are for everybody, the list for who wants to know.
            yield from ("", f"<details><summary>Missed: {len(missed)}</summary>", "")
            yield from ("| missed | |", "| --- | --- |")
            yield from (f"| {check.what} | {check.outcome} |" for check in missed)
            yield from ("", "</details>")


def _rows(results: Results) -> Iterator[tuple[str, str]]:
    there = {(data, noise) for data, noise, _, _ in results.places}
    for data in SOURCES:
        yield from ((data, noise) for noise in (*NOISES, CROWD) if (data, noise) in there)


def _table(
    heads: list[str], rows: list[tuple[str, list[str]]], first: str = "data, noise"
) -> Iterator[str]:
    yield f"| {first} | " + " | ".join(heads) + " |"
    yield "| --- |" + " ---: |" * len(heads)
    yield from (f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows)


def _grid(
    results: Results, columns: dict[str, tuple[str, str]], field: str, best: Best | None = None
) -> Iterator[str]:
    """Return a table; columns are titles with knowledge and method; the best may be in bold."""
    rows = []
    for data, noise in _rows(results):
        places = [_place(data, noise, *column) for column in columns.values()]
        means = np.array([results.mean(place, field) for place in places])
        # The ceiling takes no part.
        contest = np.array([place[2] != "clean" for place in places]) & np.isfinite(means)
        if contest.any():
            top = best(means[contest]) if best is not None else np.nan
            cells = [_cell(results, place, field, top) for place in places]
            rows.append((f"{SOURCES[data].title}; {noise}", cells))
    yield from _table(list(columns), rows)


def _place(data: str, noise: str, knowledge: str, method: str) -> Place:
    if knowledge == "clean":
        return clean_place(data, method)
    return data, noise, knowledge, method


def _cell(results: Results, place: Place, field: str, top: float) -> str:
    records = results.records(place)
    if not records:
        return ""
    mean, error = results.mean(place, field), results.error_of_mean(place, field)
    if not np.isfinite(mean):
        return "failed"
    failures = sum("failed" in record for record in records)
    number = f"{mean:.3f}" + (f" ± {error:.3f}" if np.isfinite(error) else "")
    number = f"**{number}**" if mean == top else number
    return number + (f" ({failures} failed)" if failures else "")


def _errors(results: Results, knowledge: str) -> Iterator[str]:
    columns = {"clean labels (ceiling)": ("clean", "clean"), "LR, noisy": ("none", "noisy")}
    for key, method in METHODS.items():
        if knowledge in method.knowledge and key != "noisy" and not method.raw:
            columns[method.title] = (knowledge, key)
    yield "Test error, mean ± standard error over the seeds."
    yield ""
    yield from _grid(results, columns, "error", np.min)


def _finding(results: Results) -> Iterator[str]:
    yield "Rows ranked by how likely their label is wrong; trusted rows are not among them."
    yield ""
    columns = {finder.title: (finder.knowledge, key) for key, finder in FINDERS.items()}
    yield from _grid(results, columns, "average_precision", np.max)


def _calibration(results: Results) -> Iterator[str]:
    yield "Against the truth, on test rows, in 15 bins of equal width."
    yield ""
    columns = {
        "LR, clean": ("clean", "clean"),
        "LR, noisy": ("none", "noisy"),
        "ours, C known": ("known", "ours"),
        "ours, trusted rows": ("trusted", "ours"),
        "ours, nothing known": ("none", "ours"),
    }
    yield from _grid(results, columns, "calibration_error")


def _context(results: Results) -> Iterator[str]:
    yield "Test error. These see the features before any projection, and are not linear in them."
    yield ""
    columns = {
        "kernel SVM, clean labels": ("clean", "kernel-svm"),
        "kernel SVM, noisy labels": ("none", "kernel-svm"),
        "label spreading, trusted rows": ("trusted", "label-spreading"),
        "ours, trusted rows": ("trusted", "ours"),
    }
    yield from _grid(results, columns, "error")


def _time(results: Results) -> Iterator[str]:
    yield "Hours of one thread, choosing penalties included, over all seeds so far."
    yield ""
    heads = ["ours", "UMA", "all others", "in all"]
    hours = {name: np.zeros(len(heads)) for name in SOURCES}
    for place in results.places:
        data, _, _, method = place
        if data not in hours:
            continue  # a set that is no longer in the league
        group = ["ours" in method, method.startswith("uma")]
        spent = sum(float(record.get("seconds", 0.0)) for record in results.records(place)) / 3600
        hours[data][[group.index(True) if any(group) else 2, 3]] += spent
    rows = [(SOURCES[name].title, own) for name, own in hours.items() if own[-1] > 0]
    rows.append(("all", np.sum(list(hours.values()), axis=0)))
    cells = [(name, [f"{hour:.2f}" for hour in own]) for name, own in rows]
    yield from _table(heads, cells, first="data")
