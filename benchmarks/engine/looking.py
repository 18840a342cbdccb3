"""Which share of the rows an update looks at, and which share it moves.

Run in the folder benchmarks: python -m engine.looking [--rows N | --letter]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from engine.data import Problem, dense, isotropic, letter
from engine.peers import ours
from unconfused.engines.cut import RowCut


def shares(problem: Problem, updates: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the shares of rows looked at and moved, one of each per update."""
    looked, moved = [], []
    move = RowCut.move

    def noting(cut: RowCut, *arguments: Any) -> Any:
        rows, before = move(cut, *arguments)
        looked.append(cut.looked_at / len(problem.y))
        moved.append(len(rows) / len(problem.y))
        return rows, before

    with mock.patch.object(RowCut, "move", noting):
        ours(problem, updates, tol=1e-9)()
    return np.array(looked), np.array(moved)


def main() -> None:
    """Print the shares in steps of 50 updates, for rows in clouds and for rows in none."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--letter", action="store_true", help="real rows instead of drawn ones")
    options = parser.parse_args()
    made = [dense, isotropic] if not options.letter else []
    problems = [make(options.rows) for make in made] or [
        letter(Path(__file__).resolve().parents[1] / "results")
    ]
    for problem in problems:
        print(problem.name)
        for name, share in zip(("looked at", "moved"), shares(problem, 300), strict=True):
            parts = [f"{part.mean():7.1%}" for part in np.array_split(share, 6)]
            print(f"  {name:10s} {share.mean():7.1%}   by 50 updates:" + "".join(parts))


if __name__ == "__main__":
    main()
