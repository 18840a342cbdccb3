"""Linear discriminant analysis with noisy labels, in closed form.

The total covariance needs no labels; the class means are unmixed through C. The within-class
covariance is the total covariance less the between-class part, corrected for what label noise
adds to it.

With few features the covariance matrix is computed and diagonalized. With many it is never formed:
conjugate gradients and the Lanczos method need only its products with blocks of vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy.linalg import eigh

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray
from unconfused.engines.base import Engine, Moments
from unconfused.solvers._krylov import conjugate_gradients, quadrature

RIDGES = np.logspace(-6, 3, 91)
"""Candidate ridges, relative to the mean variance of a feature."""

STANDARD_ERRORS = 2.0
"""Standard errors subtracted from the explained share of variance, as a safety margin."""

LEAST_UNEXPLAINED = 1e-6
"""Lower limit of the unexplained share of variance in any direction."""


WIDE = 1000
"""Number of features above which the covariance matrix is not formed."""

PROBES = 8
"""Random vectors of the stochastic trace estimate for a wide covariance."""

LANCZOS_STEPS = 40
SOLVE_TOLERANCE = 1e-9

FEW_LANCZOS_STEPS = 10
ROUGH_TOLERANCE = 0.1
"""Accuracy of a start. The vectors are means of noisy rows, and to stop conjugate gradients early
regularizes as a ridge does."""


@dataclass(frozen=True)
class Discriminant:
    """Weights of the classifier and the estimates behind them."""

    weights: FloatArray
    """W, (Q, features), including the intercept; columns sum to 0."""

    means: FloatArray
    """Unmixed class means, (Q, d)."""

    prior: FloatArray
    """Estimated share of each class."""

    shrinkage: float
    """Weight of the scaled identity in the covariance."""


@dataclass(frozen=True)
class ClassStatistics:
    """Class statistics, unmixed through C."""

    prior: FloatArray
    centre: FloatArray
    offsets: FloatArray
    """Covariance of each class indicator with the features, divided by the root of its share."""

    noise: FloatArray
    """(Q, Q), bias that label noise adds to ``offsets @ offsets.T``, per unit of variance."""

    label_variance: float
    """Variance of the unmixed labels, summed over the classes."""


def fit_discriminant(
    engine: Engine, unmixing: Unmixing, shrinkage: float | None = None
) -> Discriminant:
    """Fit a linear discriminant analysis to noisy labels.

    `shrinkage` is the weight of the identity, scaled by the mean within-class variance, in the
    covariance; None chooses a ridge by generalized cross-validation (`choose_ridge`). Without an
    intercept, the second moment replaces the covariance and the class intercepts are dropped.
    """
    classes = unmix_classes(engine, unmixing)
    wide = len(classes.centre) > WIDE
    covariance = (WideCovariance if wide else NarrowCovariance)(engine, classes.centre)
    within = _variance_within(covariance.mean_variance, classes)
    if shrinkage is None:
        n_rows = float(engine.code_counts.sum())
        weights, ridge, _ = regularized_weights(classes, covariance, n_rows)
    else:
        scale = 1.0 - shrinkage
        ridge = shrinkage / scale * within
        weights = _weights(classes, covariance, _spectrum(classes, covariance), ridge, scale)
    return Discriminant(
        weights=weights if engine.intercept else weights[:, :-1],
        means=classes.centre + classes.offsets / np.sqrt(classes.prior)[:, np.newaxis],
        prior=classes.prior,
        shrinkage=ridge / (ridge + within) if ridge > 0 else 0.0,
    )


def regularized_weights(
    classes: ClassStatistics, covariance: Covariance, n_rows: float, first: float | None = None
) -> tuple[FloatArray, float, float]:
    """Return W including the intercept, the ridge of `choose_ridge`, and the degrees of freedom.

    If the labels were cleaned with the help of a classifier fitted to the same rows, they are no
    longer independent of the fit, and the ridge is too small for rows that this classifier has
    memorized. Their share is about that of the degrees of freedom in the number of rows. `first` is
    the ridge chosen from the original labels; the result is between the two, on a logarithmic
    scale, by that share.
    """
    spectrum = _spectrum(classes, covariance)
    ridge = choose_ridge(spectrum, classes.label_variance, n_rows, covariance.mean_variance)
    if first is not None:
        share = min(1.0, spectrum.freedom(ridge) / n_rows)
        ridge = ridge ** (1.0 - share) * first**share
    weights = _weights(classes, covariance, spectrum, ridge, 1.0)
    return weights, ridge, spectrum.freedom(ridge)


def _spectrum(classes: ClassStatistics, covariance: Covariance) -> Spectrum:
    return covariance.spectrum(classes.offsets * np.sqrt(classes.prior)[:, np.newaxis])


def choose_ridge(
    spectrum: Spectrum, label_variance: float, n_rows: float, mean_variance: float
) -> float:
    """Return the ridge that predicts the unmixed labels best, by generalized cross-validation.

    Unmixed labels are unbiased class indicators. Their ridge regression on the features has
    ``sum(values / (values + ridge))`` degrees of freedom; its residual variance divided by the
    squared share of the remaining ones estimates the prediction error (Golub, Heath and Wahba,
    1979). Noisier labels lead to a larger ridge.
    """
    ridges = RIDGES * max(mean_variance, np.finfo(np.float64).tiny)
    values = spectrum.values[:, np.newaxis]
    shrunk = 1 / (values + ridges)
    explained = spectrum.vectors @ (2 * shrunk - values * shrunk**2)
    free = 1 - (1 + spectrum.trace @ (values * shrunk)) / n_rows
    left = np.maximum(label_variance - explained, 0.0)
    errors = np.where(free > 0, left / np.where(free > 0, free, 1.0) ** 2, np.inf)
    # Reversed, so that the largest ridge wins a tie.
    return float(ridges[::-1][np.argmin(errors[::-1])])


def shrunken_prior(unmixing: Unmixing, counts: FloatArray) -> FloatArray:
    """Return the share of each class, shrunk towards equal shares (James and Stein).

    Unmixing can inflate the errors of the shares, whose logarithms enter the intercepts.
    """
    total, n_classes = counts.sum(), unmixing.n_classes
    beyond = unmixing.masses(counts) / total - 1 / n_classes
    noise = float(np.sum((unmixing.mass_errors(counts) / total) ** 2))
    spread = float(np.sum(beyond**2))
    kept = max(0.0, 1 - noise / spread) if spread > 0 else 0.0
    floor = min(1 / total, 1 / n_classes)
    shares = np.maximum(1 / n_classes + kept * beyond, floor)
    return np.asarray(shares / shares.sum())


def unmix_classes(engine: Moments, unmixing: Unmixing) -> ClassStatistics:
    """Return the class statistics of the rows, unmixed by the inverse of C."""
    counts, d = engine.code_counts, engine.n_features - engine.intercept
    total, sums = counts.sum(), engine.code_sums()[:, :d]
    shares = unmixing.masses(counts) / total
    centre = sums.sum(axis=0) / total if engine.intercept else np.zeros(d)
    prior = shrunken_prior(unmixing, counts)
    roots = np.sqrt(prior)
    unmixed = unmixing.coefficients.T @ sums / total - np.outer(shares, centre)
    variance = counts @ unmixing.coefficients**2 / total - shares**2 * engine.intercept
    return ClassStatistics(
        prior=prior,
        centre=centre,
        offsets=unmixed / roots[:, np.newaxis],
        noise=unmixing.mass_covariance(counts) / total**2 / np.outer(roots, roots),
        label_variance=float(variance.sum()),
    )


def _variance_within(mean_variance: float, classes: ClassStatistics) -> float:
    """Return the mean within-class variance of a feature."""
    between = float(np.einsum("qj,qj->", classes.offsets, classes.offsets))
    from_noise = max(float(np.trace(classes.noise)), 0.0)
    within = (1 + from_noise) * mean_variance - between / len(classes.centre)
    return max(within, min(from_noise, 1.0) * mean_variance, 1e-9 * mean_variance)


def _weights(
    classes: ClassStatistics, covariance: Covariance, spectrum: Spectrum, ridge: float, scale: float
) -> FloatArray:
    """Return W including the intercept, centred over the classes.

    With S the total covariance and A the offsets, the within-class covariance is S - A'A. By the
    Woodbury identity its inverse differs from that of S in Q directions only, by one over the share
    of variance that A leaves unexplained there, which label noise biases downwards.
    """
    solved = covariance.solve(classes.offsets, ridge)
    freedom = spectrum.freedom(ridge)
    shares = classes.offsets @ solved.T - freedom * classes.noise
    explained, axes = np.linalg.eigh((shares + shares.T) / 2)
    explained = np.clip(explained, 0.0, 1.0)
    noise = np.maximum(np.einsum("qk,qr,rk->k", axes, classes.noise, axes), 0.0)
    error = 2 * np.sqrt(noise * explained) + np.sqrt(2 * freedom) * noise
    gains = 1 / np.maximum(1 - explained + STANDARD_ERRORS * error, LEAST_UNEXPLAINED) / scale
    roots = np.sqrt(classes.prior)
    features = (axes * gains) @ axes.T @ solved / roots[:, np.newaxis]
    lengths = axes**2 @ (explained * gains) / classes.prior
    intercepts = np.log(classes.prior) - lengths / 2 - features @ classes.centre
    weights = np.column_stack([features, intercepts])
    return np.asarray(weights - weights.mean(axis=0))


@dataclass(frozen=True)
class Spectrum:
    """Spectral measures of the covariance S and of given vectors.

    The trace of f(S) is ``sum(trace * f(values))`` and the sum of ``v' f(S) v`` over the vectors is
    ``sum(vectors * f(values))``; exact, or approximated by the Lanczos method.
    """

    values: FloatArray
    trace: FloatArray
    vectors: FloatArray

    def freedom(self, ridge: float) -> float:
        """Return the degrees of freedom of a ridge regression, the trace of S / (S + ridge)."""
        return float(self.trace @ (self.values / (self.values + ridge + 1e-300)))


class NarrowCovariance:
    """Covariance matrix, computed in one pass over the rows and diagonalized."""

    def __init__(self, rows: Moments, centre: FloatArray) -> None:
        d = len(centre)
        moment = rows.second_moment()[:d, :d] / rows.code_counts.sum()
        values, self._axes = eigh(moment - np.outer(centre, centre), overwrite_a=True)
        self._values = np.maximum(values, 0.0)
        self.mean_variance = float(self._values.mean())

    def spectrum(self, vectors: FloatArray) -> Spectrum:
        """Return the spectral measures of S and of the vectors."""
        squares = (vectors @ self._axes) ** 2
        return Spectrum(self._values, np.ones_like(self._values), squares.sum(axis=0))

    def solve(self, vectors: FloatArray, ridge: float) -> FloatArray:
        """Return ``(S + ridge I)^-1`` times each of the vectors."""
        values = self._values + ridge
        # Directions without variance are ignored (pseudo-inverse).
        void = values <= len(values) * np.finfo(np.float64).eps * values.max()
        scale = np.where(void, 0.0, 1 / np.where(void, 1.0, values))
        return np.asarray((vectors @ self._axes * scale) @ self._axes.T)

    def root(self, ridge: float) -> tuple[FloatArray, FloatArray]:
        """Return L with ``L L' = (S + ridge I)^-1``, and the inverse of L."""
        roots = np.sqrt(self._values + ridge)
        return self._axes / roots, (self._axes * roots).T


