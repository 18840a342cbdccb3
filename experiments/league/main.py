"""The league from the command line."""

from __future__ import annotations

from argparse import Namespace

from experiments.league.data import SOURCES, load
from experiments.league.judge import FIELDS, contests, hold, seeds_of
from experiments.runner import run_all
from experiments.store import Store


def run_league(options: Namespace) -> int:
    """Hold the contests that are left and write the tables; return the exit code."""
    names = options.only or list(SOURCES)
    if unknown := set(names) - set(SOURCES):
        print(f"No such data set: {', '.join(sorted(unknown))}. There are {', '.join(SOURCES)}.")
        return 2
    try:
        for name in names:
            load(name, 0)
    except OSError as error:
        print(f"{error}\nName the data sets you have with --only.")
        return 2
    store = Store(options.results / "league.jsonl", FIELDS)
    finished = True
    if not options.summary:
        todo = contests(store, names, seeds_of(options.quick, options.runs))
        print(f"{len(todo)} contests to hold; {len(store)} results are kept from before.")
        finished = run_all(
            todo, hold, store, kind_of=lambda c: f"{c.data} {c.knowledge}", n_jobs=options.jobs
        )
    return 0 if finished else 130
