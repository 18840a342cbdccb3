"""Which labels are wrong."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits, make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from unconfused import UnconfusedLogisticRegression, noise
from unconfused.confusion import LabelIssues, from_noisy, rank_label_errors

C = np.array([[0.7, 0.3, 0.0], [0.0, 0.9, 0.1], [0.1, 0.0, 0.9]])


class Posterior(ClassifierMixin, BaseEstimator):
    """A classifier that knows C, and keeps what it was given."""

    seen = ()  # of all clones; emptied by the tests that look

    def fit(self, X, y, y_true=None):
        known = np.arange(len(y)) if y_true is None else np.flatnonzero(~np.equal(y_true, None))
        best = y if y_true is None else np.where(np.equal(y_true, None), y, y_true)
        self.model_ = GaussianNB().fit(X, np.array(best.tolist()))
        self.classes_ = self.model_.classes_
        Posterior.seen = (*Posterior.seen, (len(X), y, y_true, known))
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)

    def label_posterior(self, X, y):
        codes = np.searchsorted(self.classes_, y)
        matrix = 0.8 * np.eye(len(self.classes_)) + 0.2 / len(self.classes_)
        joint = self.predict_proba(X) * matrix[:, codes].T
        return joint / joint.sum(axis=1, keepdims=True)


@pytest.fixture(autouse=True)
def _forget():
    Posterior.seen = ()


def blobs(seed=0, n=300):
    X, truth = make_blobs(n, centers=[[0, 0], [6, 0], [0, 6]], random_state=seed)
    return X, truth, noise.corrupt_labels(truth, C, random_state=seed)


def precision(issues, truth, y):
    return average_precision_score((y != truth)[issues.row], issues.probability)


@pytest.mark.parametrize(
    ("matrix", "least"),
    [
        (noise.pairwise(10, 0.2), 0.95),
        pytest.param(noise.symmetric(10, 0.5), 0.95, marks=pytest.mark.slow),
        pytest.param(noise.pairwise(10, 0.4), 0.8, marks=pytest.mark.slow),
    ],
)
def test_digits_with_a_plain_classifier(matrix, least):
    X, truth = load_digits(return_X_y=True)
    y = noise.corrupt_labels(truth, matrix, random_state=0)
    issues = rank_label_errors(LogisticRegression(max_iter=1000), X / 16, y, random_state=0)
    assert precision(issues, truth, y) > least
    wrong = (y != truth)[issues.row]
    assert np.mean(issues.suggested[wrong] == truth[issues.row][wrong]) > 0.75
    assert issues.expected_errors == pytest.approx(wrong.sum(), rel=0.15)


@pytest.mark.slow
def test_the_posterior_beats_self_confidence_at_pair_flips():
    X, truth = load_digits(return_X_y=True)
    y = noise.corrupt_labels(truth, noise.pairwise(10, 0.2), random_state=1)
    model = LogisticRegression(max_iter=1000)
    ours, simple = (
        precision(rank_label_errors(model, X / 16, y, method=method, random_state=0), truth, y)
        for method in ("posterior", "self_confidence")
    )
    assert ours > simple + 0.1


@given(st.integers(0, 1000))
@settings(max_examples=10)
def test_every_labelled_row_is_ranked_once_by_suspicion(seed):
    X, truth, y = blobs(seed)
    issues = rank_label_errors(GaussianNB(), X, y, random_state=seed)
    assert sorted(issues.row.tolist()) == list(range(len(y)))
    assert np.all(np.diff(issues.probability) <= 0)
    assert issues.probability.min() >= 0 and issues.probability.max() <= 1
    np.testing.assert_array_equal(issues.observed, y[issues.row])
    believed = issues.suggested == issues.observed
    assert np.all(issues.probability[~believed] > 0.3)
    assert precision(issues, truth, y) > 0.85


def test_an_estimator_with_posteriors_is_asked_for_them():
    X, truth, y = blobs()
    issues = rank_label_errors(Posterior(), X, y, random_state=0)
    assert precision(issues, truth, y) > 0.85
    assert [entry[0] for entry in Posterior.seen] == [240] * 15
    assert all(entry[2] is None for entry in Posterior.seen)
    piped = rank_label_errors(make_pipeline(StandardScaler(), Posterior()), X, y, random_state=0)
    np.testing.assert_allclose(piped.probability, issues.probability, atol=1e-6)


def test_trusted_rows_are_passed_on_by_fold_and_not_ranked():
    X, truth, y = blobs()
    gold = np.full(300, None, dtype=object)
    gold[:60] = truth[:60]
    for model in (Posterior(), make_pipeline(StandardScaler(), Posterior())):
        Posterior.seen = ()
        issues = rank_label_errors(model, X, y, y_true=gold, random_state=0)
        assert sorted(issues.row.tolist()) == list(range(60, 300))
        assert [len(known) for *_, known in Posterior.seen] == [60] * 15  # in every fold
        for n_rows, labels, truths, known in Posterior.seen:
            assert n_rows == len(labels) == len(truths)
            assert set(truths[known]) == {0, 1, 2}
    plain = rank_label_errors(GaussianNB(), X, y, y_true=gold, random_state=0)
    assert sorted(plain.row.tolist()) == list(range(60, 300))
    assert precision(plain, truth, y) > 0.9


def test_a_class_with_one_trusted_row_is_in_every_fold():
    X, truth, y = blobs()
    kept = np.sort(np.r_[np.flatnonzero(truth != 2), np.flatnonzero(truth == 2)[:8]])
    X, truth, y = X[kept], truth[kept], y[kept]
    gold = np.where(np.arange(len(y)) % 5 == 0, truth, np.nan)
    gold[truth == 2] = np.nan
    gold[np.flatnonzero(truth == 2)[0]] = 2
    model = UnconfusedLogisticRegression(l2=1e-3, noisy_weight=1.0, relabel=0)
    issues = rank_label_errors(model, X, y, y_true=gold, random_state=0)
    assert len(issues) == np.isnan(gold).sum() and issues.criterion == "posterior"
    assert precision(issues, truth, y) > 0.9


def test_a_single_row_of_a_label_needs_a_trusted_row_beside_it():
    X, truth, y = blobs()
    y = np.where(y == 2, 0, y)
    y[5] = 2
    with pytest.raises(ValueError, match="only one row of class 2"):
        rank_label_errors(GaussianNB(), X, y)
    gold = np.full(300, np.nan)
    gold[np.flatnonzero(truth == 2)[:3]] = 2
    assert len(rank_label_errors(GaussianNB(), X, y, y_true=gold)) == 297 - (truth[5] == 2)


def learnable_mistakes(seed=0, n=600):
    """Labels of a coarse linear rule: mistakes are where the rows are, and can be learnt."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, 3))
    truth = (X[:, 0] + 0.7 * X[:, 1] > 0).astype(int)
    return X, truth, (X[:, 0] - 0.3 * X[:, 1] + 0.2 * rng.standard_normal(n) > 0).astype(int)


