"""The share of wrong labels, its interval, and which mix-up is named."""

import numpy as np
import pytest

from unconfused import UMAClassifier, confusion, noise
from unconfused._text import percent_range, short_names
from unconfused._text.wrong_labels import joint_table, wrong_labels


def test_interval_of_a_random_sample_covers_the_share():
    rng, covered = np.random.RandomState(0), 0
    joint = np.diag([0.5, 0.3, 0.2]) @ noise.pairwise(3, 0.2)
    for _ in range(400):
        counts = rng.multinomial(150, joint.ravel()).reshape(3, 3)
        found = wrong_labels(counts, "trusted")
        covered += found.low <= 0.2 <= found.high
    assert 0.92 <= covered / 400 <= 0.98


def test_rows_drawn_by_label_are_weighed_and_their_interval_covers_the_share():
    rng, covered = np.random.RandomState(0), 0
    prior, C = np.array([0.8, 0.15, 0.05]), noise.symmetric(3, 0.3)
    joint = prior[:, np.newaxis] * C
    labels = joint.sum(axis=0)
    for _ in range(200):
        drawn = [rng.multinomial(60, joint[:, k] / labels[k]) for k in range(3)]
        counts = np.array(drawn).T.astype(float)
        weighed = counts / counts.sum(axis=0) * labels
        matrix = weighed / weighed.sum(axis=1, keepdims=True)
        found = wrong_labels(joint_table(matrix, weighed.sum(axis=1), counts), "estimated")
        covered += found.low <= 0.3 <= found.high
    assert covered / 200 >= 0.9


def test_a_mix_up_is_named_only_if_it_stands_out():
    even = np.array([[80, 10, 12], [11, 80, 9], [10, 10, 80]])
    assert wrong_labels(even, "trusted").pair is None
    even[0, 2] = 60
    assert wrong_labels(even, "trusted").pair == (0, 2)
    even[0, 2] = 25
    assert wrong_labels(even, "trusted").pair == (0, 2)
    assert wrong_labels(even, "guessed").pair is None  # a guess errs by more than its sampling
    exact = joint_table(noise.symmetric(3, 0.3), np.full(3, 1 / 3))
    assert wrong_labels(exact, "given").pair is None


def test_other_labels_are_not_wrong_and_nothing_is_claimed_without_counts():
    table = np.array([[8.0, 1.0, 11.0], [0.0, 20.0, 0.0]])  # the third label is "unsure"
    assert wrong_labels(table, "trusted").share == pytest.approx(1 / 40)
    nothing = wrong_labels(np.zeros((2, 2)), "trusted")
    assert nothing.number == "?" and "taken as right" in nothing.sentence(["a", "b"])
    clean = wrong_labels(np.diag([50.0, 50.0]), "trusted")
    assert clean.share == clean.low == 0 < clean.high and clean.sentence("ab").startswith("0 %")


def test_card_of_a_model_and_of_the_counts_agree():
    rng = np.random.RandomState(0)
    truth = rng.randint(3, size=600)
    X = np.eye(3)[truth] + 0.2 * rng.randn(600, 3)
    y = noise.corrupt_labels(truth, noise.pairwise(3, 0.25), random_state=0)
    known = np.where(np.arange(600) < 200, truth, -1)
    model = UMAClassifier().fit(X, y, y_true=known)
    counted = confusion.from_trusted(truth[:200], y[:200]).wrong_labels("trusted")
    assert f">{counted.number}<" in model._repr_html_()
    assert percent_range(counted.low, counted.high) in model._repr_html_()


def test_names_stay_different_when_shortened():
    names = [f"talk.politics.{one}" for one in ("guns", "mideast", "misc", "music")]
    for longest in (4, 6, 9, 14):
        assert len(set(short_names(names, longest))) == 4
    assert max(map(len, short_names([*names[:2], "x" * 100], 9))) <= 10
