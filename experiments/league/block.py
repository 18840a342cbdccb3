"""A block of the league: data sets, and methods that may be compared on them.

The blocks share data, noises, knowledge, trusted rows, the store and the page; each has methods,
finders of wrong labels and targets of its own. A module that sets `BLOCK` is all it takes to add
one: name it in `MODULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Any

from experiments.league.problem import Problem
from unconfused._typing import FloatArray

MODULES = {
    "linear": "experiments.league.linear",
    "any": "experiments.league.any",
    "uma": "experiments.league.uma",
    "tables": "experiments.league.tables",
}
"""Where each block is."""

Fit = Callable[[Problem, float], Any]
"""Given a problem and a penalty, return a fitted classifier."""


@dataclass(frozen=True)
class Method:
    """A contestant.

    Parameters
    ----------
    title : how tables call it
    fit : what it does
    knowledge : what it is allowed to know
    tuned : whether there is a penalty to choose
    votes : whether it wants people's answers one by one
    ours : whether it is what a cell is won or lost with
    group : contestants are compared within a group, such as those around one base
    """

    title: str
    fit: Fit
    knowledge: tuple[str, ...]
    tuned: bool = True
    votes: bool = False
    ours: bool = False
    group: str = ""


@dataclass(frozen=True)
class Finder:
    """A way to say how suspicious each label is, the larger the more."""

    title: str
    find: Callable[[Problem], FloatArray]
    knowledge: tuple[str, ...]
    ours: bool = False


@dataclass(frozen=True)
class Check:
    """One comparison: what was compared, what came out, whether it is as we wanted it."""

    what: str
    outcome: str
    met: bool
    settled: bool = False
    """Whether it is on a set that constants were settled on."""


@dataclass(frozen=True)
class Target:
    """What we set out to reach: a share of comparisons."""

    title: str
    checks: Callable[[Any], Iterator[Check]]
    share: float


@dataclass(frozen=True)
class Block:
    """One league.

    Parameters
    ----------
    name : of the block
    stem : names the files of results and the page
    sets : names of the data sets
    methods, finders : the contestants, by key
    targets : what is asked of ours
    introduction : file with the words before the tables
    noises : noises by data set, where they are not those of its source
    page : writes the page, where the usual tables do not suit the block; there is no figure then
    borrowed : methods whose results of the linear block count here too
    """

    name: str
    stem: str
    sets: tuple[str, ...]
    methods: dict[str, Method]
    finders: dict[str, Finder]
    targets: list[Target]
    introduction: str
    noises: dict[str, tuple[str, ...]] = field(default_factory=dict)
    page: Callable[..., str] | None = None
    borrowed: tuple[str, ...] = ()


@lru_cache(maxsize=4)
def find_block(name: str) -> Block:
    """Return a block by name."""
    block: Block = import_module(MODULES[name]).BLOCK
    return block
