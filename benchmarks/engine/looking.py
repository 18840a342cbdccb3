"""Which share of the rows an update looks at, which share it reads, and which it moves.

Run in the folder benchmarks: python -m engine.looking [--rows N | --letter [--double]]
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from unconfused.engines.cut import RowCut
from unconfused.engines.snapshots import Snapshots

from engine.data import Problem, dense, isotropic, letter
from engine.peers import ours


def shares(problem: Problem, updates: int) -> dict[str, np.ndarray]:
    """Return the shares of rows looked at, read, moved and summed, one of each per update."""
    looked, read, moved = [], [], []
    kept: set[tuple[int, int]] = set()
    move, add = RowCut.move, Snapshots._add
    summed: list[float] = []
    so_far = [0]

    def adding(snapshots: Snapshots, sums: Any, rows: Any, *arguments: Any) -> None:
        so_far[0] += len(rows)
        add(snapshots, sums, rows, *arguments)

    def noting(cut: RowCut, *arguments: Any) -> Any:
        rows, before = move(cut, *arguments)
        summed.append(so_far[0] / len(problem.y))
        so_far[0] = 0
        looked.append(cut.looked_at / len(problem.y))
        read.append(cut.read / len(problem.y))
        moved.append(len(rows) / len(problem.y))
        if cut._outline is not None:
            kept.add((cut._outline.n_rows, cut._outline.n_columns))
        return rows, before

    with (
        mock.patch.object(RowCut, "move", noting),
        mock.patch.object(Snapshots, "_add", adding),
    ):
        ours(problem, updates, tol=1e-9)()
    for n_rows, n_columns in sorted(kept):
        print(f"  outlines of {n_rows:,} rows, {n_columns:,} of {problem.X.shape[1]:,} columns")
    named = {"looked at": looked, "read": read, "moved": moved}
    if any(summed):  # sums of sets of rows, made when they are asked for
        named["summed"] = summed
    return {name: np.array(share) for name, share in named.items()}


def main() -> None:
    """Print the shares in steps of 50 updates, for rows in clouds and for rows in none."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--letter", action="store_true", help="real rows instead of drawn ones")
    parser.add_argument("--double", action="store_true", help="rows in double precision")
    options = parser.parse_args()
    made = [dense, isotropic] if not options.letter else []
    problems = [make(options.rows) for make in made] or [
        letter(Path(__file__).resolve().parents[1] / "results")
    ]
    for problem in problems:
        print(problem.name)
        if options.double:
            problem = replace(problem, X=problem.X.astype(np.float64))
        for name, share in shares(problem, 300).items():
            parts = [f"{part.mean():7.1%}" for part in np.array_split(share, 6)]
            print(f"  {name:10s} {share.mean():7.1%}   by 50 updates:" + "".join(parts))


if __name__ == "__main__":
    main()
