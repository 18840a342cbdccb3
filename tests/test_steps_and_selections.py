"""The parts alone: what every step rule and selection strategy must do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import plain_uma
from scipy.optimize import minimize

from unconfused import UltraconservativeClassifier
from unconfused.selection import SELECTIONS, highest_pair
from unconfused.steps import STEPS, snap_ties

CAPPED = {
    "mira": lambda n_classes, squared_norm: 1.0,
    "passive_aggressive": lambda n_classes, squared_norm: squared_norm**-0.5,
    "copa": lambda n_classes, squared_norm: (n_classes - 1) * squared_norm**-0.5,
}
"""Largest step of the target, for rules where it is not always 1."""

numbers = st.floats(-3, 3).filter(lambda v: v == 0 or abs(v) > 1e-3)


@given(
    st.lists(numbers, min_size=2, max_size=6).flatmap(
        lambda scores: st.tuples(
            st.just(scores),
            st.integers(0, len(scores) - 1),
            st.integers(0, len(scores) - 1),
        )
    ),
    st.sampled_from(sorted(STEPS)),
    st.floats(0.1, 4),
)
def test_every_step_is_ultraconservative(case, name, squared_norm):
    scores, target, predicted = np.array(case[0]), case[1], case[2]
    if not snap_ties(scores, target, 1.0):
        return
    steps = STEPS[name](scores.copy(), target, predicted, squared_norm)
    errors = (scores >= scores[target]) & (np.arange(len(scores)) != target)
    assert abs(steps.sum()) < 1e-9
    assert steps[target] > 0
    assert np.all(steps[errors] <= 0)
    outside = ~errors
    outside[target] = False
    assert np.all(steps[outside] == 0)
    if name in CAPPED:
        assert steps[target] <= CAPPED[name](len(scores), squared_norm) + 1e-12
    else:
        assert steps[target] == 1


def test_copa_lowers_every_confused_class_to_its_bound():
    rng = np.random.RandomState(0)
    for _ in range(20):
        W, z = 0.3 * rng.randn(5, 4), rng.randn(4)
        W -= W.mean(axis=0)
        z /= np.linalg.norm(z)
        scores = W @ z
        target = int(np.argmin(scores))
        steps = STEPS["copa"](scores, target, int(np.argmax(scores)), 1.0)
        if scores.max() < 3 / 4:  # or it is capped
            after, before = np.delete(scores + steps, target), np.delete(scores, target)
            np.testing.assert_allclose(after, np.minimum(before, -1 / 4))
            assert (scores + steps)[target] >= 1 - 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_mira_solves_its_problem(seed):
    rng = np.random.RandomState(seed)
    W, z, target = rng.randn(5, 3), rng.randn(3), seed % 5
    scores = W @ z
    if scores[target] == scores.max():
        target = int(np.argmin(scores))
    found = STEPS["mira"](scores, target, 0, float(z @ z))
    bounds = [(None, float(r == target)) for r in range(5)]
    best = minimize(
        lambda tau: np.sum((W + np.outer(tau, z)) ** 2),
        np.zeros(5),
        bounds=bounds,
        constraints={"type": "eq", "fun": np.sum},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(found, best.x, atol=1e-5)


@pytest.mark.parametrize("excess", [1e20, np.inf])
def test_mira_steps_by_one_at_most_on_tiny_vectors(excess):
    scores = np.array([excess, 0.0, 5.0])
    if np.isfinite(excess):
        assert STEPS["mira"](scores, 1, 0, 1e-3).tolist() == [-1, 1, 0]
    else:  # what overflows is refused elsewhere: compiled, an empty list must not be indexed
        with np.errstate(invalid="ignore"):
            STEPS["mira"](scores, 1, 0, 1e-3)


def test_mira_learns_online_from_rows_of_very_different_lengths():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X @ rng.normal(size=(3, 3))).argmax(axis=1)
    X[::7] *= 1e-20
    y[::7] = rng.integers(3, size=len(y[::7]))
    model = UltraconservativeClassifier(step="mira", fit_intercept=False, max_iter=20)
    model.set_params(random_state=0).fit(X, y)
    assert np.abs(model.coef_).max() < 100 and model.score(X, y) > 0.8


def test_the_perceptron_steps_down_elsewhere_when_the_predicted_class_made_no_error():
    steps = STEPS["perceptron"](np.array([0.0, 1.0, 2.0, 3.0]), 1, 0, 1.0)
    assert steps.tolist() == [0, 1, 0, -1]


@pytest.mark.slow
def test_a_rule_of_ones_own_works_in_both_learners():
    def half_and_half(scores, target, predicted, squared_norm):
        return STEPS["uniform"](scores, target, predicted, squared_norm) / 2

    rng = np.random.RandomState(0)
    X, y = rng.randn(60, 3), rng.randint(3, size=60)
    whole = plain_uma(step="uniform", tol=1e-3, max_iter=9).fit(X, y)
    half = plain_uma(step=half_and_half, tol=1e-3, max_iter=9).fit(X, y)
    np.testing.assert_allclose(half.coef_, whole.coef_ / 2)
    settings = {"max_iter": 2, "shuffle": False, "average": True}
    online = UltraconservativeClassifier(step="uniform", **settings).fit(X, y)
    halved = UltraconservativeClassifier(step=half_and_half, **settings).fit(X, y)
    np.testing.assert_allclose(halved.coef_, online.coef_ / 2)
    assert halved.n_mistakes_ == online.n_mistakes_


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([1.0, -1.0], "3 finite numbers"),
        ([1.0, np.nan, -1.0], "3 finite numbers"),
        ([1.0, 1.0, 1.0], "sum to zero"),
        ([-1.0, -1.0, 2.0], "may have a positive step"),
    ],
)
def test_a_rule_that_breaks_the_contract_is_told_so(answer, message):
    X, y = np.eye(3).repeat(5, axis=0), [0] * 5 + [1] * 5 + [2] * 5
    with pytest.raises(ValueError, match=message):
        plain_uma(step=lambda *_: np.array(answer)).fit(X, y)


def test_selections_choose_among_what_is_offered():
    norms = np.array([[0.0, 0.5, 0.4], [0.3, 0.0, 0.9], [0.2, 0.1, 0.0]])
    offered = (norms > 0.15) & (norms < 0.8)
    prior = np.array([0.1, 0.6, 0.3])
    rng = np.random.RandomState(0)
    assert SELECTIONS["error"](norms, prior, offered, rng) == (0, 1)
    assert SELECTIONS["confusion"](norms, prior, offered, rng) == (1, 0)
    drawn = {SELECTIONS["random"](norms, prior, offered, rng) for _ in range(200)}
    assert drawn == {(0, 1), (0, 2), (1, 0), (2, 0)}


def test_ties_go_to_the_lowest_pair():
    norms = np.array([[0.0, 0.3], [0.3 * (1 + 1e-14), 0.0]])
    assert SELECTIONS["error"](norms, np.ones(2), norms > 0, np.random.RandomState(0)) == (0, 1)


def test_negative_criteria_are_compared_too():
    criterion = np.array([[0.0, -0.3], [-0.2, 0.0]])
    assert highest_pair(criterion, criterion < 0) == (1, 0)


def test_a_selection_that_breaks_the_contract_is_told_so():
    X, y = np.eye(3).repeat(5, axis=0), [0] * 5 + [1] * 5 + [2] * 5
    with pytest.raises(ValueError, match=r"chose \(0, 0\)"):
        plain_uma(selection=lambda *_: (0, 0)).fit(X, y)
    for answer in (None, (50, 0), (1, 2, 3)):
        with pytest.raises(ValueError, match="not one of the pairs"):
            plain_uma(selection=lambda *_, answer=answer: answer).fit(X, y)


def test_a_selection_of_ones_own():
    def last(norms, prior, selectable, rng):
        return tuple(int(i) for i in np.argwhere(selectable)[-1])

    rng = np.random.RandomState(0)
    X, y = rng.randn(60, 3), rng.randint(3, size=60)
    clf = plain_uma(selection=last, tol=1e-3, max_iter=1).fit(X, y)
    assert (clf.history_["predicted"][0], clf.history_["true"][0]) == (2, 1)
