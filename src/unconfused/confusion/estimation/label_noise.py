"""Whether held-out labels show label noise: a cross-fitted test that needs no truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unconfused._typing import BoolArray, FloatArray, IntArray
from unconfused.confusion.estimation.confident_counts import guess_counts, unmix_probabilities
from unconfused.confusion.estimation.pooled import drawn_together
from unconfused.confusion.estimation.sharpness import best_power, sharpen

SMALLEST = 1e-12

N_ROUNDS = 3
"""As in `from_noisy`."""


@dataclass(frozen=True)
class NoiseEvidence:
    """How much better held-out labels are predicted through a guessed confusion matrix."""

    gain: float
    """Mean gain in log-likelihood per row."""

    error: float
    """Its standard error."""

    rate: float
    """Share of the labels that is wrong according to the guess."""

    def is_clear(self, n_errors: float) -> bool:
        """Return whether the gain exceeds this number of its standard errors."""
        return self.gain > n_errors * self.error


def noise_evidence(
    probability: FloatArray, observed: IntArray, half: BoolArray, weight: FloatArray
) -> NoiseEvidence:
    """Test whether a confusion matrix explains labels that a model has not seen.

    Under label noise the probability of a label is a mixture of the rows of C: it never reaches 1,
    however typical the row. Overlapping classes do not look like that, as their probabilities do
    reach 1 away from the boundary. So the matrix is guessed on one half of the rows, and the
    probabilities of the other half are projected onto the mixtures it allows: with noise the labels
    become likelier, without it they become less likely.
    `half` is a mask of rows that splits no fold, `weight` how many rows each row stands for.

    Examples
    --------
    >>> rng = np.random.RandomState(0)
    >>> truth = rng.randint(2, size=600)
    >>> flipped = np.where(rng.uniform(size=600) < 0.3, 1 - truth, truth)
    >>> says = np.where(truth[:, np.newaxis] == [0, 1], 0.7, 0.3)
    >>> says += rng.uniform(-0.25, 0.25, 600)[:, np.newaxis] * [1, -1]
    >>> found = noise_evidence(says, flipped, np.arange(600) < 300, np.ones(600))
    >>> found.is_clear(3.0), 0.2 < found.rate < 0.4
    (True, True)
    """
    gains, wrong, total = np.zeros(len(observed)), 0.0, 0.0
    for tested in (half, ~half):
        fitted = ~tested
        counts = guess_counts(probability[fitted], observed[fitted], N_ROUNDS)
        # A class that no row of this half is typical of is taken to err as the others do.
        matrix = drawn_together(counts, 0.0 if (counts.sum(axis=1) > 0).all() else 1.0)
        evidence = np.maximum(matrix.T[observed], SMALLEST)
        classes = unmix_probabilities(probability, matrix)
        power = best_power(classes[fitted], evidence[fitted], weight[fitted])
        through = (sharpen(classes[tested], power) * evidence[tested]).sum(axis=1)
        plain = probability[np.flatnonzero(tested), observed[tested]]
        gains[tested] = np.log(np.maximum(through, SMALLEST) / np.maximum(plain, SMALLEST))
        wrong += float(counts.sum() - np.trace(counts))
        total += float(counts.sum())
    share = weight / max(float(weight.sum()), SMALLEST)
    gain = float(share @ gains)
    error = float(np.sqrt(share**2 @ (gains - gain) ** 2))
    return NoiseEvidence(gain, error, wrong / max(total, SMALLEST))
