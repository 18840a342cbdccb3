"""Which share of the rows an update rescores, and which share changes its region.

Run in the folder benchmarks: python -m engine.looking [--rows N | --letter [--double]]
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from engine.data import Problem, dense, isotropic, letter
from engine.peers import ours
from unconfused.engines.local.assignment import RowAssignment


def shares(problem: Problem, updates: int) -> dict[str, np.ndarray]:
    """Return the shares of rows rescored and moved, one of each per update."""
    rescored, moved, move = [], [], RowAssignment.move

    def noting(assignment: RowAssignment, *arguments: Any) -> Any:
        rows, before = move(assignment, *arguments)
        rescored.append(assignment.n_rescored / len(problem.y))
        moved.append(len(rows) / len(problem.y))
        return rows, before

    with mock.patch.object(RowAssignment, "move", noting):
        ours(problem, updates, tol=1e-9)()
    return {"rescored": np.array(rescored), "moved": np.array(moved)}


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
