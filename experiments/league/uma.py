"""The block of UMA: whitened and plain, beside the likelihood and forward correction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from experiments.league.block import Block, Check, Method, Target
from experiments.league.data import CROWD, DISTANT, SOURCES
from experiments.league.linear import SETS
from experiments.league.methods import METHODS, fit_uma
from experiments.league.noises import CLASS_CONDITIONAL
from experiments.league.page import write_errors
from experiments.league.problem import Problem
from experiments.league.results import Results
from experiments.league.targets import SMALL, cells, in_words


def _plain(problem: Problem, l2: float) -> Any:
    return fit_uma(problem, whiten=False)


def _times_likelihood(knowledge: str, most: float) -> Callable[[Results], Iterator[Check]]:
    """Return a check of every cell: UMA's error at most so many times the likelihood's."""

    def checks(results: Results) -> Iterator[Check]:
        for cell in _class_conditional(results, knowledge):
            uma = results.mean((*cell, "uma"), beside=(*cell, "ours"))
            ours = results.mean((*cell, "ours"), beside=(*cell, "uma"))
            if uma == uma and ours == ours:
                outcome = f"{uma:.4f} against {ours:.4f}: {uma / ours:.2f} times"
                yield Check(in_words(*cell), outcome, uma <= most * ours, SOURCES[cell[0]].settled)

    return checks


def _not_above(rival: str, slack: float) -> Callable[[Results], Iterator[Check]]:
    """Return a check of every cell: not above a rival by the slack and two standard errors."""

    def checks(results: Results) -> Iterator[Check]:
        for cell in cells(results, "uma"):
            found = results.difference((*cell, "uma"), (*cell, rival))
            if found is None or (rival == "forward" and cell[1] not in CLASS_CONDITIONAL):
                continue
            most = max(slack, 2 * found.error) if slack else 0.0
            outcome = f"{found.mean:+.4f} against {rival}"
            yield Check(in_words(*cell), outcome, found.mean <= most, SOURCES[cell[0]].settled)

    return checks


def _class_conditional(results: Results, knowledge: str) -> Iterator[tuple[str, str, str]]:
    for cell in cells(results, "uma"):
        if cell[1] in CLASS_CONDITIONAL and cell[2] == knowledge:
            yield cell


TARGETS = [
    Target(
        "C known, class-conditional noise: at most 1.3 times the error of the likelihood",
        _times_likelihood("known", 1.3),
        0.8,
    ),
    Target(
        "C known, class-conditional noise: at most 2 times the error of the likelihood",
        _times_likelihood("known", 2.0),
        1.0,
    ),
    Target(
        "Trusted rows, class-conditional noise: at most 1.3 times the error of the likelihood",
        _times_likelihood("trusted", 1.3),
        0.8,
    ),
    Target(
        "Trusted rows, class-conditional noise: at most 2 times the error of the likelihood",
        _times_likelihood("trusted", 2.0),
        1.0,
    ),
    Target(
        "Class-conditional noise: better than forward correction", _not_above("forward", 0), 1 / 3
    ),
    Target(
        "Not worse than `whiten=False` by more than max(0.003, two paired standard errors)",
        _not_above("uma-plain", SMALL),
        1.0,
    ),
]

KNOWN = ("known", "trusted")

BLOCK = Block(
    "uma",
    "league_uma",
    SETS,
    {
        "clean": METHODS["clean"],
        "ours": replace(METHODS["ours"], knowledge=KNOWN),
        "uma": replace(METHODS["uma"], knowledge=KNOWN),
        "uma-plain": Method("UMA, whiten=False", _plain, KNOWN, tuned=False),
        "forward": METHODS["forward"],
    },
    {},
    TARGETS,
    "introduction_uma.md",
    noises={
        name: tuple(n for n in source.noises if n in (*CLASS_CONDITIONAL, CROWD, DISTANT))
        for name, source in SOURCES.items()
    },
    page=write_errors,
    borrowed=("clean", "ours", "forward"),
)
