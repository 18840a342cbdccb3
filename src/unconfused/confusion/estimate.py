"""A confusion matrix estimated from counts, with intervals and a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unconfused._arguments import check_inner_share, check_not_negative
from unconfused._matrix import (
    ILL_CONDITIONED_BEYOND,
    SINGULAR_BEYOND,
    Unmixing,
    dependent_classes,
)
from unconfused._text.wrong_labels import (
    Basis,
    WrongLabels,
    joint_table,
    share_interval,
    wrong_labels,
)
from unconfused._typing import FloatArray, Labels

RARE_BELOW = 20
"""Counts a class needs: from 20 labels, an even chance is known to within 0.2 only."""

WIDE_BEYOND = 0.15
"""Half the width of a 95 % interval from which we call an entry unsure."""

MOST_CLASSES_IN_TABLE = 12
MOST_CLASSES_IN_SENTENCE = 5


@dataclass(frozen=True, eq=False, repr=False)
class ConfusionEstimate:
    r"""A confusion matrix with the counts behind it, accepted wherever a matrix is.

    Attributes
    ----------
    matrix : (Q, Q) probabilities, rows true, columns observed
    counts : (Q, Q) how often a row of true class t was seen with label k; fractions where the
        truth is itself an estimate
    classes : the labels of rows and columns
    class_prior : (Q,) share of each true class where it is known; None means the shares among the
        counts
    caveat : last sentence of the verdict: what else to know about this estimate

    Examples
    --------
    >>> import numpy as np
    >>> estimate = ConfusionEstimate.from_counts(np.array([[32, 8], [3, 27]]), ["cat", "dog"])
    >>> np.asarray(estimate)
    array([[0.8, 0.2],
           [0.1, 0.9]])
    >>> low, high = estimate.interval(0.9)
    >>> print(f"{low[0, 1]:.2f} to {high[0, 1]:.2f}")
    0.11 to 0.32
    >>> print(estimate)
    true \ observed    cat   dog
    cat               0.80  0.20
    dog               0.10  0.90
    70 counts, noise rate 0.16, condition number 1.46
    Precise enough to learn with: entries are known to within 0.12.
    """

    matrix: FloatArray
    counts: FloatArray
    classes: Labels
    class_prior: FloatArray | None = None
    caveat: str = ""

    @staticmethod
    def from_counts(counts: Any, classes: Any, smoothing: float = 0.0) -> ConfusionEstimate:
        """Divide each row of counts by its sum, after adding `smoothing` to every entry."""
        table, names = np.asarray(counts, dtype=np.float64), np.asarray(classes)
        if table.shape != (len(names), len(names)):
            raise ValueError(
                "counts must be a square table, one row and one column for each of the "
                f"{len(names)} classes; it has shape {table.shape}."
            )
        if not np.all(table >= 0):
            raise ValueError("counts must not be negative or NaN.")
        return ConfusionEstimate(divide_rows(table, smoothing), table, names)

    @property
    def condition_number(self) -> float:
        """Largest factor by which inverting the matrix magnifies a relative error."""
        return float(np.linalg.cond(self.matrix))

    @property
    def error_inflation(self) -> float:
        """Standard error of a class share relative to clean labels; inf if singular."""
        if not self.condition_number < SINGULAR_BEYOND:
            return float("inf")
        return Unmixing(self.matrix).error_inflation

    @property
    def noise_rate(self) -> float:
        """Share of wrong labels, given the class shares; NaN if nothing was counted."""
        share = self.counts.sum(axis=1) if self.class_prior is None else self.class_prior
        total = float(share.sum())
        if not total > 0:
            return float("nan")
        # Rounding must not make noise-free labels worse than perfect.
        return max(0.0, 1.0 - float(share @ np.diag(self.matrix)) / total)

    def wrong_labels(self, basis: Basis | None = None) -> WrongLabels:
        """Return the share of wrong labels with its interval, and the most frequent mix-up.

        `basis` says what the counts are; by default a guess for an estimate with a caveat.
        """
        if basis is None:
            basis = "guessed" if self.caveat else "estimated"
        if self.class_prior is None or basis == "votes" or not self.counts.any():
            return wrong_labels(self.counts, basis)
        return wrong_labels(joint_table(self.matrix, self.class_prior, self.counts), basis)

    @property
    def rare_classes(self) -> Labels:
        """Classes counted fewer than 20 times, whose rows of the matrix are unreliable.

        If rows were not drawn at random, `effective_counts` are used instead.
        """
        counts: FloatArray = getattr(self, "effective_counts", self.counts)
        # Expected counts add up to whole numbers only up to rounding.
        return np.asarray(self.classes[counts.sum(axis=1) < RARE_BELOW - 1e-6])

    @property
    def verdict(self) -> str:
        """One sentence: whether the matrix is good enough to learn with, and which classes are not.

        It is not good enough if singular, weak if its condition number exceeds 100, and doubtful if
        a class is rare (`rare_classes`) or has an entry whose 95 % interval is wider than 0.15 on
        either side. For an estimate without known truths, intervals show the sampling error only,
        not the error of the estimated truths.
        """
        sentence = f"{self._judge()}."
        return f"{sentence} {self.caveat}" if self.caveat else sentence

    def _judge(self) -> str:
        if not self.counts.any():
            return "Not good enough to learn with: nothing was counted"
        condition = self.condition_number
        alike = np.asarray(dependent_classes(self.matrix, self.classes))
        if not condition < SINGULAR_BEYOND:
            return (
                "Not good enough to learn with: the matrix is singular, so the labels cannot tell "
                f"{name_classes(alike)} apart"
            )
        if condition > ILL_CONDITIONED_BEYOND:
            return (
                f"Weak: the labels hardly tell {name_classes(alike)} apart; "
                f"{self.error_inflation**2:.0f} rows are worth as much as one with a clean label"
            )
        low, high = self.interval(0.95)
        margin = (high - low).max(axis=1) / 2  # half the width of the widest interval of each row
        unsure = (margin > WIDE_BEYOND) | np.isin(self.classes, self.rare_classes)
        if unsure.any():
            return (
                f"Uncertain: too few counts of {name_classes(self.classes[unsure])}; entries are "
                f"known only to within {margin[unsure].max():.2f}"
            )
        if self.caveat:
            return (
                f"A guess: the sampling error of an entry is at most {margin.max():.2f}, not "
                "counting the error of the guess itself"
            )
        return f"Precise enough to learn with: entries are known to within {margin.max():.2f}"

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper ends of a credible interval for every entry.

        Each entry is treated separately, as a share of the labels of its class, with Jeffreys'
        prior. (One Dirichlet prior for the whole row would pull every entry towards 1/Q. With many
        classes and few counts the interval would then not contain the estimate.) An interval always
        includes the entry of `matrix`. If the truths behind the counts are themselves estimated, as
        from annotators or noisy labels alone, it covers only the sampling error, and is too narrow.
        """
        check_inner_share(level, "level")
        total = self.counts.sum(axis=1, keepdims=True)
        low, high = share_interval(self.counts, total, level)
        return np.minimum(low, self.matrix), np.maximum(high, self.matrix)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Let NumPy see the matrix."""
        return np.array(self.matrix, dtype=dtype, copy=copy)

    def _summary(self) -> str:
        return (
            f"{self.counts.sum():.0f} counts, noise rate {self.noise_rate:.2f}, "
            f"condition number {self.condition_number:.3g}"
        )

    def _repr_html_(self) -> str:
        """Show a card in a notebook."""
        from unconfused._text.html import confusion_card

        classes, found = self.classes.tolist(), self.wrong_labels()
        counted = bool(self.counts.any())
        headline = (found.number, found.claim(classes) if counted else "nothing was counted")
        return confusion_card(headline, self.matrix, classes, [self.verdict, self._summary()])

    def __repr__(self) -> str:
        """Say what it holds, in one line."""
        return f"{type(self).__name__}({len(self.classes)} classes, {self._summary()})"

    def __str__(self) -> str:
        """Show the matrix if it is small, then the summary and the verdict."""
        small = len(self.classes) <= MOST_CLASSES_IN_TABLE
        table = [*_table(self.matrix, self.classes)] if small else [f"{len(self.classes)} classes"]
        return "\n".join([*table, self._summary(), self.verdict])


def divide_rows(counts: FloatArray, smoothing: float) -> FloatArray:
    """Turn counts into shares, `smoothing` added to each; a row of zeros becomes the identity's."""
    raised = counts + check_not_negative(smoothing, "smoothing")
    rows = raised.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(raised, rows, out=np.eye(len(counts)), where=rows > 0))


