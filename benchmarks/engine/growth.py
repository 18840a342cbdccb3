"""How time and memory grow with rows, columns and classes, at a fixed number of updates."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.data import dense
from engine.measuring import Measured, in_turn, peak_bytes
from engine.peers import next_to_nothing, ours

UPDATES = 100


def allowed_bytes(n_bytes: int, n_rows: int, n_classes: int, n_columns: int) -> float:
    """Return the bound on the peak that we hold ourselves to, the rows included."""
    return 1.3 * n_bytes + 4 * n_rows * n_classes + 64 * n_classes * n_columns


def series(name: str, values: list[int], fixed: dict[str, int], repeats: int) -> dict[str, Any]:
    """Fit for each value of one size; print times, the exponent between them, and memory."""
    print(f"\nGrowth with {name}, {fixed}, {UPDATES} updates")
    print(f"  {name:>12s}{'seconds':>9s}{'exponent':>10s}{'peak MB':>9s}{'of allowed':>12s}")
    rows: list[Measured] = []
    for value in values:
        problem = dense(**{**fixed, name: value})
        fit = ours(problem, UPDATES, tol=1e-9)
        (result,) = in_turn({f"{name} = {value}": fit}, problem.X_test, problem.y_test, repeats)
        over = peak_bytes(fit, next_to_nothing(problem))
        share = None
        if over is not None:
            result.peak_bytes = over + problem.n_bytes
            share = result.peak_bytes / allowed_bytes(
                problem.n_bytes, len(problem.y), problem.n_classes, problem.X.shape[1]
            )
        exponent = np.nan
        if rows:
            sizes = values[len(rows)] / values[len(rows) - 1]
            exponent = np.log(result.median / rows[-1].median) / np.log(sizes)
        rows.append(result)
        peak = "" if share is None else f"{(result.peak_bytes or 0) / 1e6:9.0f}{share:12.2f}"
        print(f"  {value:12,d}{result.median:9.3f}{exponent:10.2f}{peak}", flush=True)
    return {"values": values, "fixed": fixed, "results": rows}