@pytest.mark.parametrize("guess", [False, True])
def test_a_guess_that_explains_nothing_gives_way_to_confidence(guess):
    X, truth, y = learnable_mistakes()
    given = from_noisy(X, y, random_state=0) if guess else None
    model = UnconfusedLogisticRegression(given, l2=1e-3)
    issues = rank_label_errors(model, X, y, random_state=0)
    assert issues.criterion == "self_confidence" == issues[:3].criterion
    assert "ranked by self-confidence" in repr(issues)
    plain = rank_label_errors(model, X, y, method="self_confidence", random_state=0)
    assert plain.criterion == "self_confidence"
    assert precision(issues, truth, y) > precision(plain, truth, y) - 0.01
    forced = rank_label_errors(model, X, y, method="posterior", random_state=0)
    assert forced.criterion == "posterior"


@pytest.mark.parametrize("model", [UnconfusedLogisticRegression(), LogisticRegression()])
def test_a_guess_that_explains_the_labels_is_used(model):
    X, truth, y = blobs(n=600)
    issues = rank_label_errors(model, X, y, random_state=0)
    assert issues.criterion == "posterior"
    assert precision(issues, truth, y) > 0.95
    assert issues.expected_errors == pytest.approx(np.sum(y != truth), rel=0.2)


def test_repeated_folds_are_averaged():
    X, _, y = blobs()
    rank_label_errors(Posterior(), X, y, n_repeats=1, random_state=0)
    assert len(Posterior.seen) == 5
    with pytest.raises(ValueError, match="n_repeats must be at least 1"):
        rank_label_errors(GaussianNB(), X, y, n_repeats=0)


