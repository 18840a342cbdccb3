"""The tables of docs/scaling.md and docs/extending/distributed.md, from dask_scaling.json."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = (DOCS / "scaling.md", DOCS / "extending" / "distributed.md")
FAULTS = {
    "one of 3 killed": "one of 3 workers killed (`kill -9`)",
    "one of 3 out of memory": "a worker out of memory, killed by its nanny",
    "interrupted": "client interrupted (Ctrl-C), then continued with `warm_start=True`",
}
ROWS, COLUMNS, CLASSES, WORKERS = 1e9, 512, 10, 100
"""The cluster whose times are predicted."""


def write_pages(found: dict[str, Any]) -> None:
    """Write the results between the markers of the pages."""
    for page in PAGES:
        page.write_text(fill_page(page.read_text(), found))


def fill_page(text: str, found: dict[str, Any]) -> str:
    """Return the page with its measured parts replaced; parts without results stay."""

    def fill(match: re.Match[str]) -> str:
        begin, name, old, end = match.groups()
        needs, write = BLOCKS[name]
        return begin + write(found) + end if needs <= found.keys() else begin + old + end

    pattern = r"(<!-- measured: (\w+) -->\n\n)(.*?)(\n\n<!-- end -->)"
    return re.sub(pattern, fill, text, flags=re.DOTALL)


def table(head: list[str], lines: list[list[str]]) -> str:
    """Return a table in Markdown."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def size(n_bytes: float) -> str:
    """Write a number of bytes down."""
    return f"{n_bytes / 1e3:,.1f} kB" if n_bytes < 1e6 else f"{n_bytes / 1e6:,.1f} MB"


def traffic(found: dict[str, Any]) -> str:
    """Write what crosses in an update."""
    head = ["Q", "d", "rows", "workers", "round trips", "vectors (max)",
            "sent (max)", "received (max)", "all vectors", "all weights"]  # fmt: skip
    lines = [
        [
            f"{one['classes']}",
            f"{one['columns']:,}",
            f"{one['rows']:,}",
            f"{one['workers']}",
            f"{one['rounds']:.1f}",
            f"{one['vectors']:.1f} ({one['vectors_most']:.0f})",
            f"{size(one['sent'])} ({size(one['sent_most'])})",
            f"{size(one['answered'])} ({size(one['answered_most'])})",
            size(8 * one["classes"] ** 2 * (one["columns"] + 1)),
            size(8 * one["classes"] * (one["columns"] + 1)),
        ]
        for one in found["bytes"]
    ]
    return table(head, lines)


def faults(found: dict[str, Any]) -> str:
    """Write how long fits took in which workers died."""
    told = found["faults"]
    lines = []
    for fault, words in FAULTS.items():
        cells = [words]
        for one in (told[fault]["UMA"], told[fault]["likelihood"]):
            beside = "for the rest" if one["without"] is None else f"({one['without']})"
            cells += [f"{one['took']} {beside}", f"{one['within']:.0e}"]
        lines.append(cells)
    head = ["during the fit", "UMA: seconds (undisturbed)", "largest difference of weights",
            "likelihood: seconds", "difference"]  # fmt: skip
    return f"{table(head, lines)}\n\n({busy(told['machine'])})"


def busy(machine: dict[str, Any]) -> str:
    """Say how busy the machine was when the measurement began."""
    others = ": the machine was busy, so wall clock times are upper bounds"
    quiet = machine["load"] < 0.5
    return (
        f"{machine['cores']} cores, load {machine['load']} at the start{'' if quiet else others}."
    )


def times(found: dict[str, Any]) -> str:
    """Write the times of updates and passes, and what follows from them."""
    told = found["times"]
    pairs = list(zip(told["one_process"], told["cluster"], strict=True))
    lines = [
        [f"{one['rows']:,} × {one['columns']}"]
        + [_milliseconds(run, key) for run in (one, both) for key in ("update", "pass")]
        for one, both in pairs
    ]
    head = ["rows", "one process: update", "pass of the likelihood",
            f"{told['workers']} workers: update", "pass"]  # fmt: skip
    gains = [
        one[key] / both[key] for one, both in pairs[1:] for key in ("update_work", "pass_work")
    ]
    tiny, one = told["cluster"][0], told["one_process"][0]
    added = 1e3 * (tiny["update"] - one["update"])
    threads = 1e3 * (told["threads"]["update"] - one["update"])
    return (
        f"{table(head, lines)}\n\n({busy(told['machine'])})\n\n"
        f"With {told['workers']} workers, CPU time per worker falls by a factor of "
        f"{min(gains):.1f} to {max(gains):.1f}. Dask adds {added:.0f} ms to\n"
        f"an update (first line), or {threads:.0f} ms with threads instead of a cluster."
    )


