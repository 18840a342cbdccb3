"""Scores that look past the noise: against trusted rows, and through the confusion matrix."""

import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from problems import make_problem
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unconfused import (
    ConfusionWarning,
    UMAClassifier,
    UnconfusedLogisticRegression,
    confusion,
    metrics,
    noise,
)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "choosing_a_model.md"


def likelihood(C, **settings):
    """Return the likelihood learner with given settings: choosing them takes most of a fit."""
    return UnconfusedLogisticRegression(C, **{"l2": 1e-3, "relabel": 0, **settings})


@pytest.fixture(scope="module")
def problem():
    return make_problem(n=400, Q=3)


@pytest.fixture(scope="module")
def fitted(problem):
    return likelihood(problem.C).fit(problem.X, problem.y)


@pytest.fixture(scope="module")
def some_truth(problem):
    return np.where(np.arange(400) % 4 == 0, problem.true, np.nan)


# --- corrected_accuracy ---


def test_corrected_accuracy_is_unbiased_and_knows_its_error(problem):
    rng = np.random.RandomState(0)
    predicted = np.where(rng.rand(400) < 0.7, problem.true, rng.randint(3, size=400))
    results = []
    for _ in range(400):
        # New rows each time: the error covers which rows were drawn as well as their labels.
        rows = rng.randint(400, size=300)
        y = noise.corrupt_labels(problem.true[rows], problem.C, random_state=rng)
        results.append(metrics.corrected_accuracy(y, predicted[rows], problem.C, return_error=True))
    estimates, errors = np.transpose(results)
    right = np.mean(predicted == problem.true)
    assert abs(estimates.mean() - right) < 4 * estimates.std() / 20
    np.testing.assert_allclose(errors.mean(), estimates.std(), rtol=0.15)


def test_error_covers_the_counts_behind_an_estimate(problem):
    rng = np.random.RandomState(0)
    predicted = np.where(rng.rand(400) < 0.7, problem.true, rng.randint(3, size=400))
    results = []
    for _ in range(400):
        rows, trusted = rng.randint(400, size=300), rng.randint(400, size=150)
        y = noise.corrupt_labels(problem.true[rows], problem.C, random_state=rng)
        seen = noise.corrupt_labels(problem.true[trusted], problem.C, random_state=rng)
        C = confusion.from_trusted(problem.true[trusted], seen)
        results.append(metrics.corrected_accuracy(y, predicted[rows], C, return_error=True))
    estimates, errors = np.transpose(results)
    np.testing.assert_allclose(np.median(errors), estimates.std(), rtol=0.2)


def test_clean_labels_give_the_accuracy():
    y, y_pred = ["a", "b", "b", "c"], ["a", "b", "c", "c"]
    assert metrics.corrected_accuracy(y, y_pred, np.eye(3)) == 0.75


def test_corrected_accuracy_may_leave_the_unit_interval():
    C = [[0.6, 0.4], [0.1, 0.9]]
    assert metrics.corrected_accuracy([0, 1], [0, 1], C) > 1
    assert metrics.corrected_accuracy([0, 1], [1, 0], C) < 0


def test_order_of_the_classes_and_labelled_matrices(problem):
    names = np.array(["u", "v", "w"])
    y, predicted = names[problem.y], names[problem.true]
    expected = metrics.corrected_accuracy(problem.y, problem.true, problem.C)
    frame = pd.DataFrame(problem.C, index=names, columns=names).loc[["w", "u", "v"]]
    turned = problem.C[np.ix_([2, 0, 1], [2, 0, 1])]
    for C, classes in [(problem.C, None), (frame, None), (turned, ["w", "u", "v"])]:
        result = metrics.corrected_accuracy(y, predicted, C, classes=classes)
        assert result == pytest.approx(expected)


def test_weights_are_repeated_rows(problem):
    weight = np.arange(400) % 3
    again = np.repeat(np.arange(400), weight)
    weighted = metrics.corrected_accuracy(
        problem.y, problem.true, problem.C, sample_weight=weight, return_error=True
    )
    repeated = metrics.corrected_accuracy(
        problem.y[again], problem.true[again], problem.C, return_error=True
    )
    assert weighted == pytest.approx(repeated)


def test_rows_without_a_label_are_left_out():
    C = [[0.6, 0.4], [0.1, 0.9]]
    expected = metrics.corrected_accuracy([0, 1], [0, 0], C)
    for y in ([0, None, 1], [0, np.nan, 1], [0, -1, 1]):
        assert metrics.corrected_accuracy(y, [0, 1, 0], C) == pytest.approx(expected)
    # A model that predicts -1 knows it as a class.
    assert metrics.corrected_accuracy([-1, 0, 1], [-1, 0, 0], np.eye(3)) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="no label"):
        metrics.corrected_accuracy([None, None], [0, 1], C)


