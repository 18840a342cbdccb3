"""The algebra of the confusion matrix: its inversion, and what follows from it.

``C[t, k]`` is the probability that a row of true class ``t`` has label ``k``: rows are true
classes, columns are observed labels, every row sums to 1. The paper uses the transpose.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import lu_factor, lu_solve
from scipy.special import ndtri

from unconfused._typing import BoolArray, FloatArray, IntArray, Labels

SINGULAR_BEYOND = 1e10
"""Condition number from which C counts as singular in double precision."""

LOST = 0.2
"""Remaining share of its rows below which a class counts as lost."""

ILL_CONDITIONED_BEYOND = 100.0
"""Condition number from which a warning states the loss of precision."""

LEVEL = 0.05
"""Approximate chance that any region without mistakes is significant, and of each empty pair in one
that is."""

NO_ROWS = 1e-12
"""Share of the rows below which a mass is rounding error."""


class ConfusionWarning(UserWarning):
    """Warning about a confusion matrix, or labels, that are usable but questionable."""


class GuessedConfusionWarning(ConfusionWarning):
    """Warning that the confusion matrix was estimated from noisy labels alone."""


class LabelNoiseWarning(ConfusionWarning):
    """Warning that labels taken as right look noisy."""


def dependent_classes(matrix: FloatArray, classes: Labels) -> list[Any]:
    """Return the classes whose rows of C are (nearly) linearly dependent."""
    left, found, _ = np.linalg.svd(matrix)
    values = np.zeros(len(matrix))  # fewer labels than classes leave some at 0
    values[: len(found)] = found
    weak = values <= max(values[0] / SINGULAR_BEYOND, values[-1])
    weight = np.abs(left[:, weak]).max(axis=1)
    return list(classes[weight > 0.1 * weight.max()].tolist())


@dataclass(frozen=True)
class Unmixing:
    """Unmixing coefficients of every label code for every true class, from the inverse of C.

    A row with label code ``s`` counts as ``coefficients[s, q]`` rows of class ``q``. The first S
    codes are observed labels, unmixed by the inverse of C; the next Q, present if `trusted` is set,
    are trusted labels, which count as they are. With more labels than classes C has many left
    inverses. That of generalised least squares is used, which has the least variance if labels are
    as frequent as the columns of C say.

    Examples
    --------
    >>> Unmixing(np.array([[0.9, 0.1], [0.3, 0.7]])).coefficients.round(2)
    array([[ 1.17, -0.17],
           [-0.5 ,  1.5 ]])
    """

    matrix: FloatArray
    classes: Labels | None = None
    trusted: bool = False
    counts: FloatArray | None = None
    """(true, observed) counts from which C was estimated; None if C is known."""

    by_region: FloatArray | None = None
    """(Q, S, Q), coefficients of every region (predicted class), if each has its own."""

    @property
    def n_classes(self) -> int:
        """Number of classes, Q."""
        return len(self.matrix)

    @property
    def is_identity(self) -> bool:
        """Whether labels are taken as right."""
        return np.array_equal(self.matrix, np.eye(self.n_classes))

    @property
    def n_labels(self) -> int:
        """Number of observed labels, S."""
        return int(self.matrix.shape[1])

    @cached_property
    def coefficients(self) -> FloatArray:
        """Coefficient of a row in each class, by its label code, (S or S + Q, Q)."""
        # The statistics need the entries of the inverse, so a solve is not enough.
        identity = np.eye(self.n_classes)
        if self.n_labels == self.n_classes:
            inverse = lu_solve(lu_factor(self.matrix), identity)
        else:
            frequent = self.matrix.sum(axis=0)
            scale = np.divide(1.0, frequent, out=np.zeros_like(frequent), where=frequent > 0)
            scaled = self.matrix * scale
            inverse = lu_solve(lu_factor(scaled @ self.matrix.T), scaled).T
        both = np.vstack([inverse, identity]) if self.trusted else inverse
        return np.ascontiguousarray(both)

    @property
    def coefficients_by_region(self) -> FloatArray:
        """Coefficients of every region, (Q, S, Q), or the same for all, (1, S, Q)."""
        return self.coefficients[np.newaxis] if self.by_region is None else self.by_region

    def of_region(self, predicted: int) -> Unmixing:
        """Return the unmixing of the rows predicted to be of this class."""
        if self.by_region is None:
            return self
        region = replace(self, by_region=None)
        vars(region)["coefficients"] = self.by_region[predicted]  # not the inverse
        return region

    @cached_property
    def _chances(self) -> FloatArray:
        """C as used for the variance of the label noise."""
        if self.counts is None:
            return self.matrix
        # Laplace smoothing: a label with a count of 0 is rare, not impossible.
        chances = self.counts + 1.0
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    @cached_property
    def label_variance(self) -> FloatArray:
        """Variance of a row's coefficient for class q given its true class t, (t, q)."""
        inverse, chances = self.coefficients[: self.n_labels], self._chances
        return np.maximum(chances @ inverse**2 - (chances @ inverse) ** 2, 0.0)

    @cached_property
    def largest_noise(self) -> FloatArray:
        """Largest error that one wrong label can add to the mass of each class, (Q,)."""
        inverse = self.coefficients[: self.n_labels]
        possible = (self.matrix > 0) if self.counts is None else np.ones_like(self.matrix, bool)
        # A label k of a row truly q is off by |inverse[k, q] - 1|, of any other by |inverse[k, q]|.
        own = possible.T
        other = possible.sum(axis=0)[:, np.newaxis] > own
        off = np.where(own, np.abs(inverse - 1.0), 0.0)
        return np.asarray(np.maximum(off, np.where(other, np.abs(inverse), 0.0)).max(axis=0))

    @property
    def condition_number(self) -> float:
        """Ratio of the largest to the smallest singular value of C."""
        return condition_of(self.matrix)

    @property
    def error_inflation(self) -> float:
        """Largest factor by which unmixing inflates the standard error of a class's mass."""
        return float(np.sqrt((self.label_variance + np.eye(self.n_classes)).max()))

    def masses(self, counts: FloatArray) -> FloatArray:
        """Unmix counts per label code (last axis) into estimated counts per true class."""
        return counts @ self.coefficients

    def mass_errors(self, counts: FloatArray) -> FloatArray:
        """Return the standard error of `masses` due to label noise, given the rows.

        Only the labels are random: if C is the identity, the masses are exact. The true
        composition of the rows is estimated and clipped at 0. If C was estimated from counts, its
        error is common to all rows of a class and accumulates over them.
        """
        return np.sqrt(self._noise_sources(counts) @ self.label_variance)

    def _noise_sources(self, counts: FloatArray) -> FloatArray:
        """Return the effective number of noisy rows of each true class."""
        noisy = counts[..., : self.n_labels]
        composition = np.maximum(noisy @ self.coefficients[: self.n_labels], 0.0)
        if self.counts is not None:
            row_counts = np.maximum(self.counts.sum(axis=1), 1.0)
            composition = composition + composition**2 / row_counts
        return np.asarray(composition)

    def mass_covariance(self, counts: FloatArray) -> FloatArray:
        """Return the covariance of `masses` due to label noise, given the rows, (Q, Q)."""
        inverse, sources = self.coefficients[: self.n_labels], self._noise_sources(counts)
        expected = self._chances @ inverse
        drawn = (inverse.T * (sources @ self._chances)) @ inverse
        return np.asarray(drawn - (expected.T * sources) @ expected)

    def significant_pairs(self, counts: FloatArray, total: float) -> BoolArray:
        """Return whether pairs (predicted p, truly q) hold more rows than label noise explains.

        The mass of a pair is an unbiased estimate of how many rows predicted p are truly q. Its
        standard error is that of the label noise given the rows, so with clean labels a single row
        is significant. `counts` are those of the cells, (Q, S), `total` the weight of all rows, in
        cells or not.

        Where mistakes are spread over many pairs, none of these stands out of all Q (Q - 1). So
        regions are tested first, for rows of any other class, at `LEVEL` over all Q regions; then
        the pairs of significant regions, each at `LEVEL`.
        """
        masses, errors = self.masses(counts), self.mass_errors(counts)

        def exceeds(mass: FloatArray, error: FloatArray, level: float) -> BoolArray:
            threshold = float(-ndtri(level))
            # A small number of wrong labels is nearly Poisson, not normal. The next term of the
            # Cornish-Fisher expansion covers its tail, so that two in a small cell do not pass.
            tail = np.where(error > 0, (threshold**2 - 1) / 6 * self.largest_noise, 0.0)
            return np.asarray((mass > NO_ROWS * total) & (mass > threshold * error + tail))

        wrong = counts.sum(axis=1) - np.diagonal(masses)
        regions = exceeds(wrong, np.diagonal(errors), LEVEL / len(masses))
        return regions[:, np.newaxis] & exceeds(masses, errors, LEVEL)

    def pair_noise(
        self, counts: FloatArray, squares: FloatArray, true: int, norm: float, total: float
    ) -> tuple[float, float]:
        """Return the noise norm of a pair, and its mass over the standard error of the mass.

        The noise norm is the expected norm of the sampling error of the update vector. `counts` and
        `squares`, (S,), are those of the region, `norm` that of the vector.
        """
        mass, error = float(self.masses(counts)[true]), float(self.mass_errors(counts)[true])
        squared = float(squares @ self.coefficients[:, true] ** 2) / total**2
        noise = max(squared - norm * norm / total, 0.0) ** 0.5
        if mass <= NO_ROWS * total:
            return noise, 0.0
        return noise, mass / error if error > 0 else np.inf

    def prior(self, counts: FloatArray, *, warn: bool = True) -> FloatArray:
        """Return the estimated share of each true class, from counts per label code.

        A share that is significantly negative shows that C does not match the labels.
        """
        total = counts.sum()
        share = self.masses(counts) / total
        error = self.mass_errors(counts) / total
        if warn and np.any(share < ndtri(0.001 / len(share)) * error - 1e-9):
            worst = int(np.argmin(share))
            name = worst if self.classes is None else self.classes[worst].item()
            warnings.warn(
                "The confusion matrix and the observed labels do not fit each other: it would "
                f"give class {name!r} a share of {share[worst]:.3f} of the rows, standard error "
                f"{error[worst]:.3f}. Is the matrix transposed (rows "
                "must be true classes), or from other data?",
                ConfusionWarning,
                stacklevel=2,
            )
        # At least one row, so that division by a share stays finite.
        floor = min(1.0 / total, 1.0 / len(share))
        clipped = np.maximum(share, floor)
        return np.asarray(clipped / clipped.sum())