class DiagonalCovariance:
    """Variances of the features alone, where the matrix would be too large to keep."""

    def __init__(self, rows: Moments, centre: FloatArray) -> None:
        squares = rows.feature_squares()[: len(centre)] / rows.code_counts.sum()
        self._values = np.maximum(squares - centre**2, 0.0)
        self.mean_variance = float(self._values.mean())

    def spectrum(self, vectors: FloatArray) -> Spectrum:
        """Return the spectral measures of S and of the vectors."""
        return Spectrum(self._values, np.ones_like(self._values), (vectors**2).sum(axis=0))

    def solve(self, vectors: FloatArray, ridge: float) -> FloatArray:
        """Return ``(S + ridge I)^-1`` times each of the vectors."""
        return np.asarray(vectors / (self._values + ridge))

    def root(self, ridge: float) -> tuple[FloatArray, FloatArray]:
        """Return the square roots of the diagonal of ``(S + ridge I)^-1``, and their inverses."""
        roots = np.sqrt(self._values + ridge)
        return 1 / roots, roots


class WideCovariance:
    """Covariance as an operator: each product is a pass over the rows."""

    def __init__(self, engine: Engine, centre: FloatArray, precise: bool = True) -> None:
        self._engine, self._centre = engine, centre
        self._n_steps = LANCZOS_STEPS if precise else FEW_LANCZOS_STEPS
        self._tolerance = SOLVE_TOLERANCE if precise else ROUGH_TOLERANCE
        self._total = float(engine.code_counts.sum())
        squares = engine.code_squares.sum() / self._total - engine.intercept
        self.mean_variance = float(squares - centre @ centre) / len(centre)

    def _times(self, vectors: FloatArray) -> FloatArray:
        """Return S times the columns of `vectors`, (d, k)."""
        d, k = vectors.shape
        padded = vectors
        if self._engine.n_features > d:
            padded = np.vstack([vectors, np.zeros((1, k))])
        product = self._engine.second_moment_product(padded)[:d] / self._total
        product -= np.outer(self._centre, self._centre @ vectors)
        return product

    @cached_property
    def _trace(self) -> tuple[FloatArray, FloatArray]:
        """Nodes and weights of the trace, from random vectors."""
        # Fixed seed: repeated fits must agree.
        shape = len(self._centre), PROBES
        probes = np.random.default_rng(0).choice([-1.0, 1.0], size=shape)
        values, shares = quadrature(self._times, probes, self._n_steps)
        return values.ravel(), shares.ravel() / PROBES

    def spectrum(self, vectors: FloatArray) -> Spectrum:
        """Return the spectral measures of S and of the vectors, by the Lanczos method."""
        values, shares = quadrature(self._times, vectors.T, self._n_steps)
        nodes, trace = self._trace
        return Spectrum(
            np.append(nodes, values),
            np.append(trace, np.zeros(values.size)),
            np.append(np.zeros(nodes.size), shares),
        )

    def solve(self, vectors: FloatArray, ridge: float) -> FloatArray:
        """Return ``(S + ridge I)^-1`` times each of the vectors, by conjugate gradients."""
        return conjugate_gradients(
            lambda v: self._times(v) + ridge * v, vectors.T, self._tolerance
        ).T


Covariance: TypeAlias = NarrowCovariance | DiagonalCovariance | WideCovariance
"""Covariance S of the features, without the intercept."""
