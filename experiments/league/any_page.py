"""The block of any classifier as a page: a table per kind of knowledge, a row per base."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from experiments.league.block import Block
from experiments.league.data import SOURCES
from experiments.league.page import KNOWN_AS, _table, _targets
from experiments.league.results import Results, clean_place

COLUMNS = ("clean", "noisy", "trusted", "mixed", "cleanlab", "ours")
TITLES = ("clean labels", "noisy labels", "trusted rows", "both mixed", "CleanLearning", "ours")


def write_any_page(block: Block, results: Results, introduction: str) -> str:
    """Return the page in Markdown."""
    parts = [introduction.rstrip(), "", *_targets(block, results)]
    for knowledge, title in KNOWN_AS.items():
        parts += ["", f"## {title}", "", *_errors(block, results, knowledge)]
    return "\n".join(parts) + "\n"


def _errors(block: Block, results: Results, knowledge: str) -> Iterator[str]:
    yield "Test error, mean over the seeds that ours has, in brackets how many."
    yield ""
    rows = []
    for data, noise, base in sorted(
        {
            (place[0], place[1], place[3].partition(" ")[0])
            for place in results.places
            if place[2] == knowledge and place[3].endswith(" ours")
        }
    ):
        own = (data, noise, knowledge, f"{base} ours")
        cells, n_seeds = [], len(results.values(own))
        for column in COLUMNS:
            place = (data, noise, "none" if column == "noisy" else knowledge, f"{base} {column}")
            if column == "clean":
                place = clean_place(data, f"{base} clean")
            mean = results.mean(place, beside=own)
            cells.append(f"{mean:.3f}" if np.isfinite(mean) else "")
        rows.append((f"{SOURCES[data].title}; {noise}; {base} [{n_seeds}]", cells))
    yield from _table(list(TITLES), rows, first="data, noise, base")