def condition_of(matrix: FloatArray) -> float:
    """Return the condition number of C; infinite with fewer labels than classes."""
    return float(np.linalg.cond(matrix)) if matrix.shape[1] >= len(matrix) else float("inf")


def warn_if_singular(matrix: FloatArray, classes: Labels) -> None:
    """Warn if C is singular."""
    if (why := _singularity(matrix, classes)) is not None:
        warnings.warn(why, ConfusionWarning, stacklevel=2)


def _singularity(matrix: FloatArray, classes: Labels) -> str | None:
    """Return in words which classes a singular C does not distinguish; None if it is regular."""
    condition = condition_of(matrix)
    if condition < SINGULAR_BEYOND:
        return None
    return (
        f"The confusion matrix is singular (condition number {condition:.2g}): the rows of "
        f"classes {dependent_classes(matrix, classes)} are (nearly) dependent, so the labels "
        "alone cannot tell these classes apart."
    )


def label_chances(matrix: FloatArray) -> FloatArray:
    """Return P(label | true class), (labels, classes).

    A label that has probability 0 for every class is uninformative: its row is set to 1.
    """
    chances = np.array(matrix.T, order="C")  # always a copy: C must not be modified
    chances[~chances.any(axis=1)] = 1.0
    return chances


def warn_if_impossible(matrix: FloatArray, observed: IntArray, labels: Labels) -> None:
    """Warn about observed labels that have probability 0 for every class."""
    counts = np.bincount(observed[observed >= 0], minlength=matrix.shape[1])
    for label in np.flatnonzero(~matrix.any(axis=0) & (counts > 0)):
        warnings.warn(
            f"By the confusion matrix no class is ever labelled {labels.tolist()[label]!r}, but "
            "rows are: these labels are treated as uninformative. Check the matrix, or drop these "
            "rows.",
            ConfusionWarning,
            stacklevel=2,
        )


