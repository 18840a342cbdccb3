"""A rare class may not outgrow its share."""

import numpy as np
import pytest

from unconfused import ConfusionWarning, UnconfusedLogisticRegression
from unconfused.estimators.automatic.shares import outgrown

PAIRS = np.array([[50.0, 10, 0], [10, 40, 0], [4, 1, 0]])
LABELS = np.array([550.0, 440, 10])


def test_as_many_rows_as_truths_or_labels_allow_are_fine():
    assert not len(outgrown(np.array([500.0, 400, 100]), PAIRS, LABELS))
    # Trusted rows drawn evenly by class say little of shares: labels do.
    even = np.array([[10.0, 0, 0], [0, 10, 0], [0, 0, 10]])
    assert not len(outgrown(np.array([900.0, 70, 30]), even, np.array([890.0, 75, 35])))


def test_a_class_that_swallows_another_is_found():
    assert outgrown(np.array([20.0, 430, 550]), PAIRS, LABELS).tolist() == [2]


@pytest.fixture
def rare():
    rng = np.random.RandomState(0)
    truth = rng.choice(3, 900, p=[0.55, 0.4, 0.05])
    X = np.eye(3)[truth] * 2 + rng.randn(900, 3)
    noise = np.array([[0.8, 0.2, 0.0], [0.2, 0.8, 0.0], [0.7, 0.1, 0.2]])
    y = np.array([rng.choice(3, p=noise[t]) for t in truth])
    known = np.where(rng.uniform(size=900) < 0.12, truth, -1)
    return X, y, truth, known


@pytest.mark.slow
def test_an_outgrown_class_is_prevented_and_told(rare, monkeypatch):
    X, y, truth, known = rare
    plain = UnconfusedLogisticRegression(relabel=0).fit(X, y, y_true=known)  # nothing to tell
    assert plain.class_prior_[2] < 0.15
    monkeypatch.setattr("unconfused.estimators.automatic.shares.BY_FACTOR", 0.0)
    with pytest.warns(ConfusionWarning, match="would have taken over rows of other classes"):
        clf = UnconfusedLogisticRegression(relabel=0).fit(X, y, y_true=known)
    chosen = np.argmax(clf.choice_["chosen"])
    assert clf.choice_["believed"][chosen] or clf.choice_["noisy_weight"][chosen] == 0
    assert clf.score(X, truth) > 0.7
