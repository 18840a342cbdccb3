"""Rows without a label, a vote or a truth."""

import numpy as np
import pytest
from problems import make_problem

from unconfused import (
    ConfusionWarning,
    UMAClassifier,
    UnconfusedDiscriminantAnalysis,
    UnconfusedLogisticRegression,
    noise,
)

LEARNERS = {
    "logistic": lambda C: UnconfusedLogisticRegression(C, l2=0.01, relabel=0),
    "automatic": lambda C: UnconfusedLogisticRegression(C, relabel=0),
    "uma": lambda C: UMAClassifier(C, max_iter=50),
    "discriminant": lambda C: UnconfusedDiscriminantAnalysis(C),
}


@pytest.fixture(scope="module")
def rows():
    problem = make_problem(0, n=400)
    bare = np.random.RandomState(3).uniform(size=400) < 0.4
    return problem, bare, np.where(bare, np.nan, problem.y)


@pytest.mark.filterwarnings("ignore:UMA made no update")
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("trusted", [False, True])
def test_they_do_not_count_without_rounds(name, trusted, rows):
    problem, bare, y = rows
    truth = np.where((np.arange(400) % 4 == 0) & ~bare, problem.true, np.nan)
    given = {"y_true": truth} if trusted else {}
    kept = {"y_true": truth[~bare]} if trusted else {}
    C = None if trusted else problem.C
    model = LEARNERS[name](C).fit(problem.X, y, **given)
    without = LEARNERS[name](C).fit(problem.X[~bare], problem.y[~bare], **kept)
    np.testing.assert_allclose(model.coef_, without.coef_, rtol=0.02, atol=0.02)
    np.testing.assert_allclose(model.class_prior_, without.class_prior_, atol=1e-3)


@pytest.mark.parametrize("name", ["logistic", "discriminant"])
def test_truths_without_any_label_need_no_matrix(name, rows):
    problem, bare, _ = rows
    truth = np.where(bare, np.nan, problem.true)
    model, alone = LEARNERS[name](None), LEARNERS[name](None)
    if name == "logistic":
        model.set_params(noisy_weight=1)
    model.fit(problem.X, np.full(400, np.nan), y_true=truth)
    alone.fit(problem.X[~bare], problem.true[~bare])
    np.testing.assert_allclose(model.coef_, alone.coef_, rtol=0.02, atol=0.02)


def test_rounds_learn_from_them():
    problem = make_problem(2, n=900)  # one where rounds are accepted
    C = noise.symmetric(4, 0.4)
    y = noise.corrupt_labels(problem.true, C, random_state=2).astype(float)
    y[250:] = np.nan
    few = UnconfusedLogisticRegression(C, l2=0.01, relabel=4).fit(problem.X[:250], y[:250])
    all_rows = UnconfusedLogisticRegression(C, l2=0.01, relabel=4).fit(problem.X, y)
    assert all_rows.relabel_ > 0 and all_rows.cross_fitted_posterior_.shape == (900, 4)
    judged = all_rows.cross_fitted_posterior_[250:].argmax(axis=1)
    assert (judged == problem.true[250:]).mean() > few.score(problem.X, problem.true) - 0.05
    assert not np.array_equal(all_rows.coef_, few.coef_)


def test_weights_of_unlabelled_rows_do_not_matter_without_rounds(rows):
    problem, bare, y = rows
    models = [
        UnconfusedLogisticRegression(problem.C, l2=0.01, relabel=0).fit(
            problem.X, y, sample_weight=np.where(bare, weight, 1.0)
        )
        for weight in (1.0, 5.0)
    ]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, atol=1e-9)


def test_minus_one_is_asked_about(rows):
    problem, bare, _ = rows
    y = np.where(bare, -1, problem.y)
    with pytest.warns(ConfusionWarning, match="rows labelled -1 are taken as unlabelled"):
        UnconfusedLogisticRegression(problem.C, l2=0.01, relabel=0).fit(problem.X, y)
    UnconfusedLogisticRegression(problem.C, l2=0.01, relabel=0, missing_label=-1).fit(problem.X, y)


def test_votes_may_be_missing_altogether(rows):
    problem, bare, _ = rows
    votes = np.column_stack(
        [noise.corrupt_labels(problem.true, problem.C, random_state=s) for s in range(3)]
    ).astype(float)
    votes[bare] = np.nan
    model, without = (
        UnconfusedLogisticRegression(l2=0.01, relabel=0).fit(problem.X[kept], votes[kept])
        for kept in (slice(None), ~bare)
    )
    np.testing.assert_allclose(model.coef_, without.coef_, atol=0.02)
    relabelled = UnconfusedLogisticRegression(l2=0.01, relabel=2).fit(problem.X, votes)
    assert relabelled.score(problem.X, problem.true) > 0.85


@pytest.mark.parametrize("name", LEARNERS)
def test_some_row_needs_a_label(name):
    X = np.arange(20.0).reshape(10, 2)
    with pytest.raises(ValueError, match="No row has an observed label"):
        LEARNERS[name](np.eye(2)).set_params(classes=[0, 1]).fit(X, np.full(10, np.nan))


def test_dask_rows_without_labels_count_nothing(rows):
    da = pytest.importorskip("dask.array")
    problem, bare, y = rows
    lazy = [da.from_array(one, chunks=100) for one in (problem.X, y)]
    lazy[0] = lazy[0].rechunk((100, -1))
    model = UnconfusedLogisticRegression(problem.C, l2=0.01, relabel=0).fit(*lazy)
    without = UnconfusedLogisticRegression(problem.C, l2=0.01, relabel=0)
    without.fit(problem.X[~bare], problem.y[~bare])
    np.testing.assert_allclose(model.coef_, without.coef_, atol=0.01)
