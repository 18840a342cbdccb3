"""What we set out to reach, and where we did and did not."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import numpy as np

from experiments.league.block import Check, Target
from experiments.league.data import SOURCES
from experiments.league.noises import CLASS_CONDITIONAL
from experiments.league.results import Difference, Place, Results, clean_place
from unconfused._typing import BoolArray

SMALL = 0.003
"""Difference in error that nobody would choose a method for."""

HARM = 0.02
"""Difference in error, on one draw of trusted rows, from which a user would be angry."""

MISCALIBRATED = 0.02

SIMPLE = ("noisy", "trusted", "mixed")
"""What a careful colleague would try first."""


def cells(results: Results, method: str = "ours") -> Iterator[tuple[str, str, str]]:
    """Return every set, noise and knowledge that ours has a result for."""
    there = {place[:3] for place in results.places if place[3] == method}
    for name, source in SOURCES.items():
        for noise in dict.fromkeys([*source.noises, *(cell[1] for cell in sorted(there))]):
            for knowledge in ("known", "trusted", "none"):
                if (name, noise, knowledge) in there:
                    yield name, noise, knowledge


def in_words(data: str, noise: str, knowledge: str = "") -> str:
    """Name a cell."""
    words = {"known": "; C known", "trusted": "; trusted rows", "none": "; nothing known"}
    return f"{SOURCES[data].title}; {noise}{words.get(knowledge, '')}"


def rival_place(cell: tuple[str, str, str], rival: str) -> Place:
    """Return where a rival's results are; the noisy labels alone need no knowledge."""
    data, noise, knowledge = cell
    return data, noise, "none" if rival == "noisy" else knowledge, rival


def nobody_is_better(results: Results) -> Iterator[Check]:
    """Compare every cell with the method of the same knowledge that is most ahead of ours."""
    rivals = dict.fromkeys(place[3] for place in results.places)
    for cell in cells(results):
        worst: tuple[float, str, Difference] | None = None
        for rival in rivals:
            found = results.difference((*cell, "ours"), rival_place(cell, rival))
            if rival in ("ours", "clean") or found is None:
                continue
            excess = found.mean - max(SMALL, 2 * found.error)
            if worst is None or excess > worst[0]:
                worst = (excess, rival, found)
        if worst is not None:
            excess, rival, found = worst
            outcome = f"{found.mean:+.4f} against {rival} (at most {found.mean - excess:.4f})"
            yield Check(in_words(*cell), outcome, excess <= 0, SOURCES[cell[0]].settled)


def no_draw_hurts(results: Results) -> Iterator[Check]:
    """On every draw of trusted rows, not far below the best of the simple methods."""
    for cell in cells(results):
        if cell[2] != "trusted":
            continue
        ours = results.by_seed((*cell, "ours"))
        rivals = {rival: results.by_seed(rival_place(cell, rival)) for rival in SIMPLE}
        for seed, record in ours.items():
            others = {rival: own[seed] for rival, own in rivals.items() if seed in own}
            others = {rival: one for rival, one in others.items() if "right" in one}
            if "right" not in record or not others:
                continue
            best = min(others, key=lambda rival: others[rival]["error"])
            gaps = unpack(others[best]).astype(float) - unpack(record)
            gap, error = gaps.mean(), gaps.std() / np.sqrt(len(gaps))
            outcome = f"{gap:+.4f} against {best} (paired error {error:.4f})"
            met = gap <= max(HARM, 2 * error)
            words = f"{in_words(cell[0], cell[1])}; draw {seed}"
            yield Check(words, outcome, bool(met), SOURCES[cell[0]].settled)


def no_harm_on_average(results: Results) -> Iterator[Check]:
    """With trusted rows: the mean not below that of any simple method."""
    for cell in cells(results):
        for rival in SIMPLE * (cell[2] == "trusted"):
            found = results.difference((*cell, "ours"), rival_place(cell, rival))
            if found is not None:
                most = 2 * found.error
                outcome = f"{found.mean:+.4f} against {rival} (at most {most:.4f})"
                met = found.mean <= most
                yield Check(in_words(cell[0], cell[1]), outcome, met, SOURCES[cell[0]].settled)


def wrong_labels_are_found(results: Results) -> Iterator[Check]:
    """Average precision of finding wrong labels: at least that of cleanlab's best method."""
    field = "average_precision"
    for cell in cells(results, "find-ours"):
        own = (*cell, "find-ours")
        rivals = [place for place in results.places if place[:3] == cell]
        rivals = [place for place in rivals if place[3].startswith("find-cleanlab")]
        theirs = [results.mean(rival, field, beside=own) for rival in rivals]
        if np.any(np.isfinite(theirs)):
            best = int(np.nanargmax(theirs))
            ours = results.mean(own, field, beside=rivals[best])
            name = rivals[best][3].removeprefix("find-")
            outcome = f"{ours:.4f} against {theirs[best]:.4f} ({name})"
            met = ours >= theirs[best] - 5e-5
            yield Check(in_words(*cell), outcome, bool(met), SOURCES[cell[0]].settled)


def probabilities_are_right(results: Results) -> Iterator[Check]:
    """Class-conditional noise, C known or counted: about as well calibrated as on clean labels."""
    field = "calibration_error"
    for cell in cells(results):
        own, clean = (*cell, "ours"), clean_place(cell[0])
        ours, ceiling = (results.mean(place, field) for place in (own, clean))
        if cell[1] in CLASS_CONDITIONAL and cell[2] != "none" and np.isfinite(ours + ceiling):
            outcome = f"{ours:.3f} against {ceiling:.3f} on clean labels"
            met = ours <= ceiling + MISCALIBRATED
            yield Check(in_words(*cell), outcome, bool(met), SOURCES[cell[0]].settled)


def pack(right: BoolArray) -> dict[str, Any]:
    """Return which test rows were right, short enough for a record."""
    bits = base64.b85encode(np.packbits(right).tobytes()).decode("ascii")
    return {"right": bits, "n_test": len(right)}


def unpack(record: dict[str, Any]) -> BoolArray:
    """Return which test rows were right."""
    bits = np.frombuffer(base64.b85decode(record["right"]), dtype=np.uint8)
    return np.unpackbits(bits, count=record["n_test"]).astype(bool)


TARGETS = [
    Target(
        "Cells won: no other method with the same knowledge is better by more than max(0.003, two "
        "paired standard errors)",
        nobody_is_better,
        0.97,
    ),
    Target(
        "Trusted rows, every draw: not worse than the best of LR on noisy labels, trusted rows and "
        "both by more than max(0.02, two paired standard errors)",
        no_draw_hurts,
        1.0,
    ),
    Target(
        "Trusted rows, mean over draws: not worse than LR on noisy labels, trusted rows or both by "
        "more than two paired standard errors",
        no_harm_on_average,
        1.0,
    ),
    Target(
        "Wrong labels: average precision at least that of cleanlab's best method",
        wrong_labels_are_found,
        0.95,
    ),
    Target(
        "Calibration error at most that of logistic regression on clean labels plus 0.02 "
        "(class-conditional noise, C known or trusted rows)",
        probabilities_are_right,
        1.0,
    ),
]