def test_corrected_accuracy_refuses_in_words():
    with pytest.raises(ValueError, match="singular"):
        metrics.corrected_accuracy([0, 1], [0, 1], [[0.5, 0.5], [0.5, 0.5]])
    with pytest.warns(ConfusionWarning, match="ill-conditioned"):
        metrics.corrected_accuracy([0, 1], [0, 1], [[0.501, 0.499], [0.499, 0.501]])
    with pytest.raises(ValueError, match="y_pred has 3"):
        metrics.corrected_accuracy([0, 1], [0, 1, 1], np.eye(2))
    with pytest.raises(ValueError, match="y_pred must not hold missing"):
        metrics.corrected_accuracy([0, 1], [0, None], np.eye(2))
    with pytest.raises(ValueError, match="positive weight"):
        metrics.corrected_accuracy([0, 1], [0, 1], np.eye(2), sample_weight=[0, 0])


# --- trusted rows ---


def test_trusted_scores_use_only_known_truth(problem, fitted, some_truth):
    known = ~np.isnan(some_truth)
    X, y = problem.X, problem.y
    right = np.mean(fitted.predict(X)[known] == problem.true[known])
    assert metrics.trusted_accuracy(fitted, X, y, some_truth) == pytest.approx(right)
    loss = log_loss(problem.true[known], fitted.predict_proba(X)[known])
    assert metrics.trusted_log_loss(fitted, X, y, y_true=some_truth) == pytest.approx(-loss)
    weight = np.where(np.arange(400) == 0, 1.0, 0.0)
    hit = float(fitted.predict(X[:1])[0] == problem.true[0])
    score = metrics.trusted_accuracy(fitted, X, y, y_true=some_truth, sample_weight=weight)
    assert score == hit


def test_minus_one_is_missing_where_it_is_no_class(problem, fitted, some_truth):
    coded = np.nan_to_num(some_truth, nan=-1).astype(int)
    for scorer in (metrics.trusted_accuracy, metrics.trusted_log_loss):
        expected = scorer(fitted, problem.X, problem.y, some_truth)
        assert scorer(fitted, problem.X, problem.y, coded) == expected


def test_no_truth_is_an_error(problem, fitted):
    X, y = problem.X[:5], problem.y[:5]
    with pytest.raises(ValueError, match="No row here has a known truth"):
        metrics.trusted_accuracy(fitted, X, y, [None] * 5)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        metrics.trusted_accuracy(fitted, X, y)
    with pytest.raises(ValueError, match="X has 5 rows but y has 2"):
        metrics.trusted_log_loss(fitted, X, y, [0, 1])
    with pytest.raises(ValueError, match="different types"):
        metrics.trusted_accuracy(fitted, X, y, ["0", "1", "0", "1", "2"])
    with pytest.raises(ValueError, match="no predict_proba"):
        metrics.trusted_log_loss(UMAClassifier(np.eye(3)).fit(X[:3], [0, 1, 2]), X, y, y)


def test_truth_reaches_scorers_by_routing(problem, some_truth):
    X, y = problem.X, problem.y
    known = ~np.isnan(some_truth)
    scoring = {"accuracy": metrics.trusted_accuracy, "loss": metrics.trusted_log_loss}
    with config_context(enable_metadata_routing=True):
        learner = likelihood(problem.C).set_fit_request(y_true=False)
        pipeline = make_pipeline(StandardScaler(), learner)
        search = GridSearchCV(
            pipeline,
            {"unconfusedlogisticregression__l2": [1e-3, 1.0]},
            scoring=scoring,
            refit="loss",
            cv=KFold(2),
            error_score="raise",
        )
        search = clone(search).fit(X, y, y_true=some_truth)
        aliased = metrics.trusted_accuracy_scorer().set_score_request(y_true="gold")
        scores = cross_val_score(
            learner, X, y, cv=KFold(2), scoring=aliased, params={"gold": some_truth}
        )
    half = learner.fit(X[200:], y[200:])
    right = (half.predict(X[:200]) == problem.true[:200])[known[:200]].mean()
    assert scores[0] == pytest.approx(right)
    assert np.isfinite(search.cv_results_["mean_test_loss"]).all()
    assert search.cv_results_["mean_test_accuracy"].max() > 0.7


def test_truth_is_found_by_row_label_without_routing(problem, some_truth):
    rows = [f"row {i}" for i in range(400)]
    X = pd.DataFrame(problem.X, index=rows).add_prefix("x")
    known = pd.Series(some_truth, index=rows).dropna().astype(int)
    learner = likelihood(problem.C)
    scorer = metrics.trusted_accuracy_scorer(known)
    scores = cross_val_score(learner, X, problem.y, cv=KFold(2), scoring=scorer)
    half = learner.fit(X.iloc[200:], problem.y[200:])
    expected = scorer(half, X.iloc[:200], y_true=some_truth[:200])
    assert scores[0] == pytest.approx(expected)
    labels = pd.Series(problem.y, index=rows)
    half = learner.fit(problem.X[200:], problem.y[200:])
    assert scorer(half, problem.X[:200], labels[:200]) == pytest.approx(expected)
    with pytest.raises(ValueError, match="looked up by row label"):
        scorer(half, problem.X, problem.y)
    with pytest.raises(ValueError, match="duplicate"):
        metrics.trusted_accuracy_scorer(pd.concat([known, known]))(half, X, labels)


