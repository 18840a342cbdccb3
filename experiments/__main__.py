"""Run an experiment: ``python -m experiments NAME``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

RESULTS = Path("experiments/results")


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser("python -m experiments", description=__doc__)
    parser.add_argument("name", choices=["league"], help="which experiment")
    parser.add_argument("--quick", action="store_true", help="few seeds: a look in minutes")
    parser.add_argument("--runs", type=int, help="at most so many seeds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--only", nargs="+", help="only these data sets")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for results")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="folder for pages")
    parser.add_argument("--summary", action="store_true", help="only write tables and figures")
    options = parser.parse_args(arguments)
    from experiments.league.main import run_league

    return run_league(options)


if __name__ == "__main__":
    sys.exit(main())
