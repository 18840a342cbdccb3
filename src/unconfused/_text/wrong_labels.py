"""How many labels are wrong, which mix-up is the most frequent, and how to say it.

Terminal, report, notebook card and metadata of a model all take numbers and sentences from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy.special import betaincinv

from unconfused._text import percent, percent_range, roughly, shorten
from unconfused._typing import FloatArray

Basis = Literal["given", "estimated", "trusted", "votes", "fitted", "guessed", "assumed"]
"""What is known: C itself, an estimate of it, checked rows, several annotators, C as a fit found
it, only the labels, or nothing."""

LEVEL = 0.95

JEFFREYS = 0.5
"""Pseudo-count of the prior behind credible intervals of shares."""

STANDS_OUT, STANDS_OUT_GUESSED = 2.0, 4.0
"""Standard errors by which the most frequent mix-up must exceed the second to be named. A guess
errs by more than the sampling error of its counts."""

CLEARLY_MORE = 1.1
"""How many times as frequent it must be where C is taken as exact."""

EXACT: tuple[Basis, ...] = ("given", "fitted")
"""Bases without a sampling error of their own."""

LONGEST_NAME = 30


@dataclass(frozen=True)
class WrongLabels:
    """The share of wrong labels with its interval, and the most frequent mix-up.

    Attributes
    ----------
    basis : what it is based on
    share, low, high : share of wrong labels, and its 95 % interval; all the same if C is taken as
        exact
    pair : (true class, label), places among the classes; None if no mix-up stands out
    pair_share : share of all labels that are this mix-up
    joint : share of all labels by true class and label, (Q, S); None if nothing can tell it
    """

    basis: Basis
    share: float
    low: float
    high: float
    pair: tuple[int, int] | None = None
    pair_share: float = 0.0
    joint: FloatArray | None = field(default=None, compare=False, repr=False)

    @property
    def number(self) -> str:
        """The share, written out; a question mark if nothing can tell it."""
        return "?" if self.basis == "assumed" else percent(self.share)

    def claim(self, classes: Sequence[object], what: str = "labels") -> str:
        """Return what follows the number, without a full stop."""
        if self.basis == "assumed":
            return f"of the {what} are wrong: unknown"
        interval = percent_range(self.low, self.high)
        if self.basis == "guessed":
            said = f"of the {what} may be wrong (a guess; sampling error alone: {interval})"
        elif self.basis in EXACT:
            said = f"of the {what} are probably wrong"
        elif self.basis == "votes":  # the truth is what annotators agree on
            said = f"of the {what} are probably wrong, perhaps more"
        else:
            said = f"of the {what} are probably wrong (95 % interval {interval})"
        if self.pair is None:
            return said
        true, label = (shorten(str(classes[code]), LONGEST_NAME) for code in self.pair)
        pair = f"'{true}' is called '{label}' ({percent(self.pair_share)} of all)"
        return f"{said}; most often {pair}"

    def sentence(self, classes: Sequence[object], what: str = "labels") -> str:
        """Return number and claim as a sentence."""
        if self.basis == "assumed":
            return f"All {what} were taken as right."
        return f"{roughly(self.number)} {self.claim(classes, what)}."


def wrong_labels(table: FloatArray, basis: Basis) -> WrongLabels:
    """Summarise a table of true classes by labels, (Q, S): counted, or expected.

    Labels beyond the Q classes, such as "unsure", are not wrong.

    Examples
    --------
    >>> found = wrong_labels(np.array([[70, 30], [4, 96]]), "trusted")
    >>> print(found.sentence(["cat", "dog"]))
    About 17 % of the labels are probably wrong (95 % interval 12 to 23 %); most often 'cat' is
    called 'dog' (15 % of all).
    """
    size = len(table)
    square = np.asarray(table, dtype=np.float64)[:, :size]
    total = float(np.sum(table))
    if basis == "assumed" or not total > 0:
        return WrongLabels("assumed", float("nan"), float("nan"), float("nan"))
    off = square * ~np.eye(size, dtype=bool)
    wrong = float(off.sum())
    if wrong <= 1e-12 * total:
        wrong = 0.0
    low = high = wrong / total
    if basis not in EXACT:
        low, high = (float(end) for end in share_interval(wrong, total))
    pair = _standing_out(off, basis)
    pair_share = 0.0 if pair is None else float(off[pair] / total)
    joint = np.asarray(table, dtype=np.float64) / total
    return WrongLabels(basis, wrong / total, low, high, pair, pair_share, joint)


def share_interval(hits: Any, total: Any, level: float = LEVEL) -> tuple[FloatArray, FloatArray]:
    """Return the ends of a credible interval for shares, with Jeffreys' prior.

    What was never seen may be impossible, and what was always seen the only possibility.

    Examples
    --------
    >>> low, high = share_interval(np.array([0, 5]), 10)
    >>> low.round(2), high.round(2)
    (array([0.  , 0.22]), array([0.22, 0.78]))
    """
    # Fractions of counts need not add up to the last bit.
    others = np.maximum(np.asarray(total, dtype=np.float64) - hits, 0.0)
    low, high = (
        betaincinv(np.asarray(hits) + JEFFREYS, others + JEFFREYS, end)
        for end in ((1 - level) / 2, (1 + level) / 2)
    )
    return np.where(np.equal(hits, 0), 0.0, low), np.where(others == 0, 1.0, high)


def joint_table(
    matrix: FloatArray, prior: FloatArray, counts: FloatArray | None = None
) -> FloatArray:
    """Return the share of each true class and label, or as many rows as the counts are worth.

    `counts` are what C was counted on, if the rows were drawn by their label and not at random:
    their shares are not those of the labels, and they are worth fewer rows, or more.
    """
    joint = np.asarray(prior)[:, np.newaxis] * matrix
    joint = joint / joint.sum()
    if counts is None:
        return np.asarray(joint)
    square = joint[:, : len(joint)]
    labels = square.sum(axis=0)
    wrong = 1.0 - np.diag(square) / np.maximum(labels, 1e-300)
    drawn = counts.sum(axis=0)[: len(joint)]
    share = float(labels @ wrong)
    variance = float((labels**2 * wrong * (1.0 - wrong) / np.maximum(drawn, 1.0)).sum())
    effective = share * (1.0 - share) / variance if variance > 0 else float(counts.sum())
    return np.asarray(joint * effective)


def _standing_out(off: FloatArray, basis: Basis) -> tuple[int, int] | None:
    """Return the most frequent mix-up if it is clearly more frequent than the second."""
    if off.size < 2 or not off.any():
        return None
    place = int(np.argmax(off))
    first = float(off.flat[place])
    second = float(np.partition(off, -2, axis=None)[-2])
    errors = STANDS_OUT_GUESSED if basis == "guessed" else STANDS_OUT
    least = CLEARLY_MORE * second
    if basis not in EXACT:
        least = second + errors * float(np.sqrt(first + second))
    if first <= least:
        return None
    true, label = divmod(place, off.shape[1])
    return true, label


SOURCES: dict[Basis, str] = {
    "given": "Based on {where}, taken as exact.",
    "estimated": "Based on {where}, an estimate; the interval covers its sampling error.",
    "trusted": "Based on {where}, if these rows are a random sample.",
    "votes": "Based on the agreement of {where}: a lower bound, as mistakes that annotators share "
    "cannot be detected.",
    "fitted": "Based on the confusion matrix found by the fit.",
    "guessed": "Estimated from features and labels alone, which is unreliable where classes "
    "overlap or mistakes depend on the features. A few dozen checked rows per class{option} would "
    "give a better estimate.",
    "assumed": "The labels were not examined{option}.",
}
"""What a number is based on; `where` names it, `option` a way to change it."""