def test_missing_labels_are_not_ranked():
    X, truth, y = blobs()
    some = y.astype(object)
    some[:10] = None
    gold = np.full(300, None, dtype=object)
    gold[5:20] = truth[5:20]
    for model in (GaussianNB(), Posterior()):
        issues = rank_label_errors(model, X, some, y_true=gold)
        assert sorted(issues.row.tolist()) == list(range(20, 300))


def test_a_label_seen_too_rarely_for_a_fold():
    X, _, y = blobs()
    names = np.array(["ant", "bee", "cat"])[y].astype(object)
    names[3] = names[4] = "bea"
    folds = np.arange(300) // 150  # both of them in the same test part
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in (0, 1)]
    for model in (Posterior(), GaussianNB()):
        issues = rank_label_errors(model, X, names, cv=splits)
        assert set(issues.row[issues.probability > 0.999].tolist()) >= {3, 4}
        assert "bea" not in issues.suggested[np.isin(issues.row, [3, 4])]


def test_without_cross_fitting_there_is_one_fit():
    X, truth, y = blobs()
    issues = rank_label_errors(Posterior(), X, y, cross_fit=False)
    assert [entry[0] for entry in Posterior.seen] == [300]
    assert precision(issues, truth, y) > 0.85


@pytest.mark.slow
def test_sparse_frames_and_workers_give_the_same():
    pd = pytest.importorskip("pandas")
    X, _, y = blobs()
    model = LogisticRegression()
    expected = rank_label_errors(model, X, y, random_state=3)
    for rows in (sparse.csr_matrix(X), pd.DataFrame(X)):
        got = rank_label_errors(model, rows, pd.Series(y), random_state=3, n_jobs=2)
        np.testing.assert_allclose(got.probability, expected.probability, atol=1e-6)


def test_issues_are_a_small_table():
    issues = LabelIssues(
        np.arange(8), np.array(list("abababab")), np.array(list("bbbbabab")), np.linspace(1, 0, 8)
    )
    assert len(issues) == 8
    assert issues[:2].row.tolist() == [0, 1]
    assert len(issues[issues.probability > 0.5]) == 4
    assert "row 0: label 'a', suggested 'b', P(wrong) 1.000" in repr(issues)
    assert repr(issues).endswith("...")
    assert issues.expected_errors == pytest.approx(4)
    frame = issues.to_frame()
    assert frame.columns.tolist() == ["row", "observed", "suggested", "probability"]
    with pytest.raises(TypeError, match="slices"):
        issues[0]


def test_frames_need_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    issues = LabelIssues(np.array([0]), np.array(["a"]), np.array(["b"]), np.array([0.5]))
    with pytest.raises(ImportError, match="needs pandas"):
        issues.to_frame()


def test_refusals():
    X, _, y = blobs()
    with pytest.raises(ValueError, match="not votes"):
        rank_label_errors(LogisticRegression(), np.eye(2), [[0, 1], [1, 1]])
    with pytest.raises(ValueError, match="neither label_posterior nor predict_proba"):
        rank_label_errors(LinearSVC(), X, y)
    with pytest.raises(ValueError, match="method"):
        rank_label_errors(GaussianNB(), X, y, method="margin")
    with pytest.raises(ValueError, match="300 rows but y has 299"):
        rank_label_errors(GaussianNB(), X, y[1:])
    with pytest.raises(ValueError, match="at least two classes"):
        rank_label_errors(GaussianNB(), X, np.zeros(300, int))
    with pytest.raises(TypeError, match=r"an instance: pass GaussianNB\(\)"):
        rank_label_errors(GaussianNB, X, y)


def test_with_truths_the_posteriors_of_the_average_and_of_its_settings_are_averaged():
    X, truth, y = blobs()
    gold = np.full(300, None, dtype=object)
    gold[:60] = truth[:60]
    model = UnconfusedLogisticRegression(random_state=0)
    given = {"y_true": gold, "n_repeats": 2, "random_state": 0}
    issues = rank_label_errors(model, X, y, **given)
    model.fit(X, y, y_true=gold)
    settings = {"l2": model.l2_, "noisy_weight": model.noisy_weight_, "relabel": 0}
    alone = rank_label_errors(UnconfusedLogisticRegression(**settings), X, y, **given)
    expected = 1 - model.cross_fitted_posterior_[np.arange(300), y]
    assert np.abs(expected[alone.row] - alone.probability).max() > 0.01
    expected[alone.row] = (expected[alone.row] + alone.probability) / 2
    np.testing.assert_allclose(issues.probability, expected[issues.row], atol=1e-9)
