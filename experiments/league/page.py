"""The league as a page: targets met and missed, then every number."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from experiments.league.block import Block, Check
from experiments.league.data import SOURCES
from experiments.league.results import Place, Results, clean_place
from unconfused._typing import FloatArray

Best = Callable[[FloatArray], float]
"""Chooses the best of several numbers."""

KNOWN_AS = {
    "known": "The confusion matrix is known",
    "trusted": "A few rows are trusted",
    "none": "Nothing is known but the labels",
}


def write_errors(block: Block, results: Results, introduction: str) -> str:
    """Return targets and test errors in Markdown."""
    parts = [introduction.rstrip(), "", *_targets(block, results)]
    for knowledge, title in KNOWN_AS.items():
        if any(place[2] == knowledge for place in results.places):
            parts += ["", f"## {title}", "", *_errors(block, results, knowledge)]
    return "\n".join(parts) + "\n"


def write_page(block: Block, results: Results, introduction: str) -> str:
    """Return the page in Markdown."""
    parts = [write_errors(block, results, introduction).rstrip()]
    parts += ["", "## Finding wrong labels: average precision", "", *_finding(block, results)]
    parts += ["", "## Calibration: expected calibration error", "", *_calibration(results)]
    parts += ["", "## CPU time", "", *_time(block, results)]
    return "\n".join(parts) + "\n"


def _targets(block: Block, results: Results) -> Iterator[str]:
    checked = [(target, list(target.checks(results))) for target in block.targets]
    yield "## Targets"
    yield ""
    yield "| target | required | all data sets | data sets not used for tuning |"
    yield "| --- | ---: | ---: | ---: |"
    for target, checks in checked:
        unseen = [check for check in checks if not check.settled]
        yield (
            f"| {target.title} | {target.share:.0%} | {_share(checks, target.share)} "
            f"| {_share(unseen, target.share)} |"
        )
    for target, checks in checked:
        if missed := [check for check in checks if not check.met]:
            # Folded: most readers need the counts only.
            yield from ("", f"<details><summary>Missed, {len(missed)}: {target.title}</summary>")
            yield from ("", "| missed | |", "| --- | --- |")
            yield from (f"| {check.what} | {check.outcome} |" for check in missed)
            yield from ("", "</details>")


def _share(checks: list[Check], asked: float) -> str:
    if not checks:
        return ""
    met = sum(check.met for check in checks)
    words = f"{met} of {len(checks)} ({met / len(checks):.0%})"
    return words if met >= asked * len(checks) else f"**{words}**"


def _rows(results: Results) -> Iterator[tuple[str, str]]:
    there = dict.fromkeys(place[:2] for place in results.places)
    for data, source in SOURCES.items():
        known = [noise for noise in source.noises if (data, noise) in there]
        others = [noise for name, noise in there if name == data and noise not in (*known, "none")]
        yield from ((data, noise) for noise in [*known, *others])


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
    held = {(place[2], place[3]) for place in results.places}
    columns = {title: column for title, column in columns.items() if column in held}
    if not columns:
        yield "Nothing has been run yet."
        return
    rows = []
    for data, noise in _rows(results):
        places = [_place(data, noise, *column) for column in columns.values()]
        means = np.array([results.mean(place, field) for place in places])
        # The ceiling takes no part, and noisy labels alone make no row.
        contest = np.array([place[2] != "clean" for place in places]) & np.isfinite(means)
        own = [place[3] not in ("clean", "noisy") for place in places]
        if (contest & own).any():
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


def _errors(block: Block, results: Results, knowledge: str) -> Iterator[str]:
    columns = {"LR, clean labels": ("clean", "clean"), "LR, noisy labels": ("none", "noisy")}
    for key, method in block.methods.items():
        if knowledge in method.knowledge and key != "noisy":
            columns[method.title] = (knowledge, key)
    yield "Test error, mean ± standard error over the seeds."
    yield ""
    yield from _grid(results, columns, "error", np.min)


def _finding(block: Block, results: Results) -> Iterator[str]:
    yield "Rows ranked by how likely their label is wrong; trusted rows are not among them."
    for knowledge in ("none", "trusted"):
        yield from ("", f"{KNOWN_AS[knowledge]}:", "")
        columns = {
            finder.title: (knowledge, key)
            for key, finder in block.finders.items()
            if knowledge in finder.knowledge
        }
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


def _time(block: Block, results: Results) -> Iterator[str]:
    yield "CPU minutes, choosing penalties included, over all seeds so far."
    yield ""
    heads = ["ours", "all others", "in all"]
    minutes = {name: np.zeros(len(heads)) for name in block.sets}
    for place in results.places:
        data, _, _, method = place
        if data in minutes:
            spent = sum(float(r.get("seconds", 0.0)) for r in results.records(place)) / 60
            minutes[data][[0 if "ours" in method else 1, 2]] += spent
    rows = [(SOURCES[name].title, own) for name, own in minutes.items() if own[-1] > 0]
    rows.append(("all", np.sum(list(minutes.values()), axis=0)))
    cells = [(name, [f"{number:.1f}" for number in own]) for name, own in rows]
    yield from _table(heads, cells, first="data")
