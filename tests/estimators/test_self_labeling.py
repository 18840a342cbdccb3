"""Few labels, many unlabelled rows: what SelfLabelingClassifier promises."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.tree import DecisionTreeClassifier

from unconfused import (
    SelfLabelingClassifier,
    UltraconservativeClassifier,
    UMAClassifier,
    UnconfusedLogisticRegression,
)
from unconfused.confusion.estimation.pooled import pooled_matrix
from unconfused.estimators.self_labeling.rounds import calibrated_log_loss

pytestmark = pytest.mark.slow

NAMES = np.array(["ant", "bee", "cow"])


@pytest.fixture(scope="module")
def data():
    """Three classes that overlap a little; 30 of 240 rows are labelled."""
    X, true = make_blobs(240, centers=3, n_features=4, cluster_std=4.0, random_state=3)
    y = np.where(np.arange(240) % 8 == 0, true, -1)
    return X, true, y


def learner(**settings):
    # With C held fixed the fit comes to rest at one place, and results can be compared.
    settings = {"refine": False, "l2": 1e-4, "relabel": 0, "tol": 1e-7, "n_jobs": 1, **settings}
    return UnconfusedLogisticRegression(**settings)


def classifier(labeler=None, **settings):
    # A given weight spares the search for one, which has a test of its own.
    settings = {"learner": learner(noisy_weight=0.3), "random_state": 0, **settings}
    return SelfLabelingClassifier(labeler or LogisticRegression(), **settings)


# What it computes ---------------------------------------------------------------------------------


def test_the_learner_gets_the_labels_and_their_confusion(data):
    X, _, y = data
    clf = classifier(GaussianNB()).fit(X, y)
    known = y >= 0
    labels = GaussianNB().fit(X[known], y[known]).predict(X)
    np.testing.assert_array_equal(clf.labels_, labels)
    assert clf.confusion_.counts.sum() == known.sum(), "every labelled row is counted once"
    truth = np.where(known, y, np.nan)
    alone = learner(confusion=clf.confusion_, noisy_weight=0.3).fit(X, labels, y_true=truth)
    np.testing.assert_allclose(clf.learner_.coef_, alone.coef_)
    np.testing.assert_array_equal(clf.predict(X), alone.predict(X))
    np.testing.assert_allclose(clf.predict_proba(X), alone.predict_proba(X))
    np.testing.assert_allclose(clf.decision_function(X), alone.decision_function(X))


def test_without_the_known_labels_the_learner_sees_the_labeller_only(data):
    X, _, y = data
    clf = classifier(use_known_labels=False).fit(X, y)
    alone = learner(confusion=clf.confusion_, noisy_weight=0.3).fit(X, clf.labels_)
    np.testing.assert_allclose(clf.learner_.coef_, alone.coef_)


def test_all_labels_known_is_the_learner_on_the_truth(data):
    X, true, _ = data
    alone = learner().fit(X, true)
    one_neighbour = classifier(KNeighborsClassifier(1)).fit(X, true)
    np.testing.assert_array_equal(one_neighbour.labels_, true)
    np.testing.assert_allclose(one_neighbour.learner_.coef_, alone.coef_, atol=1e-6)
    uma = classifier(learner=UMAClassifier(n_jobs=1)).fit(X, true).learner_
    np.testing.assert_allclose(uma.coef_, UMAClassifier(n_jobs=1).fit(X, true).coef_)


def test_a_row_is_counted_by_a_labeller_that_never_saw_it(data):
    # One neighbour is always right about rows it has seen: counted there, C would be exact.
    X, _, y = data
    rng = np.random.RandomState(0)
    clf = classifier(KNeighborsClassifier(1), n_rounds=2).fit(rng.randn(*X.shape), y)
    assert np.all(clf.history_["noise_rate"] > 0.3), "features without meaning, in every round"


@pytest.mark.parametrize("known", [True, False])
def test_rounds_label_with_the_last_learner(data, known):
    X, _, y = data
    settings = {"use_known_labels": known, "learner": learner(noisy_weight=1.0)}
    first = classifier(GaussianNB(), **settings).fit(X, y)
    second = classifier(GaussianNB(), n_rounds=2, **settings).fit(X, y)
    np.testing.assert_array_equal(second.labels_, first.predict(X))
    np.testing.assert_allclose(second.labeler_.coef_, first.learner_.coef_)
    assert second.n_rounds_ == 2 and len(second.history_["change"]) == 2
    assert np.isnan(second.history_["change"][0]) and second.history_["change"][1] > 0
    expected = np.mean(second.labels_ != first.labels_)
    assert second.history_["relabelled"][1] == expected


def test_rounds_end_when_the_matrix_settles(data):
    X, _, y = data
    clf = classifier(n_rounds=20).fit(X, y)
    assert clf.n_rounds_ < 20 and clf.history_["change"][-1] < 0.01


def test_rows_set_apart_for_the_matrix(data):
    """The protocol of the paper: some labels train the labeller, others count its mistakes."""
    X, _, y = data
    known = np.flatnonzero(y >= 0)
    apart = np.arange(len(known)) % 2 == 1
    cv = PredefinedSplit(np.where(apart, 0, -1))
    clf = classifier(GaussianNB(), cv=cv, use_known_labels=False).fit(X, y)
    rough = GaussianNB().fit(X[known[~apart]], y[known[~apart]])
    np.testing.assert_array_equal(clf.labels_, rough.predict(X))
    counts = np.zeros((3, 3))
    np.add.at(counts, (y[known[apart]], rough.predict(X[known[apart]])), 1)
    np.testing.assert_array_equal(clf.confusion_.counts, counts)
    share = classifier(GaussianNB(), cv=0.4).fit(X, y)
    assert share.confusion_.counts.sum() == 12


def test_the_better_labeller_and_learner_are_taken(data):
    X, _, y = data

    class Constant(GaussianNB):
        def predict(self, X):
            return np.full(len(X), self.classes_[0])

    clf = classifier([Constant(), GaussianNB(), Constant()]).fit(X, y)
    assert type(clf.labeler_) is GaussianNB
    clf = classifier(learner=[learner(l2=100.0), learner(l2=1e-3), learner(l2=1e4)]).fit(X, y)
    assert clf.learner_.l2 == 1e-3
    with pytest.raises(ValueError, match="nothing to choose from"):
        classifier(learner=[]).fit(X, y)


def test_labels_weigh_little_where_a_matrix_cannot_describe_the_mistakes():
    # One cut cannot tell three classes apart, and errs by where a row lies, not by its class.
    X, true = make_blobs(240, centers=3, n_features=4, cluster_std=2.5, random_state=3)
    y = np.where(np.arange(240) % 8 == 0, true, -1)
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    clf = classifier(stump, learner=learner()).fit(X, y)
    assert clf.learner_.noisy_weight_ == clf.history_["noisy_weight"][0] <= 0.1
    trusting = classifier(stump, learner=learner(noisy_weight=1.0)).fit(X, y)
    assert clf.score(X, true) > trusting.score(X, true) + 0.05


def test_too_sharp_probabilities_are_no_reason_to_reject_a_weight():
    shares = np.array([[0.7, 0.3], [0.4, 0.6], [0.7, 0.3]])
    truth = np.array([0, 1, 1])
    sharp = shares**4 / (shares**4).sum(axis=1, keepdims=True)
    losses = [calibrated_log_loss(one, truth, None) for one in (shares, sharp)]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-3)
    assert calibrated_log_loss(shares[:, ::-1], truth, None) > losses[0]
    twice = calibrated_log_loss(shares, truth, np.array([2.0, 1.0, 1.0]))
    repeated = calibrated_log_loss(shares[[0, 0, 1, 2]], truth[[0, 0, 1, 2]], None)
    np.testing.assert_allclose(twice, repeated)


def test_a_labeller_that_sees_unlabelled_rows(data):
    X, _, y = data
    spread = LabelSpreading(kernel="knn", n_neighbors=7)
    partly = np.where(y >= 0, NAMES.take(y), None)
    clf = classifier(spread).fit(X, partly)
    assert len(clf.labeler_.transduction_) == len(y), "it saw every row"
    expected = NAMES[LabelSpreading(kernel="knn", n_neighbors=7).fit(X, y).predict(X)]
    np.testing.assert_array_equal(clf.labels_, expected)


def test_few_counts_lean_on_those_of_all_classes():
    counts = np.zeros((26, 26))
    np.fill_diagonal(counts, 2)
    counts[0] = 0
    matrix = pooled_matrix(counts, 1.0)
    assert np.linalg.cond(matrix) < 2 and np.all(matrix > 0)
    np.testing.assert_allclose(matrix.sum(axis=1), 1)
    chance = pooled_matrix(np.full((2, 2), 5.0), 1.0)
    assert np.linalg.cond(chance) < 100, "counts without meaning leave an inverse"


# Laws ---------------------------------------------------------------------------------------------


def test_same_seed_same_model(data):
    X, _, y = data
    one, two = (classifier(n_rounds=2).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.learner_.coef_, two.learner_.coef_)
    other = classifier(random_state=1).fit(X, y)
    assert not np.array_equal(one.confusion_.counts, other.confusion_.counts)


def test_row_order_does_not_matter_given_the_folds(data):
    X, _, y = data
    order = np.random.RandomState(0).permutation(len(y))
    known = np.flatnonzero(y >= 0)
    fold = np.full(len(y), -1)
    fold[known] = np.arange(len(known)) % 3
    fits = []
    for rows in (np.arange(len(y)), order):
        labelled = rows[y[rows] >= 0]
        fits.append(classifier(cv=PredefinedSplit(fold[labelled])).fit(X[rows], y[rows]))
    np.testing.assert_allclose(fits[0].learner_.coef_, fits[1].learner_.coef_, atol=1e-4)
    np.testing.assert_array_equal(fits[0].labels_[order], fits[1].labels_)


def test_labels_may_be_strings_and_missing_may_be_written_in_many_ways(data):
    X, _, y = data
    plain = classifier().fit(X, y)
    named = np.where(y >= 0, NAMES.take(y), None)
    for partly in (named, pd.Series(named, dtype="string"), np.where(y < 0, "?", NAMES.take(y))):
        missing = "?" if "?" in set(partly.tolist()) else "auto"
        clf = classifier(missing_label=missing).fit(X, partly)
        np.testing.assert_allclose(clf.learner_.coef_, plain.learner_.coef_)
        np.testing.assert_array_equal(clf.predict(X), NAMES[plain.predict(X)])
    nan = classifier().fit(X, np.where(y < 0, np.nan, y))
    np.testing.assert_allclose(nan.learner_.coef_, plain.learner_.coef_)


def test_two_classes_of_which_one_is_minus_one(data):
    X, true, _ = data
    y = np.where(true == 0, -1, 1)
    clf = classifier().fit(X, y)
    np.testing.assert_array_equal(clf.classes_, [-1, 1])
    partly = np.where(np.arange(len(y)) % 6 == 0, y.astype(float), np.nan)
    clf = classifier().fit(X, partly)
    np.testing.assert_array_equal(clf.classes_, [-1, 1])
    assert clf.score(X, y) > 0.7


def test_sparse_rows_and_frames(data):
    X, _, y = data
    plain = classifier().fit(X, y)
    sparse = classifier().fit(csr_array(X), y)
    np.testing.assert_allclose(sparse.learner_.coef_, plain.learner_.coef_, atol=1e-4)
    frame = pd.DataFrame(X, columns=list("abcd"))
    framed = classifier().fit(frame, y)
    np.testing.assert_array_equal(framed.feature_names_in_, list("abcd"))
    np.testing.assert_array_equal(framed.predict(frame), plain.predict(X))


def test_weights_reach_labeller_count_and_learner(data):
    X, _, y = data
    weight = np.where(np.arange(len(y)) % 16 == 0, 3.0, 1.0)
    clf = classifier().fit(X, y, sample_weight=weight)
    assert clf.confusion_.counts.sum() == weight[y >= 0].sum()
    assert not np.allclose(clf.learner_.coef_, classifier().fit(X, y).learner_.coef_)


@pytest.mark.parametrize("routing", [False, True])
def test_parts_may_be_pipelines(data, routing):
    X, _, y = data
    ends = LogisticRegression(), learner(noisy_weight=0.3)
    labeler, learning = (make_pipeline(StandardScaler(), end) for end in ends)
    weight, known = np.ones(len(y)), y >= 0
    with config_context(enable_metadata_routing=routing):
        clf = classifier(labeler, learner=learning).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(clf.labels_, labeler.fit(X[known], y[known]).predict(X))
    alone = learner(confusion=clf.confusion_, noisy_weight=0.3).fit(
        StandardScaler().fit_transform(X), clf.labels_, y_true=np.where(known, y, np.nan)
    )
    np.testing.assert_allclose(clf.learner_[-1].coef_, alone.coef_)


def test_a_search_scores_on_the_labelled_rows(data):
    X, true, y = data
    search = GridSearchCV(classifier(), {"use_known_labels": [True, False]}, cv=3)
    search.fit(X, y)
    assert search.best_score_ > 0.7
    clf = search.best_estimator_
    known = y >= 0
    assert clf.score(X, y) == np.mean(clf.predict(X)[known] == true[known])
    with pytest.raises(ValueError, match="no label to score against"):
        clf.score(X, np.full(len(y), np.nan))


# Errors -------------------------------------------------------------------------------------------


def test_too_few_labels_are_refused_in_words(data):
    X, _, y = data
    nan = np.full(len(y), np.nan)
    with pytest.raises(ValueError, match="have no label"):
        classifier().fit(X, nan)
    one = nan.copy()
    one[:3] = 1
    with pytest.raises(ValueError, match="show one class"):
        classifier().fit(X, one)
    single = y.copy()
    single[np.flatnonzero(y == 2)[1:]] = -1
    with pytest.raises(ValueError, match="fewer than two labelled rows of class 2"):
        classifier().fit(X, single)
    with pytest.raises(ValueError, match="fewer than two labelled rows of class 0"):
        classifier().fit(X, y, sample_weight=np.where(y == 0, 0.0, 1.0))
    with pytest.raises(ValueError, match="fewer than two labelled rows of class 'zebra'"):
        # A mark the classifier was not told of is a class of its own, and here a rare one.
        classifier().fit(X[:60], ["zebra", *NAMES.take(y[y >= 0].tolist() * 2)[:59]])


class TakesNoTruth(ClassifierMixin, BaseEstimator):
    def __init__(self, confusion=None):
        self.confusion = confusion

    def fit(self, X, y):
        self.classes_, self.said_ = np.unique(y), y[0]
        return self

    def predict(self, X):
        return np.full(len(X), self.said_)


def test_unfit_learners_and_splits_are_refused_in_words(data):
    X, _, y = data
    with pytest.raises(ValueError, match="no parameter `confusion`"):
        classifier(learner=UltraconservativeClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="set use_known_labels=False"):
        classifier(learner=TakesNoTruth()).fit(X, y)
    clf = classifier(learner=TakesNoTruth(), use_known_labels=False).fit(X, y)
    assert not hasattr(clf, "predict_proba") and not hasattr(clf, "decision_function")
    with pytest.raises(ValueError, match="overlap"):
        classifier(cv=[(np.arange(20), np.arange(10, 30))]).fit(X, y)
    twice = (np.arange(20), np.arange(20, 30))
    with pytest.raises(ValueError, match="at most once"):
        classifier(cv=[twice, twice]).fit(X, y)
    of_two = y[y >= 0] == 2
    with pytest.raises(ValueError, match="without a training row of class 2"):
        classifier(cv=[(np.flatnonzero(~of_two), np.flatnonzero(of_two))]).fit(X, y)
