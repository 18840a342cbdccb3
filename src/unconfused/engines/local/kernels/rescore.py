"""Compiled loops that assign rows to their best class, rescoring only rows that may change it.

Scores are kept in single precision, and for rows of single precision also summed in it. That tells
which class is best for nearly all rows. Those too close to call, by a bound on all rounding, are
scored again in double precision, so that every assignment is that of exact scores.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unconfused._compilation import compiled
from unconfused._typing import FloatArray, IntArray
from unconfused.engines.local.kernels.rows import AHEAD, fetch, score_two

BATCH = 2048
"""Rows that are found, rescored and assigned together: what is known of them stays in cache."""

SPARSE_TILE = 256
"""Sparse rows scored for two classes before the next two: the weights of few stay in cache."""

LOWEST = np.float32(-np.inf)
TINY, HUGE = 1e-42, 1e26
"""While a tie's width lies between these, scores keep to the range of single precision, partial
sums included: it is 1e-12 of the largest score there could be."""

SMALLEST = 1e-44
"""Scores smaller than this have no digits left in single precision."""


class RowState(NamedTuple):
    """What is known of every row."""

    region: Any
    """The class it is assigned to; -1 if its lead is less than alpha."""

    best: Any
    """Its best class."""

    slack: Any
    """How far weights may drift until its best class could be another one."""

    slot: Any
    """When it was last rescored: a slot of `WeightDrift`."""

    scores: Any
    """Its scores then, in single precision, (rows, Q)."""

    norms: FloatArray
    """Its length, intercept included."""


class Scorer(NamedTuple):
    """The weights, in the rows' precision and in double precision."""

    weights: Any
    constants: Any
    exact_weights: FloatArray
    exact_constants: FloatArray
    classes: IntArray
    """The classes that could be best: of several whose weights are all 0, only the lowest."""


class Limits(NamedTuple):
    """Up to where an assignment stands."""

    used_slack: Any
    """How much slack a row needs to keep its class unseen, by slot and best class."""

    drift: Any
    """How far the weights of every class have moved since each slot's time."""

    stale: Any
    """The classes that moved since each slot's time; the first entry is their number."""

    alpha: float
    """Lead over all other classes that a row must have to be in a region."""

    closeness: float
    """Scores closer than this times a row's norm are not compared in single precision."""

    tie: float
    """Scores closer than this times a row's norm are tied, in double precision too."""

    now: int
    """The present slot."""


@compiled
def rescore(
    rows: Any, scorer: Scorer, state: RowState, limits: Limits, start: int, stop: int,
    moved: Any, before: Any,
) -> tuple[int, int]:  # fmt: skip
    """Find, score and assign those of rows start..stop whose class may have changed.

    Rows that change their region are listed from ``moved[start]`` on, and where they were in
    `before`. Returns how many changed, and how many were rescored.
    """
    chosen = np.empty(BATCH, dtype=moved.dtype)
    exact, contenders = np.empty(len(scorer.classes)), np.empty_like(scorer.classes)
    n_moved, n_rescored = 0, 0
    for first in range(start, stop, BATCH):
        found = find(state, limits.used_slack, first, min(first + BATCH, stop), chosen)
        found = overtaken(scorer.classes, state, limits, found)
        n_rescored += len(found)
        score_stale(rows, scorer, state, limits.stale, found)
        at = start + n_moved
        n_close, n_changed = assign(scorer.classes, state, limits, found, moved[at:], before[at:])
        n_moved += n_changed
        for k in range(n_close):
            i, at = found[k], start + n_moved
            classes = list_contenders(i, scorer, state, limits, contenders)
            score_exactly(rows, i, scorer, classes, exact)
            moved[at], before[at] = i, state.region[i]
            n_moved += assign_exactly(i, classes, exact, state, limits)
    return n_moved, n_rescored


