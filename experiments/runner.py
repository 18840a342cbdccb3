"""Runs tasks on all cores, keeps what is done, and says how long the rest will take."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from joblib import Parallel, delayed, parallel_config

from experiments.store import Record, Store

Task = TypeVar("Task")


@dataclass
class Clock:
    """What kinds of tasks took so far, and so what the rest will take."""

    kinds: list[str]
    n_jobs: int
    spent: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    begun: float = field(default_factory=time.monotonic)
    shown: float = 0.0

    def done(self, kind: str, seconds: float) -> None:
        """Note that a task of this kind took so long, and show where things stand."""
        self.spent[kind].append(seconds)
        finished = sum(map(len, self.spent.values()))
        now = time.monotonic()
        if sys.stderr.isatty():
            end = "\n" if finished == len(self.kinds) else ""
            print(f"\r\033[K{self.line(finished)}", end=end, file=sys.stderr, flush=True)
        elif now - self.shown > 60 or finished == len(self.kinds):
            print(self.line(finished), file=sys.stderr, flush=True)
            self.shown = now

    def line(self, finished: int) -> str:
        """Return progress in words."""
        elapsed = time.monotonic() - self.begun
        return (
            f"{finished} of {len(self.kinds)} tasks, {in_words(elapsed)} passed, "
            f"about {in_words(self.left())} left"
        )

    def left(self) -> float:
        """Return the seconds that the tasks not yet done should take."""
        seen = [seconds for kind in self.spent.values() for seconds in kind]
        usual = sum(seen) / len(seen)
        todo: dict[str, int] = defaultdict(int)
        for kind in self.kinds:
            todo[kind] += 1
        rest = 0.0
        for kind, count in todo.items():
            own = self.spent.get(kind) or [usual]
            rest += (count - len(self.spent.get(kind, []))) * sum(own) / len(own)
        return rest / self.n_jobs


def in_words(seconds: float) -> str:
    """Return a time as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _timed(work: Callable[[Any], list[Record]], task: Any) -> tuple[Any, list[Record], float]:
    begun = time.monotonic()
    return task, work(task), time.monotonic() - begun


def run_all(
    tasks: Sequence[Task],
    work: Callable[[Task], list[Record]],
    store: Store,
    *,
    kind_of: Callable[[Task], str],
    n_jobs: int,
) -> bool:
    """Do the tasks and keep their records; return False if Ctrl-C ended it early.

    Parameters
    ----------
    tasks : what is left to do; each is sent to a process of its own
    work : does one task and returns its records
    store : where records go
    kind_of : tasks of one kind take about the same time
    n_jobs : how many processes
    """
    if not tasks:
        return True
    clock = Clock([kind_of(task) for task in tasks], n_jobs)
    try:
        with parallel_config("loky", inner_max_num_threads=1):
            parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
            finished: Iterable[Any] = parallel(delayed(_timed)(work, task) for task in tasks)
            for task, records, seconds in finished:
                for record in records:
                    store.add(record)
                clock.done(kind_of(task), seconds)
    except KeyboardInterrupt:
        print(f"\nStopped. {len(store)} results are kept; the same command goes on from there.")
        return False
    return True
