"""Rare classes are not lost while the confusion matrix is guessed or found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import make_problem

from unconfused import UnconfusedLogisticRegression, confusion, noise
from unconfused.confusion.estimation import class_probabilities
from unconfused.confusion.estimation.class_probabilities import guess_counts
from unconfused.confusion.estimation.pooled import counts_shrunk_to_pooled, shrink_to_symmetric
from unconfused.estimators.relabel import rounds as _relabel
from unconfused.solvers import likelihood

counts = st.integers(0, 2**16).map(
    lambda seed: np.random.RandomState(seed).randint(0, 60, (4, 4)).astype(float)
)


@given(counts, st.permutations(range(4)))
def test_classes_in_any_order_are_drawn_alike(table, order):
    drawn = shrink_to_symmetric(table)
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0)
    assert np.all(drawn > 0)
    again = shrink_to_symmetric(table[np.ix_(order, order)])
    np.testing.assert_allclose(again, drawn[np.ix_(order, order)], atol=1e-12)


def test_even_mistakes_make_few_counts_steady_and_others_are_left_alone():
    rng = np.random.RandomState(0)
    even, flips = noise.symmetric(6, 0.4), noise.pairwise(6, 0.4)
    for matrix, better in ((even, 0.6), (flips, 1.1)):
        error = []
        for _ in range(20):
            table = np.array([rng.multinomial(60, row) for row in matrix], dtype=float)
            plain = table / table.sum(axis=1, keepdims=True)
            error.append([np.abs(c - matrix).mean() for c in (plain, shrink_to_symmetric(table))])
        plain, drawn = np.mean(error, axis=0)
        assert drawn < better * plain


def test_few_counts_of_a_rare_class_lean_on_how_all_classes_err():
    # Of five rows of class 2 four happen to be labelled 0, more often than class 0's own label is
    # wrong: taken at its word, class 2 would take over the rows of class 0.
    few = np.array([[90.0, 6, 4], [7, 91, 2], [4, 0, 1]])
    drawn = counts_shrunk_to_pooled(few)
    shares = drawn / drawn.sum(axis=1, keepdims=True)
    assert few[2, 0] / few[2].sum() > 0.7 and shares[2].argmax() == 2
    np.testing.assert_allclose(shares[:2], few[:2] / 100, atol=0.05)
    assert np.all(counts_shrunk_to_pooled(few) >= few)
    # Where every class errs in its own way, the others say nothing of it.
    own = np.array([[800.0, 200, 0], [0, 800, 200], [500, 0, 500]])
    drawn = counts_shrunk_to_pooled(own)
    np.testing.assert_allclose(drawn / drawn.sum(axis=1, keepdims=True), own / 1000, atol=0.01)


def test_a_class_without_counts_errs_as_the_others_do():
    drawn = shrink_to_symmetric(np.array([[70.0, 30.0, 0.0], [30.0, 70.0, 0.0], [0.0, 0.0, 0.0]]))
    assert drawn[2, 2] == pytest.approx(0.7, abs=0.05)


@pytest.mark.parametrize(("n_left", "taken"), [(10, False), (60, True)])
def test_a_round_that_takes_most_rows_from_a_class_is_not_taken(monkeypatch, n_left, taken):
    rng = np.random.RandomState(0)
    probability, observed = rng.dirichlet([1, 1, 1], size=300), rng.randint(3, size=300)
    first = guess_counts(probability, observed, 0)
    classes = np.r_[np.full(n_left, 2), np.arange(300 - n_left) % 2]
    certain = 0.01 + 0.97 * np.eye(3)[classes]
    monkeypatch.setattr(class_probabilities, "unmix_probabilities", lambda *_: certain)
    assert np.array_equal(guess_counts(probability, observed, 3), first) != taken


def never_class_2(asked):
    """Return a way to find C by which no row is of class 2, whatever its label."""

    def find(measure, weights, matrix, *_):
        asked.append(matrix)
        lost = matrix.copy()
        lost[2] = 1e-9
        return lost

    return find


@pytest.mark.parametrize("trusted", [False, True])
def test_a_matrix_that_loses_a_class_is_taken_back_without_a_trace(trusted, monkeypatch):
    problem = make_problem(0, n=400)
    estimate = confusion.ConfusionEstimate.from_counts(50 * problem.C, range(4))
    y_true = np.where(np.arange(400) % 4 == 0, problem.true, -1) if trusted else None
    asked = []
    monkeypatch.setattr(likelihood, "find_matrix", never_class_2(asked))
    settings = {"refine": True, "noisy_weight": 1.0, "l2": 1e-4, "relabel": 0}
    model = UnconfusedLogisticRegression(estimate, **settings).fit(problem.X, problem.y, y_true)
    assert len(asked) == 1
    np.testing.assert_allclose(model.confusion_, asked[0])
    assert model.class_prior_[2] > 0.05
    fixed = UnconfusedLogisticRegression(estimate, **settings | {"refine": False})
    fixed.fit(problem.X, problem.y, y_true)
    np.testing.assert_array_equal(model.history_["objective"], fixed.history_["objective"])


def test_rounds_work_where_the_last_class_has_no_label():
    problem = make_problem(0, n=200)
    estimate = confusion.ConfusionEstimate.from_counts(50 * problem.C, range(4))
    y = np.where(problem.y == 3, 0, problem.y)
    model = UnconfusedLogisticRegression(estimate, relabel=1, random_state=0).fit(problem.X, y)
    assert model.confusion_.shape == (4, 4)


def test_rounds_that_count_leave_the_matrix_labels_were_judged_by(monkeypatch):
    problem = make_problem(0, n=400)
    estimate = confusion.ConfusionEstimate.from_counts(20 * problem.C, range(4))
    counted = []
    count = _relabel.Evidence.count
    monkeypatch.setattr(
        _relabel.Evidence, "count", lambda *given: counted.append(count(*given)) or counted[-1]
    )
    monkeypatch.setattr(_relabel, "SETTLED", -1.0)  # or it may be counted less often
    settings = {"refine": True, "random_state": 0}
    once = UnconfusedLogisticRegression(estimate, relabel=0, **settings).fit(problem.X, problem.y)
    model = UnconfusedLogisticRegression(estimate, relabel=2, **settings)
    model.fit(problem.X, problem.y)
    assert len(counted) > 2 * _relabel.COUNTS  # a count that settles early ends sooner
    assert any(np.array_equal(model.confusion_, matrix) for matrix in counted)
    # A count that would lose a class is not taken: the matrix of before stays.
    monkeypatch.setattr(_relabel, "loses_a_class", lambda *_: True)
    model.fit(problem.X, problem.y)
    np.testing.assert_array_equal(model.confusion_, once.confusion_)


def test_negative_smoothing_is_refused():
    problem = make_problem(0, n=200)
    with pytest.raises(ValueError, match="smoothing must be at least 0"):
        confusion.from_noisy(problem.X, problem.y, smoothing=-1)
