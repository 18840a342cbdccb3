"""Discriminant analysis through C: one look at the rows, and weights in closed form.

The covariance of all rows needs no labels. The class means do, and are unmixed through C. What the
classes' means explain of the covariance is taken out of it again, as far as that is more than
label noise would explain; the rest is the covariance within the classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray
from unconfused.engines.base import Engine
from unconfused.solvers._covariance import Covariance, Spectrum, covariance_of

RIDGES = np.logspace(-6, 3, 91)
"""Ridges tried, times the mean variance of a feature."""

STANDARD_ERRORS = 2.0
"""How many standard errors of its own a share of explained variance is taken to be too high."""

LEAST_UNEXPLAINED = 1e-6
"""Smallest share of the variance in any direction that is left within the classes."""


@dataclass(frozen=True)
class Discriminant:
    """A classifier in closed form, and what it was made of."""

    weights: FloatArray
    """W, (Q, features), the intercept's included; its columns sum to 0."""

    means: FloatArray
    """The class means seen through C, (Q, d)."""

    prior: FloatArray
    """Share of each class."""

    shrinkage: float
    """Share of the multiple of the identity in the covariance."""


@dataclass(frozen=True)
class _Classes:
    """What the labels say, seen through C."""

    prior: FloatArray
    centre: FloatArray
    offsets: FloatArray
    """Covariance of each class's indicator with the features, over the root of its share."""

    noise: FloatArray
    """(Q, Q), what label noise adds to products of offsets, per feature of variance 1."""

    label_variance: float
    """Variance of the unmixed labels, summed over the classes."""


def fit_discriminant(
    engine: Engine, unmixing: Unmixing, shrinkage: float | None = None
) -> Discriminant:
    """Return the weights of a linear discriminant analysis whose labels are seen through C.

    `shrinkage` is the share of the identity, times the mean variance within the classes, in the
    covariance; None to choose a ridge by generalised cross-validation (`choose_ridge`). Without an
    intercept the rows' second moment takes the covariance's place, and the classes' own intercepts
    are left out.
    """
    classes = _look_through(engine, unmixing)
    covariance = covariance_of(engine, classes.centre)
    within = _variance_within(covariance.mean_variance, classes)
    roots = np.sqrt(classes.prior)[:, np.newaxis]
    spectrum = covariance.spectrum(classes.offsets * roots)
    if shrinkage is None:
        n_rows = float(engine.code_counts.sum())
        ridge = choose_ridge(spectrum, classes.label_variance, n_rows, covariance.mean_variance)
        scale = 1.0
    else:
        scale = 1.0 - shrinkage
        ridge = shrinkage / scale * within
    weights = _weights(classes, covariance, spectrum, ridge, scale)
    return Discriminant(
        weights=weights if engine.intercept else weights[:, :-1],
        means=classes.centre + classes.offsets / roots,
        prior=classes.prior,
        shrinkage=ridge / (ridge + within) if ridge > 0 else 0.0,
    )


def choose_ridge(
    spectrum: Spectrum, label_variance: float, n_rows: float, mean_variance: float
) -> float:
    """Return the ridge that predicts the unmixed labels best, by generalised cross-validation.

    The labels seen through C are numbers that are right on average. Their ridge regression on the
    features has ``sum(values / (values + ridge))`` degrees of freedom, and what it leaves
    unexplained, divided by the squared share of the remaining ones, estimates the error on new rows
    (Golub, Heath and Wahba, 1979). Noisier labels leave more unexplained, and so call for more.
    """
    ridges = RIDGES * max(mean_variance, np.finfo(np.float64).tiny)
    values = spectrum.values[:, np.newaxis]
    shrunk = 1 / (values + ridges)
    explained = spectrum.vectors @ (2 * shrunk - values * shrunk**2)
    free = 1 - (1 + spectrum.trace @ (values * shrunk)) / n_rows
    left = np.maximum(label_variance - explained, 0.0)
    errors = np.where(free > 0, left / np.where(free > 0, free, 1.0) ** 2, np.inf)
    # From the strong end: where all are as good, the steadiest.
    return float(ridges[::-1][np.argmin(errors[::-1])])


def shrunken_prior(unmixing: Unmixing, counts: FloatArray) -> FloatArray:
    """Return the share of each class, drawn to equal shares as far as label noise explains them.

    Undoing C can multiply the errors of the shares; their logarithms are needed (James and Stein).
    """
    total, n_classes = counts.sum(), unmixing.n_classes
    beyond = unmixing.masses(counts) / total - 1 / n_classes
    noise = float(np.sum((unmixing.mass_errors(counts) / total) ** 2))
    spread = float(np.sum(beyond**2))
    kept = max(0.0, 1 - noise / spread) if spread > 0 else 0.0
    floor = min(1 / total, 1 / n_classes)
    shares = np.maximum(1 / n_classes + kept * beyond, floor)
    return np.asarray(shares / shares.sum())


def _look_through(engine: Engine, unmixing: Unmixing) -> _Classes:
    counts, d = engine.code_counts, engine.n_features - engine.intercept
    total, sums = counts.sum(), engine.code_sums()[:, :d]
    shares = unmixing.masses(counts) / total
    centre = sums.sum(axis=0) / total if engine.intercept else np.zeros(d)
    prior = shrunken_prior(unmixing, counts)
    roots = np.sqrt(prior)
    unmixed = unmixing.coefficients.T @ sums / total - np.outer(shares, centre)
    variance = counts @ unmixing.coefficients**2 / total - shares**2 * engine.intercept
    return _Classes(
        prior=prior,
        centre=centre,
        offsets=unmixed / roots[:, np.newaxis],
        noise=unmixing.mass_covariance(counts) / total**2 / np.outer(roots, roots),
        label_variance=float(variance.sum()),
    )


def _variance_within(mean_variance: float, classes: _Classes) -> float:
    """Return the mean variance of a feature within the classes."""
    between = float(np.einsum("qj,qj->", classes.offsets, classes.offsets))
    feigned = max(float(np.trace(classes.noise)), 0.0)
    within = (1 + feigned) * mean_variance - between / len(classes.centre)
    return max(within, min(feigned, 1.0) * mean_variance, 1e-9 * mean_variance)


def _weights(
    classes: _Classes, covariance: Covariance, spectrum: Spectrum, ridge: float, scale: float
) -> FloatArray:
    """Return W with the intercept's column, centred over the classes.

    With S the covariance of all rows and A the offsets, the one within the classes is S - A'A. Its
    inverse differs from that of S in Q directions only, by one over the share of variance that A
    leaves unexplained there. Label noise makes that share look smaller than it is.
    """
    solved = covariance.solve(classes.offsets, ridge)
    freedom = spectrum.trace @ (spectrum.values / (spectrum.values + ridge + 1e-300))
    explained, axes = np.linalg.eigh(
        _symmetric(classes.offsets @ solved.T - freedom * classes.noise)
    )
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


def _symmetric(matrix: FloatArray) -> FloatArray:
    return np.asarray((matrix + matrix.T) / 2)
