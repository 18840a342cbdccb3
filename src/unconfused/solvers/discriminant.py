"""Linear discriminant analysis with noisy labels, in closed form.

The total covariance needs no labels; the class means are unmixed through C. The within-class
covariance is the total covariance less the between-class part, corrected for what label noise
adds to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray
from unconfused.engines.base import Engine, Moments
from unconfused.solvers._covariance import Covariance, Spectrum, covariance_of

RIDGES = np.logspace(-6, 3, 91)
"""Candidate ridges, relative to the mean variance of a feature."""

STANDARD_ERRORS = 2.0
"""Standard errors subtracted from the explained share of variance, as a safety margin."""

LEAST_UNEXPLAINED = 1e-6
"""Lower limit of the unexplained share of variance in any direction."""


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
    covariance = covariance_of(engine, classes.centre)
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
