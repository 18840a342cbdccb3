"""The paper's first experiment as an assertion: knowing C helps where it can be undone."""

import warnings

import numpy as np
import pytest

from unconfused import ConfusionWarning, UMAClassifier, datasets, metrics, noise

SEEDS = 12
# As in the paper: no whitening, no intercept, no early stop.
SETTINGS = {"max_iter": 300, "tol": 1e-9, "fit_intercept": False, "whiten": False}


def confusion_norms(seed):
    """Confusion norm of UMA minus that of UMA with the identity, for each of 20 noise levels."""
    X, y, weights = datasets.make_circle(1000, random_state=seed, return_weights=True)
    X_test, y_test = datasets.make_circle(10_000, weights=weights, random_state=seed + 1000)
    differences = []
    for i, C in enumerate(noise.drift_family(10, random_state=seed)):
        seen = noise.corrupt_labels(y, C, random_state=100 * seed + i)
        norms = []
        for matrix in (C, np.eye(10)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConfusionWarning)  # strong noise: that is the point
                clf = UMAClassifier(matrix, classes=range(10), **SETTINGS).fit(X, seen)
            norms.append(metrics.confusion_rate(y_test, clf.predict(X_test), normalize=False))
        differences.append(norms[0] - norms[1])
    return differences


@pytest.mark.slow
def test_uma_beats_the_perceptron_on_the_circle():
    differences = np.array([confusion_norms(seed) for seed in range(SEEDS)])
    mean = differences.mean(axis=0)
    error = differences.std(axis=0, ddof=1) / np.sqrt(SEEDS)
    level = np.arange(1, 21)
    middle = (level >= 4) & (level <= 8)
    assert np.all(mean[middle] < -2 * error[middle]), mean / error
    assert np.all(mean[~middle] <= 2 * error[~middle]), mean / error


@pytest.mark.slow
def test_updates_do_not_end_while_many_small_mistakes_remain():
    # Mistakes spread over many pairs: no pair stands out by itself, but regions do.
    C = noise.symmetric(10, 0.7)
    stopped, to_the_end = [], []
    for seed in range(10):
        X, true, weights = datasets.make_circle(1000, random_state=seed, return_weights=True)
        fresh, answers = datasets.make_circle(4000, weights=weights, random_state=seed + 1000)
        seen = noise.corrupt_labels(true, C, random_state=seed)
        for errors, tol in ((stopped, "auto"), (to_the_end, 1e-9)):
            settings = {"whiten": False, "init": "means", "max_iter": 300, "tol": tol}
            clf = UMAClassifier(C, **settings).fit(X, seen)
            errors.append(1 - clf.score(fresh, answers))
    assert np.mean(stopped) <= 1.35 * np.mean(to_the_end)
