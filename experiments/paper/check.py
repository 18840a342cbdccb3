"""Stored results beside the current code: one of every kind, made again."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from experiments.paper.experiment import FIELDS, Summary, Task
from experiments.store import Record, Store

FILE = "check"
"""Name of the summary, and of the file of the results made again."""

SAME = 1e-9
"""Largest difference that is rounding."""

KIND = ("experiment", "data", "part")


def sample(tasks: Iterable[Task], kept: Store) -> list[Task]:
    """Return one task of every kind that has a result, drawn at random."""
    kinds: dict[Any, list[Task]] = defaultdict(list)
    for task in tasks:
        if task.key in kept:
            kinds[task.experiment, task.data, task.part].append(task)
    draw = random.Random(0)
    return [draw.choice(kinds[kind]) for kind in sorted(kinds)]


def compare(drawn: Iterable[Task], kept: Store, again: Store) -> Summary:
    """Return the largest difference of each result that was made again."""
    before, after = (
        {store.key_of(record): record for record in store.records()} for store in (kept, again)
    )
    drawn = list(drawn)
    made = [(before[t.key], after[t.key]) for t in drawn if t.key in after]
    results = [
        {name: one[name] for name in (*KIND, "run")} | {"difference": _largest_gap(one, other)}
        for one, other in made
    ]
    return {"kinds": len(drawn), "results": results}


def _largest_gap(one: Record, other: Record) -> float | None:
    """Return the largest difference of two results; None if more than numbers differ."""
    ours, theirs = dict(_leaves(one)), dict(_leaves(other))
    if ours.keys() != theirs.keys():
        return None
    numbers = [place for place, value in ours.items() if isinstance(value, int | float)]
    if any(ours[place] != theirs[place] for place in ours.keys() - set(numbers)):
        return None
    return max((abs(ours[place] - theirs[place]) for place in numbers), default=0.0)


def _leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, Any]]:
    """Yield what a record holds, without its key and its time, by the place in it."""
    if isinstance(value, dict | list):
        inner: Iterable[Any] = value.items() if isinstance(value, dict) else enumerate(value)
        for name, one in inner:
            if place or name not in (*FIELDS, "seconds"):
                yield from _leaves(one, (*place, name))
    else:
        yield place, value


def in_words(found: Summary) -> str:
    """Say how many results came out the same, and which did not."""
    changed = [
        one for one in found["results"] if one["difference"] is None or one["difference"] > SAME
    ]
    n_made = len(found["results"])
    tried = ", ".join(sorted({f"{one['experiment']} {one['data']}" for one in found["results"]}))
    text = (
        "Versions: results are kept as the code changes. `python -m experiments paper --check` "
        "makes one of every kind (experiment, data set, method) again: of "
        f"{found['kinds']} kinds {n_made} were tried with the current code ({tried}), and "
        f"{n_made - len(changed)} came out the same."
    )
    if changed:
        text += " Not the same: " + "; ".join(map(_one_in_words, changed)) + "."
    return text + "\n"


def _one_in_words(one: dict[str, Any]) -> str:
    name = " ".join(filter(None, (one[field] for field in KIND)))
    gap = one["difference"]
    return f"{name} ({'not comparable' if gap is None else f'by {gap:.4f}'})"