@compiled
def find(state: RowState, used_slack: Any, start: int, stop: int, chosen: Any) -> Any:
    """Return the rows of start..stop whose slack is used up, the first part of `chosen`."""
    unsafe = np.empty(stop - start, dtype=np.uint8)
    slot, best, slack = state.slot[start:stop], state.best[start:stop], state.slack[start:stop]
    # The table is read as one line, at unsigned places: so the compiler takes many rows at a time.
    n_classes, used_up = np.uint32(used_slack.shape[1]), used_slack.reshape(-1)
    for k in range(len(unsafe)):
        unsafe[k] = not (slack[k] > used_up[np.uint32(slot[k]) * n_classes + np.uint32(best[k])])
    found = 0
    for k in range(len(unsafe)):
        # Written without a branch: which rows are safe is as good as random.
        chosen[found] = start + k
        found += unsafe[k]
    return chosen[:found]


@compiled
def overtaken(classes: IntArray, state: RowState, limits: Limits, chosen: Any) -> Any:
    """Return those of chosen rows that some class may really have overtaken, by its own drift.

    Slack is measured against the class that drifted furthest, which is seldom one that is close.
    Kept scores are read in a fraction of the time of a row.
    """
    if limits.alpha > 0.0:
        return chosen
    found, closeness, smallest = 0, np.float32(limits.closeness), np.float32(SMALLEST)
    for k in range(len(chosen)):
        i = chosen[k]
        b, scores, drift = state.best[i], state.scores[i], limits.drift[state.slot[i]]
        # A little more than its norm: the products round. What the best class has at least, but
        # for the rounding of all scores, and what any other has at most.
        norm = np.float32(state.norms[i] * 1.000001)
        least = scores[b] - norm * (drift[b] + closeness) - smallest
        may_change = not (state.slack[i] > 0.0)
        for c in classes:
            may_change |= (not (scores[c] + norm * drift[c] < least)) & (c != b)
        chosen[found] = i
        found += may_change
    return chosen[:found]


@compiled
def score_stale(rows: Any, scorer: Scorer, state: RowState, stale: Any, chosen: Any) -> None:
    """Score chosen rows anew for the classes that moved since, two classes a pass."""
    n_chosen = len(chosen)
    if len(rows) == 1:
        for k in range(n_chosen):
            fetch(rows, chosen[min(k + AHEAD, n_chosen - 1)])
            classes = stale[state.slot[chosen[k]]]
            for m in range(1, classes[0] + 1, 2):
                score_listed(rows, chosen[k], scorer, classes, m, state.scores)
        return
    for start in range(0, n_chosen, SPARSE_TILE):
        tile, most = chosen[start : start + SPARSE_TILE], 0
        for i in tile:
            most = max(most, stale[state.slot[i], 0])
        for m in range(1, most + 1, 2):
            for i in tile:
                classes = stale[state.slot[i]]
                if m <= classes[0]:
                    score_listed(rows, i, scorer, classes, m, state.scores)


@compiled
def score_listed(rows: Any, i: int, scorer: Scorer, classes: Any, m: int, scores: Any) -> None:
    """Score a row for the m-th class of a list and the next; past its end, the last one again."""
    weights, constants = scorer.weights, scorer.constants
    a, b = classes[m], classes[min(m + 1, classes[0])]
    scores[i, a], scores[i, b] = score_two(
        rows, i, weights[a], weights[b], constants[a], constants[b]
    )


