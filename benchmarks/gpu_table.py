"""The table of docs/gpu.md, from the line of JSON that benchmarks/gpu.py prints last.

Run: python benchmarks/gpu_table.py results.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROWS = {
    "update": "UMA update, mean of 300, all included",
    "kernels": "of this, work of the card",
    "first": "UMA update, mean of the first 20",
    "gradient": "gradient of the likelihood",
}


def limits(found: dict[str, Any], n_classes: int) -> dict[str, float]:
    """Return the least seconds each could take, by the card's measured rates."""
    read = 4 * found["rows"] * found["columns"] / found["rates"]["vector"]
    operations = 4 * found["rows"] * found["columns"] * n_classes
    single = max(read, operations / found["rates"]["matrix"])
    tensor = max(read, 3 * operations / found["rates"]["tensor"])
    return {"update": read, "kernels": read, "first": read, "gradient": single, "tensor": tensor}


def duration(seconds: float) -> str:
    """Return a time with three digits."""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def lines(found: dict[str, Any]) -> list[str]:
    """Return the table in Markdown, and what the tensor cores' rate would allow a gradient."""
    table = [
        "| classes | what | H200 | limit | share of the limit | 16 cores | faster |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    notes = [""]
    for classes, result in found["classes"].items():
        limit = limits(found, int(classes))
        for name, words in ROWS.items():
            own, cores = result["device"][name], result.get("host", {}).get(name)
            beside = f"{duration(cores)} | {cores / own:.0f} ×" if cores else " | "
            share = f"{limit[name] / own:.0%}".replace("%", " %")
            table.append(
                f"| {classes} | {words} | {duration(own)} | {duration(limit[name])} | {share} "
                f"| {beside} |"
            )
        share = limit["tensor"] / result["device"]["gradient"]
        notes.append(
            f"{classes} classes, gradient, three products of the tensor cores for one: limit "
            f"{duration(limit['tensor'])}, {share:.0%} of it"
        )
    return table + notes


if __name__ == "__main__":
    print("\n".join(lines(json.loads(Path(sys.argv[1]).read_text()))))
