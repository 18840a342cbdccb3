"""Settings chosen on rows held out."""

import warnings

import numpy as np
import pytest
from problems import make_problem
from scipy import sparse
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import train_test_split

from unconfused import LabelNoiseWarning, UnconfusedLogisticRegression, noise
from unconfused._matrix import ConfusionWarning
from unconfused.confusion.estimation.calibration import shares_of, stacked
from unconfused.estimators.automatic.average import average
from unconfused.estimators.automatic.held_out import FOLDS, fold_numbers
from unconfused.estimators.automatic.penalty import PENALTIES, USUAL_PENALTY


@pytest.fixture(scope="module")
def digits():
    X, true = load_digits(return_X_y=True)
    X, X_test, true, true_test = train_test_split(X / 16, true, test_size=600, random_state=0)
    return X, true, X_test, true_test


def unit(X):
    return float(np.square(X - X.mean(axis=0)).sum(axis=1).mean())


def some_truths(true, n_known, seed=0):
    truth = np.full(len(true), -1)
    known = np.random.RandomState(seed).permutation(len(true))[:n_known]
    truth[known] = true[known]
    return truth


@pytest.mark.parametrize("confusion", [None, "auto"])
def test_rows_that_are_all_alike_can_be_fitted(confusion):
    y = np.arange(60) % 3
    model = UnconfusedLogisticRegression(confusion).fit(np.ones((60, 2)), y)
    np.testing.assert_allclose(model.predict_proba([[1.0, 1.0]]), 1 / 3, atol=0.01)


def test_copies_of_a_row_are_in_one_fold_and_folds_are_even():
    rng = np.random.RandomState(0)
    keys, strata = rng.randint(40, size=200).astype(float), rng.randint(3, size=200)
    folds = fold_numbers(keys, strata, np.zeros(200, dtype=bool), seed=1)
    for key in np.unique(keys):
        assert len(np.unique(folds[keys == key])) == 1
    sizes = [len(np.unique(keys[folds == fold])) for fold in range(FOLDS)]
    assert np.ptp(sizes) <= 1
    # The same however often a row occurs, and in whatever order.
    once = np.unique(np.column_stack([keys, strata]), axis=0)
    again = fold_numbers(once[:, 0], once[:, 1].astype(int), np.zeros(len(once), dtype=bool), 1)
    for key in np.unique(keys):
        assert set(again[once[:, 0] == key]) == set(folds[keys == key])


@pytest.mark.slow
def test_it_is_as_good_as_the_best_penalty(digits):
    X, true, X_test, true_test = digits
    C = noise.random_confusion(10, strength=0.4, random_state=1)
    y = noise.corrupt_labels(true, C, random_state=1)
    truth = some_truths(true, 75, seed=1)
    clf = UnconfusedLogisticRegression(random_state=0).fit(X, y, y_true=truth)
    best = max(
        UnconfusedLogisticRegression(l2=l2, random_state=0, relabel=0)
        .fit(X, y, y_true=truth)
        .score(X_test, true_test)
        for l2 in (1e-4, 1e-3, 1e-2)
    )
    assert clf.score(X_test, true_test) >= best - 0.01
    assert clf.l2_ in clf.choice_["l2"] and clf.noisy_weight_ in clf.choice_["noisy_weight"]


