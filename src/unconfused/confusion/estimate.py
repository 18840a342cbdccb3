"""A confusion matrix estimated from counts, with intervals and a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv

from unconfused._matrix import (
    ILL_CONDITIONED_BEYOND,
    SINGULAR_BEYOND,
    Unmixing,
    dependent_classes,
)
from unconfused._text.wrong_labels import Basis, WrongLabels, joint_table, wrong_labels
from unconfused._typing import FloatArray, Labels

JEFFREYS = 0.5
"""Pseudo-count of the prior behind the credible intervals."""

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
    class_prior : (Q,) share of each true class where the source knows it; None means the shares
        among the counts
    caveat : what else to know about the source, a sentence that ends the verdict

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
    Precise enough to learn with: sampling error of at most 0.12 per entry; inverting it magnifies
    errors up to 1.2 times.
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

        Where rows were not drawn at random, this is by the `effective_counts`.
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
        condition, inflation = self.condition_number, self.error_inflation
        alike = np.asarray(dependent_classes(self.matrix, self.classes))
        if not condition < SINGULAR_BEYOND:
            return (
                "Not good enough to learn with: the matrix is singular, the labels cannot tell "
                f"{name_classes(alike)} apart"
            )
        if condition > ILL_CONDITIONED_BEYOND:
            return (
                f"Weak: n rows are worth n/{inflation**2:.0f} clean ones, since the labels hardly "
                f"tell {name_classes(alike)} apart"
            )
        low, high = self.interval(0.95)
        margin = (high - low).max(axis=1) / 2  # half the width of the widest interval of each row
        unsure = (margin > WIDE_BEYOND) | np.isin(self.classes, self.rare_classes)
        if unsure.any():
            return (
                f"Uncertain: too few counts of {name_classes(self.classes[unsure])}; entries are "
                f"known only to within {margin[unsure].max():.2f}"
            )
        magnified = f"inverting it magnifies errors up to {inflation:.1f} times"
        if self.caveat:
            return (
                f"A guess: the sampling error of an entry is at most {margin.max():.2f}, not "
                f"counting the error of the guess itself; {magnified}"
            )
        return (
            "Precise enough to learn with: sampling error of at most "
            f"{margin.max():.2f} per entry; {magnified}"
        )

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper ends of a credible interval for every entry.

        Each entry alone is a share of its class's labels, with Jeffreys' prior for a share. (The
        margins of one Dirichlet prior for the whole row would pull every entry towards 1/Q, with
        many classes and few counts so far that the interval leaves out the estimate itself.) An
        interval reaches at least to the entry of `matrix`. Where the truth behind the counts is
        itself estimated (annotators, noisy labels alone) it covers the counting only, and is too
        narrow.
        """
        refuse_level(level)
        total = self.counts.sum(axis=1, keepdims=True)
        # Fractions of counts need not add up to the last bit.
        others = np.maximum(total - self.counts, 0.0)
        low, high = (
            betaincinv(self.counts + JEFFREYS, others + JEFFREYS, end)
            for end in ((1 - level) / 2, (1 + level) / 2)
        )
        # A label never seen may be impossible, and one always seen the only one.
        low, high = np.where(self.counts == 0, 0.0, low), np.where(others == 0, 1.0, high)
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
        classes = self.classes.tolist()
        found = self.wrong_labels()
        headline = (found.number, found.claim(classes))
        if not self.counts.any():
            headline = ("?", "nothing was counted")
        from unconfused._text.html import confusion_card

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
    refuse_negative(smoothing)
    raised = counts + smoothing
    rows = raised.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(raised, rows, out=np.eye(len(counts)), where=rows > 0))


def refuse_level(level: float) -> None:
    """Raise if this is not a valid level of an interval."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie strictly between 0 and 1; got {level}.")


def refuse_negative(smoothing: float) -> None:
    """Raise if the smoothing is negative or NaN."""
    if not smoothing >= 0:
        raise ValueError(f"smoothing must be at least 0; got {smoothing}.")


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