# --- through the confusion matrix ---


def test_noisy_log_likelihood_in_plain_loops(problem, fitted):
    P = fitted.predict_proba(problem.X)
    terms = [
        np.log(sum(problem.C[q, k] * P[i, q] for q in range(3))) for i, k in enumerate(problem.y)
    ]
    assert metrics.noisy_log_likelihood(fitted, problem.X, problem.y) == pytest.approx(
        np.mean(terms)
    )
    given = metrics.noisy_log_likelihood_scorer(problem.C[::-1, ::-1], classes=[2, 1, 0])
    assert given(fitted, problem.X, problem.y) == pytest.approx(np.mean(terms))
    some = np.where(np.arange(400) < 10, problem.y, np.nan)
    score = metrics.noisy_log_likelihood(fitted, problem.X, some)
    assert score == pytest.approx(np.mean(terms[:10]))
    with pytest.raises(ValueError, match="observed label"):
        metrics.noisy_log_likelihood(fitted, problem.X, np.full(400, np.nan))


def test_corrected_scorer_takes_the_models_matrix_or_a_given_one(problem, fitted):
    X, y = problem.X, problem.y
    expected = metrics.corrected_accuracy(y, fitted.predict(X), problem.C)
    assert metrics.corrected_accuracy_scorer()(fitted, X, y) == pytest.approx(expected)
    plain = LogisticRegression().fit(X, y)
    expected = metrics.corrected_accuracy(y, plain.predict(X), problem.C)
    scorer = metrics.corrected_accuracy_scorer(problem.C)
    assert scorer(plain, X, y) == pytest.approx(expected)
    with pytest.raises(ValueError, match="LogisticRegression has no confusion_"):
        metrics.corrected_accuracy_scorer()(plain, X, y)


def test_the_matrix_is_found_inside_pipelines_and_searches(problem):
    inner = GridSearchCV(likelihood(problem.C), {"l2": [1e-3]}, cv=2)
    nested = make_pipeline(StandardScaler(), inner).fit(problem.X, problem.y)
    given = metrics.noisy_log_likelihood_scorer(problem.C)(nested, problem.X, problem.y)
    own = metrics.noisy_log_likelihood(nested, problem.X, problem.y)
    assert own == pytest.approx(given)


def test_a_class_the_model_never_met(problem):
    """A rare class can be absent from a training fold; C names it, the model does not."""
    kept = problem.y != 2
    plain = LogisticRegression().fit(problem.X[kept], problem.y[kept])
    for make in (metrics.noisy_log_likelihood_scorer, metrics.corrected_accuracy_scorer):
        scorer = make(problem.C, classes=[0, 1, 2])
        assert np.isfinite(scorer(plain, problem.X, problem.y))
    known = metrics.trusted_accuracy(plain, problem.X, problem.y, problem.true)
    assert known == np.mean(plain.predict(problem.X) == problem.true)


def test_weights_reach_scorers_without_routing(problem):
    scoring = {
        "likelihood": metrics.noisy_log_likelihood,
        "corrected": metrics.corrected_accuracy_scorer(),
    }
    weight = np.where(np.arange(400) % 2, 1.0, 2.0)
    for chosen in (scoring, scoring["corrected"]):
        search = GridSearchCV(likelihood(problem.C), {"l2": [1e-3]}, scoring=chosen, refit=False)
        search.fit(problem.X, problem.y, sample_weight=weight)
    results = cross_validate(
        UMAClassifier(problem.C), problem.X, problem.y, scoring=scoring["corrected"]
    )
    assert np.isfinite(results["test_score"]).all()


def test_scorers_can_be_pickled_and_cloned(problem, fitted):
    scorer = metrics.corrected_accuracy_scorer(problem.C)
    expected = scorer(fitted, problem.X, problem.y)
    for copy in (pickle.loads(pickle.dumps(scorer)), clone(scorer)):
        assert copy(fitted, problem.X, problem.y) == expected


# --- the page ---


@pytest.mark.slow
def test_the_page_runs_and_shows_what_it_says(capsys):
    text = PAGE.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        exec(compile(block, PAGE.name, "exec"), names)
    chosen = names["accuracies"]
    assert chosen["noisy labels"] < 0.7
    assert chosen["likelihood through C"] > 0.84
    assert chosen["accuracy corrected through C"] > 0.84
    printed = capsys.readouterr().out
    shown = re.findall(r"^```text\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert len(shown) >= 4
    assert all(re.sub(r"\d", "#", block) in re.sub(r"\d", "#", printed) for block in shown)