@compiled
def assign(
    classes: IntArray, state: RowState, limits: Limits, chosen: Any, moved: Any, before: Any
) -> tuple[int, int]:
    """Assign chosen rows by their single-precision scores.

    Rows too close to call are moved to the front of `chosen`. Of the others, those that change
    their region are listed. Returns the numbers of both.
    """
    region, best, slack, slot, scores, norms = state
    alpha, n_close, n_moved = limits.alpha, 0, 0
    for k in range(len(chosen)):
        i = chosen[k]
        row = scores[i]
        highest, runner_up, first = LOWEST, LOWEST, classes[0]
        # Without branches: which class is best is as good as random.
        for c in classes:
            value = row[c]
            runner_up = max(runner_up, min(highest, value))
            first = c if value > highest else first
            highest = max(highest, value)
        near = limits.closeness * norms[i] + SMALLEST
        lead = np.float64(highest) - np.float64(runner_up)
        room = lead - near
        if alpha > 0.0:
            room = min(room, abs(lead - alpha) - near)
        usable = is_usable(limits.tie * norms[i], limits.tie)
        if not (usable and room > 0.0 and np.isfinite(room)):
            chosen[n_close], chosen[k] = i, chosen[n_close]
            n_close += 1
            continue
        place = first if lead >= alpha else -1
        if place != region[i]:
            moved[n_moved], before[n_moved] = i, region[i]
            region[i] = place
            n_moved += 1
        best[i] = first  # after its old region was read: both may be one array
        slot[i] = limits.now
        slack[i] = room / norms[i]
    return n_close, n_moved


@compiled
def list_contenders(i: int, scorer: Scorer, state: RowState, limits: Limits, out: Any) -> Any:
    """Return the classes that could be a row's best or second, the first part of `out`."""
    width = limits.tie * state.norms[i]
    scores, classes = state.scores[i], scorer.classes
    highest, runner_up = LOWEST, LOWEST
    for c in classes:
        runner_up = max(runner_up, min(highest, scores[c]))
        highest = max(highest, scores[c])
    least = runner_up - 2.0 * (limits.closeness * state.norms[i] + SMALLEST)
    usable = is_usable(width, limits.tie) and np.isfinite(least) and np.isfinite(highest)
    count = 0
    for c in classes:
        if not usable or scores[c] >= least:
            out[count] = c
            count += 1
    return out[:count]


@compiled
def is_usable(width: float, tie: float) -> bool:
    """Say whether single precision says anything: scores neither overflow nor lose their digits."""
    return TINY < tie < HUGE and TINY < width < HUGE


@compiled
def score_exactly(rows: Any, i: int, scorer: Scorer, classes: Any, out: FloatArray) -> None:
    """Write a row's scores for some classes in double precision."""
    weights, constants, last = scorer.exact_weights, scorer.exact_constants, len(classes) - 1
    for m in range(0, len(classes), 2):
        a, b = classes[m], classes[min(m + 1, last)]
        out[m], out[min(m + 1, last)] = score_two(
            rows, i, weights[a], weights[b], constants[a], constants[b]
        )


@compiled
def assign_exactly(
    i: int, classes: IntArray, scores: FloatArray, state: RowState, limits: Limits
) -> bool:
    """Assign a row by its double-precision scores; say whether it changes its region.

    It belongs to its best class, the lowest on a tie, if it leads every other class by at least
    `alpha`; otherwise to none (-1). Scores within the width of a tie are equal: some step rules
    leave rows exactly level, and the last bit must not decide for them.
    """
    width = limits.tie * state.norms[i]
    highest = -np.inf
    for m in range(len(classes)):
        highest = max(highest, scores[m])
    first = 0
    while scores[first] < highest - width:
        first += 1
    runner_up = -np.inf
    for m in range(len(classes)):
        if m != first:
            runner_up = max(runner_up, scores[m])
    inside = limits.alpha == 0.0 or scores[first] - runner_up >= limits.alpha - width
    place = classes[first] if inside else -1
    changed = place != state.region[i]
    state.region[i] = place
    state.best[i] = classes[first]
    state.slot[i] = limits.now
    # A row of zeros scores 0 whatever the weights; any other is looked at again next time.
    state.slack[i] = np.inf if state.norms[i] == 0.0 else -1.0
    return bool(changed)


@compiled
def list_stale(classes: IntArray, moved_at: Any, times: Any, out: Any) -> None:
    """List, for every slot, the classes that moved since; the first entry is their number."""
    for s in range(len(times)):
        count = 0
        for c in classes:
            if moved_at[c] > times[s]:
                count += 1
                out[s, count] = c
        out[s, 0] = count