def make_unmixing(
    matrix: FloatArray, classes: Labels, *, trusted: bool = False, counts: FloatArray | None = None
) -> Unmixing:
    """Return the unmixing of C; raise an error if it is singular, warn if ill-conditioned."""
    unmixing = Unmixing(matrix, classes, trusted, counts)
    if (why := _singularity(matrix, classes)) is not None:
        raise ValueError(
            f"{why} Merge some of them, get a matrix that separates them, or use "
            "UnconfusedLogisticRegression, which needs no inverse."
        )
    warn_if_ill_conditioned(unmixing, classes)
    return unmixing


def warn_if_ill_conditioned(unmixing: Unmixing, classes: Labels) -> None:
    """Warn that inverting C inflates standard errors, if it is ill-conditioned."""
    condition = unmixing.condition_number
    if ILL_CONDITIONED_BEYOND < condition < SINGULAR_BEYOND:
        inflation = unmixing.error_inflation
        warnings.warn(
            f"The confusion matrix is ill-conditioned (condition number {condition:.0f}): "
            f"inverting it inflates standard errors up to {inflation:.0f} times, so "
            f"{inflation**2:.0f} rows may be worth no more than one with a clean label. Classes "
            f"that are hard to tell apart: {dependent_classes(unmixing.matrix, classes)}.",
            ConfusionWarning,
            stacklevel=3,
        )


def loses_a_class(before: FloatArray, after: FloatArray) -> bool:
    """Return whether any class has lost nearly all of its rows.

    The likelihood can favour a C in which a rare class never occurs. A class named by the user is
    assumed to exist, so estimation steps that remove one are rejected.
    """
    return bool(np.any(after < LOST * before))
