"""Calibration on labels through C, against a general optimiser."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from unconfused import noise
from unconfused._matrix import label_chances
from unconfused.confusion.estimation.calibration import (
    PRECISION_OF_SHARES,
    calibrate,
    log_chances,
)


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_general_optimiser_does_not_improve_a_calibration(seed, zeros):
    rng = np.random.RandomState(seed)
    truth = rng.choice(4, 500, p=[0.4, 0.3, 0.2, 0.1])
    matrix = noise.random_confusion(4, strength=0.5, random_state=seed)
    y = noise.corrupt_labels(truth, matrix, random_state=seed)
    logs = log_softmax(rng.normal(size=(500, 4)) + 4.0 * np.eye(4)[truth], axis=1)
    evidence, weight = label_chances(matrix)[y], rng.randint(0, 3, 500).astype(float)
    found = calibrate(logs, evidence, weight, zeros)
    # The prior is on shifts of the class shares, which a power on probabilities changes as well.
    shares = np.log(weight @ np.exp(logs) / weight.sum())

    def loss(power, shift, floor):
        moved = shift - (1 - power) * shares
        moved = moved - moved.mean()
        mixed = np.log((1 - floor) * np.exp(logs) + floor / 4)
        probability = np.exp(log_softmax(power * mixed + shift, axis=1))
        prior = PRECISION_OF_SHARES * moved @ moved / 2
        return prior - weight @ log_chances(probability, evidence)

    def general(at):
        return loss(np.exp(at[0]), at[1:5] + (1 - np.exp(at[0])) * shares, np.exp(at[5]) * zeros)

    # There may be several optima: the search goes on from what was found.
    moved = found.shift - (1 - found.power) * shares
    begin = [np.log(found.power), *(moved - moved.mean()), np.log(max(found.floor, 1e-4))]
    best = minimize(general, begin, bounds=[(-3, 3)] * 5 + [(-9.3, -0.6)]).fun
    assert loss(found.power, found.shift, found.floor) < best + 0.3
    assert loss(found.power, found.shift, found.floor) < loss(1.0, np.zeros(4), 0.01 * zeros) - 1


def test_calibration_without_any_weight_changes_nothing():
    found = calibrate(np.log([[0.5, 0.5]]), np.ones((1, 2)), np.zeros(1))
    assert found.power == 1.0
    np.testing.assert_array_equal(found.shift, 0.0)