def _milliseconds(run: dict[str, float], key: str) -> str:
    return f"{1e3 * run[f'{key}_work']:,.1f} ms ({1e3 * run[key]:,.1f})"


def malloc(found: dict[str, Any]) -> str:
    """Write what malloc's settings cost."""
    told = found["malloc"]
    kinds = {
        "default": "malloc's defaults",
        "dask": "Dask's defaults",
        "trim": "first setting below",
        "roomy": "both settings",
    }
    lines = []
    for kind, words in kinds.items():
        spans = []
        for key in ("update_work", "pass_work"):
            runs = [1e3 * run[key] for run in told[kind]]
            spans.append(f"{min(runs):.0f} to {max(runs):.0f} ms")
        lines.append([words, *spans])
    return table([f"{told['rows']:,} × 50, one process, twice", "update", "pass"], lines)


def cost_model(runs: list[dict[str, float]], key: str) -> tuple[float, float, float]:
    """Fit seconds = rows * (a + b * columns); return a, b, and the largest relative error."""
    design = np.array([[run["rows"], run["rows"] * run["columns"]] for run in runs])
    seconds = np.array([run[key] for run in runs])
    # In shares of each time: otherwise the largest run alone would decide.
    shares = design / seconds[:, None]
    (a, b), *_ = np.linalg.lstsq(shares, np.ones(len(seconds)), rcond=None)
    return float(a), float(b), float(np.abs(shares @ [a, b] - 1).max())


def prediction(found: dict[str, Any]) -> str:
    """Write the cost model, and its prediction for a larger cluster."""
    told = found["times"]
    wide = next(
        one
        for one in found["bytes"]
        if (one["classes"], one["columns"], one["workers"]) == (CLASSES, COLUMNS, WORKERS)
    )
    per_byte, per_task = told["seconds_per_byte"], told["seconds_per_task"]
    n_bytes = {"update": wide["sent"] + wide["answered"], "pass": 16.0 * CLASSES * (COLUMNS + 1)}
    rounds = {"update": wide["rounds"], "pass": 1.0}
    formulas, lines, worst = [], [], 0.0
    for key, words in (("update", "update"), ("pass", "pass of the likelihood")):
        a, b, error = cost_model(told["one_process"][1:], f"{key}_work")
        worst = max(worst, error)
        formulas.append(f"    {key}: rows per worker × ({1e9 * a:.0f} ns + {1e9 * b:.2f} ns × d)")
        work = ROWS / WORKERS * (a + b * COLUMNS)
        more_tasks = rounds[key] * (WORKERS - told["workers"]) * per_task
        overhead = told["cluster"][0][key] + more_tasks
        network = WORKERS * n_bytes[key] * per_byte
        together = work + overhead + network
        count = 1000 if key == "update" else 30
        often = f"{together:.1f} s: {count:,} in {count * together / 60:.0f} minutes"
        lines.append([words, f"{work:.1f} s", f"{overhead:.2f} s", f"{network:.3f} s", often])
    return (
        "Fitted to the CPU times of one process (largest error "
        f"{100 * worst:.0f} %):\n\n"
        + "\n".join(formulas)
        + "\n    both:   + overhead for 2 workers + round trips × additional workers × "
        f"{1e3 * per_task:.1f} ms\n            + workers × bytes × {1e9 * per_byte:.1f} ns\n\n"
        f"For 1e9 × {COLUMNS} on {WORKERS} workers of one thread, {CLASSES} classes, "
        f"{rounds['update']:.1f} round trips and {size(n_bytes['update'])} per worker\n"
        f"and update, {size(n_bytes['pass'])} per pass:\n\n"
        + table(["", "work", "overhead", "network", "total"], lines)
    )


BLOCKS: dict[str, tuple[set[str], Callable[[dict[str, Any]], str]]] = {
    "bytes": ({"bytes"}, traffic),
    "faults": ({"faults"}, faults),
    "times": ({"times"}, times),
    "malloc": ({"malloc"}, malloc),
    "prediction": ({"times", "bytes"}, prediction),
}
"""The results each part needs, and the function that writes it."""
