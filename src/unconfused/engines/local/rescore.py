"""Compiled loops that assign rows to their best class, rescoring only rows that may change.

Scores are kept in single precision, and computed in it if the rows are float32. That decides the
best class of nearly all rows. Rows too close to call, by a bound on all rounding errors, are scored
again in double precision, so every assignment is that of the double-precision scores.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unconfused._compilation import compiled
from unconfused._typing import FloatArray, IntArray
from unconfused.engines.local.rows import AHEAD, fetch, score_two

BATCH = 2048
"""Rows selected, rescored and assigned together, so that their state stays in cache."""

LOWEST = np.float32(-np.inf)
TINY, HUGE = 1e-42, 1e26
"""Range of the tie width, 1e-12 of the largest possible score, within which scores and their
partial sums neither overflow nor underflow in single precision."""

SMALLEST = 1e-44
"""Magnitude below which single precision has no significant digits left."""


class RowState(NamedTuple):
    """State of every row."""

    region: Any
    """Class it is assigned to; -1 if its lead is below alpha."""

    best: Any
    """Best class."""

    slack: Any
    """How far the weights may drift before its best class could change."""

    slot: Any
    """Time of its last rescoring: a slot of `WeightDrift`."""

    scores: Any
    """Scores at that time, in single precision, (rows, Q)."""

    norms: FloatArray
    """Norm, including the intercept."""


class Scorer(NamedTuple):
    """Rows that decide nearly all classes, weights for these, and weights in double precision."""

    rows: Any
    """The rows, or quantized ones."""

    weights: Any
    constants: Any
    exact_weights: FloatArray
    exact_constants: FloatArray
    classes: IntArray
    """Classes that could be best; of all with zero weights, only the lowest."""


class Limits(NamedTuple):
    """Thresholds that decide which rows are rescored and which scores are compared."""

    used_slack: Any
    """Slack used up since each slot, by best class: a row with more is skipped."""

    stale: Any
    """Classes whose weights changed since each slot; the first entry is their number."""

    alpha: float
    """Minimum lead over all other classes for a row to be in a region."""

    closeness: float
    """Difference, per unit of row norm, below which single precision is too close to call."""

    error: float
    """How much of any difference between scores may come from quantized rows."""

    tie: float
    """Difference, per unit of row norm, below which double-precision scores are tied."""

    now: int
    """Slot of the current time."""


@compiled
def rescore(
    rows: Any, scorer: Scorer, state: RowState, limits: Limits, start: int, stop: int,
    moved: Any, before: Any,
) -> tuple[int, int]:  # fmt: skip
    """Rescore and assign those of rows start..stop whose class may have changed.

    Rows that change region are listed from ``moved[start]`` on, their previous regions in
    `before`. Returns the number of rows that changed, and the number rescored.
    """
    chosen = np.empty(BATCH, dtype=moved.dtype)
    exact, n_moved, n_rescored = np.empty(len(scorer.classes)), 0, 0
    for first in range(start, stop, BATCH):
        found = find(state, limits.used_slack, first, min(first + BATCH, stop), chosen)
        n_rescored += len(found)
        score_stale(scorer, state, limits.stale, found)
        at = start + n_moved
        n_close, n_changed = assign(scorer.classes, state, limits, found, moved[at:], before[at:])
        n_moved += n_changed
        for k in range(n_close):
            i, at = found[k], start + n_moved
            score_exactly(rows, i, scorer, exact)
            moved[at], before[at] = i, state.region[i]
            n_moved += assign_exactly(i, scorer.classes, exact, state, limits)
    return n_moved, n_rescored


@compiled
def find(state: RowState, used_slack: Any, start: int, stop: int, chosen: Any) -> Any:
    """Return the rows of start..stop whose slack is used up, as a view of `chosen`."""
    unsafe = np.empty(stop - start, dtype=np.uint8)
    slot, best, slack = state.slot[start:stop], state.best[start:stop], state.slack[start:stop]
    # Flat table and unsigned indices, so that the compiler can vectorize the loop.
    n_classes, used_up = np.uint32(used_slack.shape[1]), used_slack.reshape(-1)
    for k in range(len(unsafe)):
        unsafe[k] = not (slack[k] > used_up[np.uint32(slot[k]) * n_classes + np.uint32(best[k])])
    found = 0
    for k in range(len(unsafe)):
        # Branchless: which rows are safe is unpredictable.
        chosen[found] = start + k
        found += unsafe[k]
    return chosen[:found]


@compiled
def score_stale(scorer: Scorer, state: RowState, stale: Any, chosen: Any) -> None:
    """Update the kept scores of chosen rows, two stale classes per pass over a row."""
    rows, weights, constants, scores = scorer.rows, scorer.weights, scorer.constants, state.scores
    for k in range(len(chosen)):
        fetch(rows, chosen[min(k + AHEAD, len(chosen) - 1)])
        i = chosen[k]
        classes = stale[state.slot[i]]
        for m in range(1, classes[0] + 1, 2):
            a, b = classes[m], classes[min(m + 1, classes[0])]  # an odd last class is scored twice
            scores[i, a], scores[i, b] = score_two(
                rows, i, weights[a], weights[b], constants[a], constants[b]
            )


@compiled
def assign(
    classes: IntArray, state: RowState, limits: Limits, chosen: Any, moved: Any, before: Any
) -> tuple[int, int]:
    """Assign chosen rows by their single-precision scores, and set their slack.

    Rows too close to call are moved to the front of `chosen`. Of the others, those that change
    region are listed in `moved`. Returns both numbers.
    """
    region, best, slack, slot, scores, norms = state
    alpha, n_close, n_moved = limits.alpha, 0, 0
    for k in range(len(chosen)):
        i = np.uint64(chosen[k])
        row = scores[i]
        highest, runner_up, first = LOWEST, LOWEST, classes[0]
        # Branchless: which class is best is unpredictable.
        for c in classes:
            value = row[c]
            runner_up = max(runner_up, min(highest, value))
            first = c if value > highest else first
            highest = max(highest, value)
        near = limits.closeness * norms[i] + limits.error + SMALLEST
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
        best[i] = first  # after reading the old region: both may be the same array
        slot[i] = limits.now
        slack[i] = room / norms[i]
    return n_close, n_moved


@compiled
def is_usable(width: float, tie: float) -> bool:
    """Return whether single-precision scores can neither overflow nor underflow."""
    return TINY < tie < HUGE and TINY < width < HUGE


@compiled
def score_exactly(rows: Any, i: int, scorer: Scorer, out: FloatArray) -> None:
    """Write a row's double-precision scores."""
    weights, constants, classes = scorer.exact_weights, scorer.exact_constants, scorer.classes
    for m in range(0, len(classes), 2):
        other = min(m + 1, len(classes) - 1)
        a, b = classes[m], classes[other]
        out[m], out[other] = score_two(rows, i, weights[a], weights[b], constants[a], constants[b])


