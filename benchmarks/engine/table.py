"""Results for people (a table of ratios) and for programs (JSON)."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.measuring import Measured


def show(title: str, results: list[Measured], read: float, n_bytes: int) -> None:
    """Print one data set's results; the first is what the others are compared with."""
    speed = n_bytes / read / 1e9
    print(
        f"\n{title}: rows {n_bytes / 1e6:,.0f} MB, one read {read * 1e3:.1f} ms ({speed:.1f} GB/s)"
    )
    head = ("", "seconds", "ratio", "updates", "reads/update", "error", "peak MB")
    print("  {:32s}{:>9s}{:>9s}{:>9s}{:>14s}{:>8s}{:>9s}".format(*head))
    for result in results:
        per_update = result.median / result.updates / read if result.updates else None
        columns = (
            f"{result.median:9.3f}",
            f"{_ratio(result, results[0]):9.2f}",
            _or_blank("9d", result.updates),
            _or_blank("14.2f", per_update),
            _or_blank("8.4f", result.error),
            _or_blank("9.0f", None if result.peak_bytes is None else result.peak_bytes / 1e6),
        )
        print(f"  {result.name:32s}" + "".join(columns))


def _ratio(result: Measured, base: Measured) -> float:
    """Return how many times longer it takes; per update where both make updates."""
    if result.updates and base.updates:
        return result.median / result.updates / (base.median / base.updates)
    return result.median / base.median


def _or_blank(form: str, value: Any) -> str:
    width = int(form.split(".")[0].rstrip("df"))
    return " " * width if value is None else format(value, form)


def save(path: Path, record: dict[str, Any]) -> None:
    """Write everything measured."""

    def plain(value: Any) -> Any:
        return asdict(value) if isinstance(value, Measured) else str(value)

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1, default=plain) + "\n")
    print(f"\nWritten to {path}")
