"""Where a fit of the likelihood starts."""

import numpy as np
import pytest
from problems import make_problem

from unconfused import UnconfusedLogisticRegression, noise
from unconfused.engines import LocalEngine
from unconfused.solvers.likelihood import (
    SCALES,
    Likelihood,
    LikelihoodState,
    _Objective,
    start_at_scaled_means,
)

SETTINGS = Likelihood(1e-3, 1.0, None, 1000, 1e-6)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_is_the_best_multiple_of_the_unmixed_means(seed):
    problem = make_problem(seed, n=1000, diagonal=6.0)
    engine = LocalEngine(problem.X, problem.y, 4)
    means = np.zeros((4, 5))
    for q in range(4):
        share = np.linalg.inv(problem.C)[problem.y, q]
        means[q, :4] = share @ problem.X / share.sum()
    means -= means.mean(axis=0)
    weights = means / np.sqrt((means**2).sum() / 4)
    start = start_at_scaled_means(engine, SETTINGS, problem.C)
    states = [LikelihoodState(scale * weights, problem.C) for scale in SCALES]
    objective = _Objective(SETTINGS, engine, (4, 4))
    objective.matrix = problem.C
    values = [objective(state.weights)[0] for state in states]
    np.testing.assert_allclose(SETTINGS.values(engine, problem.C, weights, SCALES), values)
    np.testing.assert_allclose(start.weights, states[int(np.argmin(values))].weights)
    assert min(values) < values[0]  # better than 0, or nothing is tested
    assert start.n_iter == 0 and start.objective == []


@pytest.mark.parametrize("matrix", [np.eye(4), np.full((4, 4), 0.25), noise.symmetric(4, 0.749)])
def test_it_is_zero_where_the_means_have_nothing_to_say(matrix):
    problem = make_problem(0)
    engine = LocalEngine(problem.X, problem.y, 4)
    assert not start_at_scaled_means(engine, SETTINGS, matrix).weights.any()


def test_it_is_zero_where_a_class_is_lost_in_the_noise():
    problem = make_problem(1, n=1000, diagonal=6.0)
    few = np.delete(np.arange(1000), np.flatnonzero(problem.true == 3)[3:])
    for rows, starts_at_zero in ((slice(None), False), (few, True)):
        engine = LocalEngine(problem.X[rows], problem.y[rows], 4)
        start = start_at_scaled_means(engine, SETTINGS, problem.C)
        assert starts_at_zero == (not start.weights.any())


def test_the_likelihood_goes_on_from_there():
    problem = make_problem(1, n=1000, diagonal=6.0)
    engine = LocalEngine(problem.X, problem.y, 4)
    clf = UnconfusedLogisticRegression(problem.C, l2=1e-3, tol=1e-6)
    clf.fit(problem.X, problem.y)
    state = SETTINGS.run(engine, start_at_scaled_means(engine, SETTINGS, problem.C))
    np.testing.assert_allclose(clf.history_["objective"], state.objective)
    at_zero = SETTINGS.values(engine, problem.C, np.zeros((4, 5)), [1.0])[0]
    assert clf.history_["objective"][0] < at_zero