@compiled
def assign_exactly(
    i: int, classes: IntArray, scores: FloatArray, state: RowState, limits: Limits
) -> bool:
    """Assign a row by its double-precision scores; return whether its region changed.

    The row is assigned to its best class, the lowest on a tie, if that leads every other class by
    at least `alpha`; otherwise to none (-1). Scores within the tie width are equal: some step rules
    produce exact ties, which rounding must not break.
    """
    width = limits.tie * state.norms[i]
    first = np.argmax(scores >= scores.max() - width)
    best, scores[first] = scores[first], -np.inf
    inside = limits.alpha == 0.0 or best - scores.max() >= limits.alpha - width
    place = classes[first] if inside else -1
    changed = place != state.region[i]
    state.region[i] = place
    state.best[i] = classes[first]
    state.slot[i] = limits.now
    # A row of zeros always scores 0; any other row this close is rescored next time.
    state.slack[i] = np.inf if state.norms[i] == 0.0 else -1.0
    return bool(changed)


@compiled
def list_stale(classes: IntArray, moved_at: Any, times: Any, out: Any) -> None:
    """List, for every slot, the classes changed since; the first entry is their number."""
    for s in range(len(times)):
        count = 0
        for c in classes:
            if moved_at[c] > times[s]:
                count += 1
                out[s, count] = c
        out[s, 0] = count
