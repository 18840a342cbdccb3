"""Rare classes are not lost while the confusion matrix is guessed or found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import make_problem

from unconfused import UnconfusedLogisticRegression, confusion, noise
from unconfused.confusion._pooled import drawn_together
from unconfused.confusion.noisy import guess_counts
from unconfused.solvers import likelihood

counts = st.integers(0, 2**16).map(
    lambda seed: np.random.RandomState(seed).randint(0, 60, (4, 4)).astype(float)
)


@given(counts, st.permutations(range(4)))
def test_classes_in_any_order_are_drawn_alike(table, order):
    drawn = drawn_together(table)
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0)
    assert np.all(drawn > 0)
    again = drawn_together(table[np.ix_(order, order)])
    np.testing.assert_allclose(again, drawn[np.ix_(order, order)], atol=1e-12)


def test_even_mistakes_make_few_counts_steady_and_others_are_left_alone():
    rng = np.random.RandomState(0)
    even, flips = noise.symmetric(6, 0.4), noise.pairwise(6, 0.4)
    for matrix, better in ((even, 0.6), (flips, 1.1)):
        error = []
        for _ in range(20):
            table = np.array([rng.multinomial(60, row) for row in matrix], dtype=float)
            plain = table / table.sum(axis=1, keepdims=True)
            error.append([np.abs(c - matrix).mean() for c in (plain, drawn_together(table))])
        plain, drawn = np.mean(error, axis=0)
        assert drawn < better * plain


def test_a_class_without_counts_errs_as_the_others_do():
    drawn = drawn_together(np.array([[70.0, 30.0, 0.0], [30.0, 70.0, 0.0], [0.0, 0.0, 0.0]]))
    assert drawn[2, 2] == pytest.approx(0.7, abs=0.05)


def test_a_round_that_loses_a_class_is_not_taken(monkeypatch):
    rng = np.random.RandomState(0)
    probability, observed = rng.dirichlet([1, 1, 1], size=300), rng.randint(3, size=300)
    first = guess_counts(probability, observed, 0)
    certain = np.tile([[0.98, 0.01, 0.01]], (300, 1))
    monkeypatch.setattr(confusion.noisy, "unmix_probabilities", lambda *_: certain)
    np.testing.assert_array_equal(guess_counts(probability, observed, 3), first)


def test_a_matrix_that_loses_a_class_is_not_taken(monkeypatch):
    problem = make_problem(0, n=400)
    estimate = confusion.ConfusionEstimate.from_counts(50 * problem.C, range(4))
    asked = []

    def never_seen(measure, weights, matrix, *_):
        asked.append(matrix)
        lost = matrix.copy()
        lost[2] = 1e-9  # whatever label a row has, it is not of class 2
        return lost

    monkeypatch.setattr(likelihood, "find_matrix", never_seen)
    model = UnconfusedLogisticRegression(estimate, refine=True).fit(problem.X, problem.y)
    assert len(asked) == 1
    np.testing.assert_allclose(model.confusion_, asked[0])
    assert model.class_prior_[2] > 0.05
