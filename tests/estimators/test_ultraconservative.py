"""Algorithm 1: the compiled sweeps against plain loops, and the mistake bound."""

import naive
import numpy as np
import pytest
from problems import make_problem
from scipy import sparse

from unconfused import UltraconservativeClassifier, theory
from unconfused.solvers import ultraconservative
from unconfused.steps import STEPS


def full_weights(clf):
    return clf._state.class_weights()


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_same_weights_as_plain_loops(step, average):
    problem = make_problem(1, n=50)
    weights, mistakes = naive.ultraconservative(
        problem.X, problem.y, 4, rule=step, epochs=3, average=average
    )
    for storage in (np.asarray, sparse.csr_matrix, np.asfortranarray):
        clf = UltraconservativeClassifier(
            step=step, average=average, max_iter=3, shuffle=False, fit_intercept=False
        ).fit(storage(problem.X), problem.y)
        np.testing.assert_allclose(full_weights(clf), weights, atol=1e-9)
        assert clf.n_mistakes_ == mistakes


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_the_intercept_is_a_constant_feature(storage):
    problem = make_problem(2, n=50)
    with_ones = np.hstack([problem.X, np.ones((50, 1))])
    weights, _ = naive.ultraconservative(with_ones, problem.y, 4, rule="mira", epochs=2)
    clf = UltraconservativeClassifier(step="mira", max_iter=2, shuffle=False)
    np.testing.assert_allclose(
        full_weights(clf.fit(storage(problem.X), problem.y)), weights, atol=1e-9
    )


def test_partial_fit_is_a_fit_in_parts(monkeypatch):
    monkeypatch.setattr(ultraconservative, "ROWS_PER_CALL", 7)
    problem = make_problem(3, n=50)
    whole = UltraconservativeClassifier(max_iter=1, shuffle=False, average=True)
    whole.fit(problem.X, problem.y)
    parts = UltraconservativeClassifier(average=True)
    for start in range(0, 50, 20):
        rows = slice(start, start + 20)
        parts.partial_fit(problem.X[rows], problem.y[rows], classes=range(4))
    np.testing.assert_allclose(parts.coef_, whole.coef_, atol=1e-12)
    assert parts.n_mistakes_ == whole.n_mistakes_


@pytest.mark.parametrize("step", ["perceptron", "uniform", "proportional"])
@pytest.mark.parametrize("seed", range(4))
def test_the_mistake_bound_holds(step, seed):
    rng = np.random.RandomState(seed)
    X = rng.randn(600, 5)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    W = rng.randn(4, 5)
    scores = np.sort(X @ W.T, axis=1)
    X = X[scores[:, -1] - scores[:, -2] > 0.4]
    y = (X @ W.T).argmax(axis=1)
    margin = theory.margin(W, X, y)
    assert margin > 0
    clf = UltraconservativeClassifier(
        step=step, fit_intercept=False, max_iter=10_000, random_state=seed
    ).fit(X, y)
    assert clf.score(X, y) == 1.0, "an error-free epoch ended the fit"
    assert clf.n_iter_ < 10_000
    assert clf.n_mistakes_ <= theory.mistake_bound(margin, theory.radius(X))


def test_interrupting_leaves_a_usable_model(monkeypatch):
    problem = make_problem(4)
    real = ultraconservative.Ultraconservative._sweep_part
    calls = []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(ultraconservative.Ultraconservative, "_sweep_part", interrupted)
    clf = UltraconservativeClassifier(random_state=0)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(problem.X, problem.y)
    assert clf.n_iter_ == 2
    assert clf.predict(problem.X).shape == (60,)


def test_refusals():
    X = np.zeros((4, 2))
    clf = UltraconservativeClassifier()
    with pytest.raises(ValueError, match="first call to partial_fit"):
        clf.partial_fit(X, [0, 1, 0, 1])
    clf.partial_fit(X, [0, 1, 0, 1], classes=[0, 1])
    with pytest.raises(ValueError, match="differ from those of the first call"):
        clf.partial_fit(X, [0, 1, 0, 1], classes=[0, 2])
    with pytest.raises(ValueError, match="outside the classes: 5"):
        clf.partial_fit(X, [0, 1, 0, 5])
    with pytest.raises(ValueError, match="has changed"):
        clf.set_params(fit_intercept=False).partial_fit(X, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="missing labels"):
        UltraconservativeClassifier().fit(X, ["a", None, "b", "a"])
    with pytest.raises(ValueError, match="at least two classes"):
        UltraconservativeClassifier().fit(X, [1, 1, 1, 1])
    with pytest.raises(TypeError, match="sample_weight"):
        UltraconservativeClassifier().fit(X, [0, 1, 0, 1], sample_weight=[1, 1, 1, 1])


def test_progress_is_said_on_request(capsys):
    problem = make_problem(5)
    UltraconservativeClassifier(max_iter=3, verbose=1).fit(problem.X, problem.y)
    assert "3/3" in capsys.readouterr().err
    UltraconservativeClassifier(max_iter=3).fit(problem.X, problem.y)
    assert capsys.readouterr().err == ""