def refuse_uncounted(counts: FloatArray, classes: Labels, why: str) -> None:
    """Raise if a class was never counted, so that its row of the matrix is unknown."""
    empty = classes[counts.sum(axis=1) == 0]
    if len(empty):
        raise ValueError(
            f"Nothing was counted for {name_classes(empty)}: {why} Its row of the confusion "
            "matrix is unknown. Check rows of that class, leave it out, or pass smoothing=1 to "
            "have it guessed."
        )


def name_classes(classes: Labels) -> str:
    """Write classes out, the first few by name."""
    names = classes.tolist()
    shown = ", ".join(repr(name) for name in names[:MOST_CLASSES_IN_SENTENCE])
    more = len(names) - MOST_CLASSES_IN_SENTENCE
    noun = "class" if len(names) == 1 else "classes"
    return f"{noun} {shown}" + (f" and {more} more" if more > 0 else "")


def _table(matrix: FloatArray, classes: Labels) -> list[str]:
    corner = "true \\ observed"
    names = [str(name)[: len(corner)] for name in classes.tolist()]
    widths = [max(6, len(name) + 1) for name in names]
    head = "".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True))
    lines = [f"{corner} {head}"]
    for name, row in zip(names, matrix, strict=True):
        cells = "".join(f"{p:>{width}.2f}" for p, width in zip(row, widths, strict=True))
        lines.append(f"{name:<{len(corner)}} {cells}")
    return lines