@pytest.mark.slow
def test_without_noise_it_chooses_as_cross_validation_does(digits):
    X, true, X_test, true_test = digits
    clf = UnconfusedLogisticRegression(random_state=0).fit(X, true)
    penalties = unit(X) * np.array(PENALTIES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of parameters left at their defaults
        theirs = LogisticRegressionCV(
            Cs=1 / (penalties[:6] * len(true)), scoring="neg_log_loss", max_iter=2000
        ).fit(X, true)
    assert clf.score(X_test, true_test) >= theirs.score(X_test, true_test) - 0.01
    assert np.any(np.isclose(clf.l2_, penalties))


def test_features_on_another_scale_are_the_same_problem():
    problem = make_problem(0, n=400)
    models = [
        UnconfusedLogisticRegression(problem.C, relabel=0).fit(scale * problem.X, problem.y)
        for scale in (1.0, 0.1, 10.0)
    ]
    for model, scale in zip(models[1:], (0.1, 10.0), strict=True):
        tried = min(len(model.choice_["l2"]), len(models[0].choice_["l2"]))
        penalties, losses = (
            np.array([one.choice_[name][:tried] for one in (model, models[0])])
            for name in ("l2", "loss")
        )
        np.testing.assert_allclose(penalties[0], scale**2 * penalties[1])
        np.testing.assert_allclose(losses[0], losses[1], atol=0.01)


@pytest.mark.parametrize("given", [True, False])
def test_weights_are_frequencies_in_the_choice_too(given):
    problem = make_problem(1, n=300)
    truth = np.where(np.arange(300) % 3 == 0, problem.true, np.nan)
    weight = np.random.RandomState(0).randint(0, 3, 300)
    clf = UnconfusedLogisticRegression(problem.C if given else None, relabel=0, random_state=0)
    weighted = clone(clf).fit(problem.X, problem.y, y_true=truth, sample_weight=weight)
    rows = np.random.RandomState(1).permutation(np.repeat(np.arange(300), weight))
    repeated = clone(clf).fit(problem.X[rows], problem.y[rows], y_true=truth[rows])
    assert weighted.l2_ == pytest.approx(repeated.l2_)
    assert weighted.noisy_weight_ == repeated.noisy_weight_
    np.testing.assert_allclose(weighted.choice_["loss"], repeated.choice_["loss"], atol=1e-3)


def test_same_seed_same_choice_and_sparse_rows_alike():
    problem = make_problem(2, n=300)
    clf = UnconfusedLogisticRegression(problem.C, relabel=0, random_state=3)
    one, other = (clone(clf).fit(problem.X, problem.y) for _ in range(2))
    np.testing.assert_array_equal(one.coef_, other.coef_)
    on_sparse = clone(clf).fit(sparse.csr_matrix(problem.X), problem.y)
    np.testing.assert_allclose(on_sparse.choice_["loss"], one.choice_["loss"], atol=1e-4)


def test_a_warm_start_keeps_the_choices():
    problem = make_problem(3, n=300)
    truth = np.where(np.arange(300) % 3 == 0, problem.true, np.nan)
    clf = UnconfusedLogisticRegression(relabel=0, random_state=0, warm_start=True)
    clf.fit(problem.X, problem.y, y_true=truth)
    chosen, table = (clf.l2_, clf.noisy_weight_), clf.choice_
    clf.fit(0.5 * problem.X, problem.y, y_true=truth)
    assert (clf.l2_, clf.noisy_weight_) == chosen and clf.choice_ is table
    clf.set_params(l2=0.5).fit(problem.X, problem.y, y_true=truth)
    assert clf.l2_ == 0.5, "a number means that number"


@pytest.mark.slow
def test_votes_choose_the_penalty_too(digits):
    X, true, X_test, true_test = digits
    rng = np.random.RandomState(0)
    X, X_test = (np.hstack([rows, rng.randn(len(rows), 60)]) for rows in (X, X_test))
    votes = np.column_stack(
        [noise.corrupt_labels(true, noise.symmetric(10, 0.4), random_state=k) for k in range(3)]
    )
    model = UnconfusedLogisticRegression(relabel=0, random_state=0)
    chosen = clone(model).fit(X[:800], votes[:800])
    scores = [
        clone(model).set_params(l2=unit(X) * one).fit(X[:800], votes[:800]).score(X_test, true_test)
        for one in (1e-3, 1e-2)
    ]
    assert chosen.score(X_test, true_test) > max(scores) + 0.02
    assert chosen.l2_ == chosen.choice_["l2"][chosen.choice_["loss"].argmin()]
    # Rows that do not count are not there.
    weight = np.where(np.arange(len(X)) < 800, 1.0, 0.0)
    same = clone(model).fit(X, votes, sample_weight=weight)
    assert same.l2_ == pytest.approx(chosen.l2_)


@pytest.mark.slow
def test_labels_are_believed_where_that_predicts_the_truths_best(digits):
    # Hardly any noise, and few truths to count a matrix of: it would be worse than none.
    X, true, X_test, true_test = digits
    y = noise.corrupt_labels(true, noise.symmetric(10, 0.02), random_state=0)
    truth = some_truths(true, 40)
    clf = UnconfusedLogisticRegression(random_state=0).fit(X, y, y_true=truth)
    believing = UnconfusedLogisticRegression(random_state=0)
    with pytest.warns(LabelNoiseWarning, match=r"About [12]\.\d % of the labels"):
        believing.fit(X, np.where(truth < 0, y, truth))
    assert clf.score(X_test, true_test) >= believing.score(X_test, true_test) - 0.01


def test_simple_models_are_taken_if_they_predict_held_out_truths_best(monkeypatch):
    problem = make_problem(1, n=300)
    truth = np.where(np.arange(300) % 3 == 0, problem.true, np.nan)
    clf = UnconfusedLogisticRegression(random_state=0)
    for believed in (True, False):

        def only(members, rows, judging, intercept, kind=(float(believed), believed)):
            shares = np.array([float(m.candidate[1:] == kind) for m in members])
            alone = [m for m, share in zip(members, shares, strict=True) if share]
            weights, _, predicted = average(alone, rows, judging, intercept)
            return weights, shares, predicted

        monkeypatch.setattr("unconfused.estimators.automatic.average.average", only)
        fitted = clone(clf).fit(problem.X, problem.y, y_true=truth)
        assert fitted.noisy_weight_ == float(believed)
        assert fitted.choice_["share"][fitted.choice_["chosen"] > 0] == 1.0
        assert fitted.relabel_ == 0 and not np.array_equal(fitted.confusion_, np.eye(4))
        trusted = ~np.isnan(truth)
        labels = np.where(trusted, truth, problem.y).astype(int)
        rows = slice(None) if believed else trusted
        alone = UnconfusedLogisticRegression(l2=fitted.l2_, relabel=0)
        alone.fit(problem.X[rows], labels[rows])
        ours, theirs = (one.coef_ / np.linalg.norm(one.coef_) for one in (fitted, alone))
        np.testing.assert_allclose(ours, theirs, atol=0.01)  # up to the temperature


def test_shares_follow_the_evidence_and_no_more():
    truth = np.eye(3)[np.arange(900) % 3]
    noise_of_scores = np.random.RandomState(0).randn(2, 900, 3)
    logs = log_softmax(np.array([[2.0], [0.0]])[..., np.newaxis] * truth + noise_of_scores, axis=2)

    def shares(n_rows):
        some = logs[:, :n_rows]
        return shares_of(stacked(some, truth[:n_rows], np.ones(n_rows)), some)

    assert shares(900)[0] > 0.9 and 0.3 < shares(6)[0] < 0.8
    same = logs[[0, 0]]
    np.testing.assert_allclose(shares_of(stacked(same, truth, np.ones(900)), same), [0.5, 0.5])


def test_few_rows_get_the_usual_penalty():
    problem = make_problem(4, n=60)
    clf = UnconfusedLogisticRegression(problem.C).fit(problem.X, problem.y)
    assert clf.l2_ == pytest.approx(USUAL_PENALTY * unit(problem.X))
    assert clf.noisy_weight_ == 1.0 and not hasattr(clf, "choice_")


def test_a_class_without_a_trusted_row_is_learnt_from_its_labels():
    X, truth = load_digits(return_X_y=True)
    C = noise.random_confusion(10, strength=0.5, random_state=1)
    labels = noise.corrupt_labels(truth, C, random_state=0)
    checked = np.full(1000, np.nan)
    rows = np.random.RandomState(0).choice(1000, 150, replace=False)
    rows = rows[truth[rows] != 3]
    checked[rows] = truth[rows]
    with pytest.warns(ConfusionWarning, match="is of class 3; mistakes in its labels"):
        model = UnconfusedLogisticRegression(relabel=0).fit(
            X[:1000] / 16, labels[:1000], y_true=checked
        )
    right = model.predict(X[1000:] / 16) == truth[1000:]
    assert right.mean() > 0.85
    assert right[truth[1000:] == 3].mean() > 0.6
    assert not np.any((model.choice_["noisy_weight"] == 0) & (model.choice_["share"] > 0))


def test_truths_that_leave_out_a_frequent_class_do_not_judge_models():
    X, truth = make_classification(
        1500, 6, n_informative=5, n_redundant=0, n_classes=3, class_sep=1.5, random_state=0
    )
    labels = noise.corrupt_labels(truth, noise.symmetric(3, 0.45), random_state=0)
    checked = np.where((np.arange(1500) % 3 == 0) & (truth != 2), truth, np.nan)
    model = UnconfusedLogisticRegression(relabel=0, random_state=0)
    with pytest.warns(ConfusionWarning):
        model.fit(X, labels, y_true=checked)
    assert model.noisy_weight_ == 1.0
    assert np.mean(model.predict(X) == 2) > 0.05  # judged by truths, it is never predicted


def test_the_search_stops_where_the_penalty_no_longer_matters():
    """Weaker penalties than the best are tried no further than the loss shows a rise."""
    X, truth = load_digits(return_X_y=True)
    labels = noise.corrupt_labels(truth, noise.symmetric(10, 0.5), random_state=0)
    model = UnconfusedLogisticRegression(noise.symmetric(10, 0.5), relabel=0)
    tried = model.fit(X / 16, labels).choice_
    best = int(tried["loss"].argmin())
    assert tried["loss"][tried["chosen"] > 0][0] - tried["loss"][best] <= 1.0 / len(X)
    assert len(tried["l2"]) <= 8


def test_out_of_fold_predictions_of_trusted_rows_are_kept_and_fair(digits):
    X, true, X_test, true_test = digits
    y = noise.corrupt_labels(true, noise.pairwise(10, 0.3), random_state=0)
    truth = some_truths(true, 300)
    clf = UnconfusedLogisticRegression(random_state=0).fit(X, y, y_true=truth)
    kept, known = clf._checked, truth >= 0
    assert np.array_equal(kept.truth, truth) and np.array_equal(kept.predicted >= 0, known)
    right = np.mean(kept.predicted[known] == true[known])
    assert right == pytest.approx(clf.score(X_test, true_test), abs=0.04)
    assert "_checked" not in clf.__getstate__()
    # A class that only one trusted row shows cannot be held out.
    truth[known & (true == 3)] = -1
    truth[np.flatnonzero(true == 3)[0]] = 3
    with pytest.warns(UserWarning, match="no random sample"):
        assert clone(clf).fit(X, y, y_true=truth)._checked is None


def known_in_part(n_rows=450, n_known=90):
    X, true = make_classification(n_rows, 10, n_informative=6, n_classes=3, random_state=0)
    y = noise.corrupt_labels(true, noise.symmetric(3, 0.3), random_state=0)
    return X, y, np.where(np.arange(n_rows) < n_known, true, -1)


def test_models_weighed_by_truths_have_out_of_fold_posteriors_without_rounds():
    X, y, truth = known_in_part()
    alone = np.flatnonzero(truth < 0)[:30]  # each of these rows has a column of its own
    X[alone] = 0.0
    X = np.hstack([X, 30.0 * np.eye(len(X))[:, alone]])
    clf = UnconfusedLogisticRegression(relabel=0, random_state=0).fit(X, y, y_true=truth)
    posterior = clf.cross_fitted_posterior_
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)
    known = truth >= 0
    np.testing.assert_array_equal(posterior[known], np.eye(3)[truth[known]])
    own, fitted = (
        table[np.arange(30), y[alone]]
        for table in (posterior[alone], clf.label_posterior(X[alone], y[alone]))
    )
    assert fitted.min() > own.max()  # the weights of these columns follow the labels


def test_rounds_leave_posteriors_where_not_all_rows_were_held_out():
    X, y, truth = known_in_part(900)
    weight = np.ones(900)
    weight[100:110] = 0.0
    clf = UnconfusedLogisticRegression().fit(X, y, y_true=truth, sample_weight=weight)
    assert clf.relabel_ and clf.cross_fitted_posterior_.shape == (900, 3)
