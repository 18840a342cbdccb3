"""Any classifier through the confusion matrix: whatever rows it takes, whatever it lacks."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, make_blobs
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    StackingClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC

from unconfused import UnconfusedClassifier, UnconfusedLogisticRegression, noise
from unconfused._matrix import ConfusionWarning
from unconfused.confusion import rank_label_errors
from unconfused.confusion.estimation.calibration import stacked
from unconfused.estimators.wrapping import soft_rounds
from unconfused.estimators.wrapping.soft_rounds import RoundError, SoftRounds
from unconfused.estimators.wrapping.task import open_task

C = noise.pairwise(3, 0.4)


def blobs(n=450, seed=0):
    X, truth = make_blobs(n, centers=3, cluster_std=2.0, random_state=3)
    return X, noise.corrupt_labels(truth, C, random_state=seed), truth


def accuracy(model, X, truth):
    return np.mean(model.predict(X) == truth)


@pytest.mark.parametrize(
    "base",
    [
        ExtraTreesClassifier(20, random_state=0),
        KNeighborsClassifier(7),  # no sample_weight
        LinearSVC(),  # no predict_proba
        make_pipeline(StandardScaler(), GaussianNB()),
    ],
    ids=lambda base: type(base).__name__,
)
def test_errs_less_than_the_classifier_on_noisy_labels(base):
    X, y, truth = blobs(900)
    rows, new = np.arange(900) < 600, np.arange(900) >= 600
    model = UnconfusedClassifier(base, C).fit(X[rows], y[rows])
    believed = accuracy(clone(base).fit(X[rows], y[rows]), X[new], truth[new])
    assert accuracy(model, X[new], truth[new]) > max(0.85, believed)
    assert model.n_fits_ <= 30
    table = model.predict_proba(X[new])
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
    assert abs(table.max(axis=1).mean() - accuracy(model, X[new], truth[new])) < 0.1
    right = np.mean(model.cross_fitted_posterior_.argmax(axis=1) == truth[rows])
    assert right > np.mean(y[rows] == truth[rows]) + 0.2


def test_boosted_trees_on_a_frame_with_categories_and_gaps():
    pd = pytest.importorskip("pandas")
    rng = np.random.RandomState(0)
    town = rng.choice(["Oslo", "Bergen", "Narvik"], 400)
    age = np.where(rng.random_sample(400) < 0.1, np.nan, rng.randint(20, 80, 400))
    truth = np.where((town == "Oslo") ^ (np.nan_to_num(age) > 50), "yes", "no")
    seen = noise.corrupt_labels(truth, noise.symmetric(2, 0.25), random_state=0)
    frame = pd.DataFrame({"town": pd.Categorical(town), "age": age}, index=np.arange(400) + 7)
    boosting = HistGradientBoostingClassifier(
        categorical_features="from_dtype", max_iter=10, random_state=0
    )
    matrix = pd.DataFrame(noise.symmetric(2, 0.25), ["no", "yes"], ["no", "yes"])
    model = UnconfusedClassifier(boosting, matrix, max_rounds=1).fit(frame, pd.Series(seen))
    assert accuracy(model, frame, truth) > 0.9
    assert list(model.feature_names_in_) == ["town", "age"]


def test_texts_sparse_rows_and_images():
    words = np.array([["red", "hot"], ["blue", "cold"]])
    rng = np.random.RandomState(0)
    truth = rng.randint(0, 2, 200)
    texts = [" ".join(rng.choice(words[one], 3)) for one in truth.tolist()]
    seen = noise.corrupt_labels(truth, noise.symmetric(2, 0.3), random_state=0)
    base = make_pipeline(CountVectorizer(), MultinomialNB())
    model = UnconfusedClassifier(base, noise.symmetric(2, 0.3), max_rounds=1).fit(texts, seen)
    assert accuracy(model, texts, truth) == 1.0
    counts = sparse.csr_matrix(CountVectorizer().fit_transform(texts))
    alike = UnconfusedClassifier(MultinomialNB(), noise.symmetric(2, 0.3), max_rounds=1)
    np.testing.assert_array_equal(alike.fit(counts, seen).predict(counts), truth)
    X, digits = load_digits(return_X_y=True)
    images, digits = X[:300].reshape(300, 8, 8), digits[:300]
    flat = make_pipeline(FunctionTransformer(_flatten), GaussianNB())
    matrix = noise.symmetric(10, 0.2)
    wrong = noise.corrupt_labels(digits, matrix, random_state=0)
    model = UnconfusedClassifier(flat, matrix, max_rounds=1).fit(images, wrong)
    assert accuracy(model, images, digits) > 0.8


def _flatten(images):
    return images.reshape(len(images), -1)


def test_without_noise_it_is_the_classifier_itself():
    X, _, truth = blobs(150)
    base = LogisticRegression()
    model = UnconfusedClassifier(base).fit(X, truth)
    np.testing.assert_allclose(
        model.predict_proba(X), base.fit(X, truth).predict_proba(X), atol=1e-9
    )
    assert (model.n_rounds_, model.n_fits_, model.trained_on_) == (0, 1, "labels")
    assert not hasattr(model, "cross_fitted_posterior_")
    np.testing.assert_array_equal(model.confusion_, np.eye(3))
    known = UnconfusedClassifier(base).fit(X, np.roll(truth, 1), y_true=truth)
    np.testing.assert_allclose(known.estimator_.coef_, base.coef_)


def test_trusted_rows_give_the_matrix_and_count_with_their_truth():
    X, y, truth = blobs(600)
    known = np.where(np.arange(600) < 90, truth.astype(float), np.nan)
    model = UnconfusedClassifier(GaussianNB(), random_state=0).fit(X, y, y_true=known)
    np.testing.assert_allclose(model.confusion_, C, atol=0.12)
    np.testing.assert_array_equal(model.cross_fitted_posterior_[:90].argmax(axis=1), truth[:90])
    assert accuracy(model, X, truth) > 0.9 and model.n_fits_ <= 30
    assert model.trained_on_ == "rounds"
    assert model.score(X, y, y_true=known) == accuracy(model, X[:90], truth[:90])


def test_with_trusted_rows_posteriors_are_through_the_matrix_as_counted():
    X, y, truth = blobs(600)
    known = np.where(np.arange(600) < 90, truth.astype(float), np.nan)
    model = UnconfusedClassifier(GaussianNB(), random_state=0).fit(X, y, y_true=known)
    counted = open_task(model, X, y, known, None).evidence
    probability = model._cross_fitted.probability
    posterior = model.cross_fitted_posterior_
    np.testing.assert_allclose(posterior, counted.posterior(probability))
    assert np.abs(counted.matrix - model.confusion_).max() > 0.01  # that one is refined
    refined = counted.through(model.confusion_).posterior(probability)
    assert np.abs(posterior - refined).max() > 0.01


def test_trusted_rows_alone_where_labels_say_nothing_that_is_true():
    X, _, truth = blobs(450)
    known = np.where(np.arange(450) < 150, truth.astype(float), np.nan)
    # Wrong by where a row lies in its class, so that a model can learn the mistakes.
    border = np.array([np.quantile(X[truth == q, 1], 0.6) for q in range(3)])
    y = np.where(X[:, 1] > border[truth], (truth + 1) % 3, truth)
    model = UnconfusedClassifier(GaussianNB(), random_state=0).fit(X, y, y_true=known)
    alone = GaussianNB().fit(X[:150], truth[:150])
    assert accuracy(model, X, truth) > accuracy(alone, X, truth) - 0.03


def test_the_average_errs_less_than_its_parts_where_mistakes_depend_on_rows():
    X, truth = load_digits(return_X_y=True)
    # Labels of a model that saw few rows and a part of the picture: wrong where that looks alike.
    y = GaussianNB().fit(X[:80, :32] + 1, truth[:80]).predict(X[:, :32] + 1)
    known = np.where(np.arange(1100) % 10 == 0, truth[:1100], -1)
    rows, new = slice(1100), slice(1100, None)
    base = KNeighborsClassifier(5)
    model = UnconfusedClassifier(base, max_rounds=1).fit(X[rows], y[rows], y_true=known)
    mixed = base.fit(X[rows], np.where(known >= 0, known, y[rows])).score(X[new], truth[new])
    alone = base.fit(X[rows][known >= 0], truth[rows][known >= 0]).score(X[new], truth[new])
    assert accuracy(model, X[new], truth[new]) > max(mixed, alone)
    assert sum(model.shares_.values()) == pytest.approx(1.0)
    assert model.trained_on_ == max(model.shares_, key=model.shares_.get)
    assert len(model.estimators_) > 1 and model.estimator_ is model.estimators_[0]


@pytest.mark.parametrize("missing", [[2], [1, 2]])
def test_a_class_without_trusted_rows_errs_as_the_others_do(missing):
    X, _, truth = blobs(600)
    y = noise.corrupt_labels(truth, noise.symmetric(3, 0.4), random_state=0)
    checked = (np.arange(600) < 90) & ~np.isin(truth, missing)
    known = np.where(checked, truth.astype(float), np.nan)
    with pytest.warns(ConfusionWarning, match="No trusted row"):
        model = UnconfusedClassifier(GaussianNB(), max_rounds=1).fit(X, y, y_true=known)
    assert accuracy(model, X, truth) > 0.9
    assert np.diag(model.confusion_).min() > 0.4
    assert "trusted" not in model.shares_  # that model does not know all classes


def test_trusted_rows_without_a_label_count_beside_the_labels():
    X, _, truth = blobs(600)
    y = noise.corrupt_labels(truth, noise.pairwise(3, 0.45), random_state=0).astype(object)
    checked = np.arange(600) % 8 == 0
    y[checked] = None
    known = np.where(checked, truth.astype(float), np.nan)
    model = UnconfusedClassifier(GaussianNB(), max_rounds=1).fit(X, y, y_true=known)
    alone = GaussianNB().fit(X[checked], truth[checked]).score(X, truth)
    assert accuracy(model, X, truth) > alone - 0.02
    assert sum(model.shares_.values()) == pytest.approx(1.0)


def test_too_few_trusted_rows_for_the_classifier_are_no_candidate():
    X, y, truth = blobs(300)
    known = np.where(np.arange(300) < 12, truth.astype(float), np.nan)
    base = CalibratedClassifierCV(GaussianNB(), cv=4)
    model = UnconfusedClassifier(base, C, max_rounds=1).fit(X, y, y_true=known)
    assert "trusted" not in model.shares_ and accuracy(model, X, truth) > 0.85


def test_votes():
    X, _, truth = blobs(300)
    wrong = noise.symmetric(3, 0.4)
    votes = np.column_stack([noise.corrupt_labels(truth, wrong, random_state=k) for k in (1, 2, 3)])
    for base in (GaussianNB(), KNeighborsClassifier()):
        model = UnconfusedClassifier(base, max_rounds=1).fit(X, votes)
        assert accuracy(model, X, truth) > 0.9
        assert model.annotator_confusion_.shape == (3, 3, 3)
        posterior = model.label_posterior(X, votes)
        assert np.mean(posterior.argmax(axis=1) == truth) > 0.9
    with pytest.raises(ValueError, match="leave confusion=None"):
        UnconfusedClassifier(GaussianNB(), C).fit(X, votes)


def test_votes_that_mislead_give_way_to_trusted_rows():
    X, _, truth = blobs(450)
    known = np.where(np.arange(450) < 150, truth.astype(float), np.nan)
    border = np.array([np.quantile(X[truth == q, 1], 0.5) for q in range(3)])
    wrong = np.where(X[:, 1] > border[truth], (truth + 1) % 3, truth)  # all are wrong alike
    votes = np.column_stack([wrong, wrong, truth])
    model = UnconfusedClassifier(GaussianNB()).fit(X, votes, y_true=known)
    assert accuracy(model, X, truth) > 0.85 and model.n_fits_ <= 30


def test_votes_of_no_neighbour_are_not_taken_for_impossible():
    X, truth = make_blobs(600, centers=8, cluster_std=1.0, random_state=1)
    mixed = noise.symmetric(8, 0.6)
    y = noise.corrupt_labels(truth, mixed, random_state=0)
    base = KNeighborsClassifier(10)
    unmixed = UnconfusedClassifier(base, mixed, max_rounds=0).fit(X, y)
    # Even noise leaves the likeliest label what it was.
    assert accuracy(unmixed, X, truth) > accuracy(base.fit(X, y), X, truth) - 0.06
    (through,) = [one.unmixing for one in unmixed._components if one.unmixing is not None]
    assert through.calibration.floor > 0


def test_rules_tell_by_their_silence():
    X, _, truth = blobs(400)
    truth = (truth > 0).astype(int)
    rng = np.random.RandomState(0)
    speaks = rng.random_sample((400, 5)) < np.where(truth[:, np.newaxis] == 1, 0.5, 0.03)
    votes = np.where(speaks, 1.0, np.nan)
    votes[:, 0] = np.where(rng.random_sample(400) < 0.3, truth, np.nan)
    model = UnconfusedClassifier(GaussianNB()).fit(X, votes)
    assert accuracy(model, X, truth) > 0.9
    assert np.isnan(model.annotator_silence_[0]).all()
    assert (model.annotator_silence_[1:, 0] > model.annotator_silence_[1:, 1] + 0.2).all()
    posterior = model.label_posterior(X, votes)
    assert np.mean(posterior.argmax(axis=1) == truth) > 0.9


def test_rules_that_fire_together_do_not_make_classes_of_their_own():
    rng = np.random.RandomState(0)
    truth, topic = rng.randint(0, 2, 800), rng.randint(0, 3, 800)
    # A rule is a word, and words go with topics more than with classes.
    chance = np.where(topic[:, np.newaxis] == np.arange(6) % 3, 0.5, 0.05)
    chance = np.where(truth[:, np.newaxis] == np.arange(6) // 3, chance, 0.6 * chance)
    votes = np.where(rng.random_sample((800, 6)) < chance, np.arange(6) // 3, np.nan)
    X = rng.normal(size=(800, 4)) + 1.2 * np.column_stack([truth, truth, topic, topic == 1])
    spoken = ~np.isnan(votes).all(axis=1)
    X, truth, votes = X[spoken], truth[spoken], votes[spoken]
    majority = (np.nanmean(votes, axis=1) > 0.5).astype(int)
    believed = GaussianNB().fit(X, majority)
    model = UnconfusedClassifier(GaussianNB(), max_rounds=1).fit(X, votes)
    assert accuracy(model, X, truth) > accuracy(believed, X, truth) - 0.01


def test_a_guessed_matrix_is_used_where_held_out_labels_support_it():
    X, _, truth = blobs(900)
    y = noise.corrupt_labels(truth, noise.pairwise(3, 0.3), random_state=0)
    forest = ExtraTreesClassifier(20, random_state=0)
    model = UnconfusedClassifier(forest, "auto", max_rounds=2).fit(X[:600], y[:600])
    assert model.n_rounds_ > 0
    np.testing.assert_allclose(np.diag(model.confusion_), 0.7, atol=0.12)
    believed = forest.fit(X[:600], y[:600])
    assert accuracy(model, X[600:], truth[600:]) > accuracy(believed, X[600:], truth[600:]) + 0.1
    with pytest.raises(ValueError, match="automatic"):
        UnconfusedClassifier(forest, "automatic").fit(X, y)


def test_rows_are_left_out_where_mistakes_have_no_direction():
    X, _, truth = blobs(900)
    y = noise.corrupt_labels(truth, noise.symmetric(3, 0.4), random_state=0)
    forest = ExtraTreesClassifier(20, random_state=0)
    model = UnconfusedClassifier(forest, "auto", max_rounds=2).fit(X[:600], y[:600])
    assert model.trained_on_ == "labels" and model.n_fits_ == 4 + 6 + 4 + 2  # no second round
    np.testing.assert_allclose(np.diag(model.confusion_), 0.6, atol=0.12)
    believed = forest.fit(X[:600], y[:600])
    assert accuracy(model, X[600:], truth[600:]) > accuracy(believed, X[600:], truth[600:]) + 0.1


def test_rows_are_not_ranked_by_a_guess_alone_that_labels_do_not_support(monkeypatch):
    never_one = np.array([[150.0, 0.0], [60.0, 90.0]])  # says that no label 1 is wrong
    monkeypatch.setattr(soft_rounds, "guess_counts", lambda *args: never_one)
    monkeypatch.setattr(SoftRounds, "guess_helps", False)
    X, truth = make_blobs(300, centers=[[-2.0, 0.0], [2.0, 0.0]], random_state=0)
    y = noise.corrupt_labels(truth, noise.symmetric(2, 0.2), random_state=0)
    model = UnconfusedClassifier(GaussianNB(), "auto", max_rounds=1).fit(X, y)
    wrong = 1 - model.cross_fitted_posterior_[np.arange(300), y]
    assert (
        wrong[(y == 1) & (truth == 0)].mean() > 0.3 > 0.15 > wrong[(y == 1) & (truth == 1)].mean()
    )


@pytest.mark.parametrize("base", [ExtraTreesClassifier(20, random_state=0), KNeighborsClassifier()])
def test_clean_labels_with_nothing_known_are_kept(base):
    X, truth = make_blobs(900, centers=3, cluster_std=3.0, random_state=3)  # classes overlap
    model = UnconfusedClassifier(base, "auto", max_rounds=1).fit(X[:600], truth[:600])
    own = accuracy(clone(base).fit(X[:600], truth[:600]), X[600:], truth[600:])
    assert accuracy(model, X[600:], truth[600:]) > own - 0.01


def test_believes_labels_where_no_round_could_be_made(monkeypatch):
    def fails(*args):
        raise RoundError

    monkeypatch.setattr(SoftRounds, "_fit_targets", fails)
    X, y, _ = blobs(300)
    model = UnconfusedClassifier(GaussianNB(), "auto").fit(X, y)
    assert model.trained_on_ == "labels"
    np.testing.assert_array_equal(model.confusion_, np.eye(3))
    np.testing.assert_allclose(
        model.predict_proba(X), GaussianNB().fit(X, y).predict_proba(X), atol=1e-9
    )
    assert not hasattr(model, "guessed_confusion_")
    own = model.cross_fitted_posterior_[np.arange(300), y]  # rows are ranked nevertheless
    assert own[y != blobs(300)[2]].mean() < own[y == blobs(300)[2]].mean() - 0.2
    given = UnconfusedClassifier(GaussianNB(), C).fit(X, y)  # unmixed, with no round
    assert given.n_rounds_ == 0 and given.trained_on_ == "labels"
    assert accuracy(given, X, blobs(300)[2]) > 0.85


def test_posterior_of_labels():
    X, y, truth = blobs()
    model = UnconfusedClassifier(GaussianNB(), C, max_rounds=1).fit(X, y)
    posterior = model.label_posterior(X, y)
    own = posterior[np.arange(len(y)), y]
    assert own[y != truth].mean() < 0.2 < 0.8 < own[y == truth].mean()
    missing = model.label_posterior(X[:2], [None, None])
    np.testing.assert_allclose(missing, model.predict_proba(X[:2]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.label_posterior(X[:3], y[:1])
    issues = rank_label_errors(model, X, y, random_state=0)
    assert np.mean((y != truth)[issues.row[:100]]) > 0.9
    wrong = 1 - model.cross_fitted_posterior_[issues.row, y[issues.row]]
    np.testing.assert_allclose(issues.probability, wrong)


def test_weights_reach_the_classifier_and_stand_for_rows():
    X, y, _ = blobs(240)
    weight = np.random.RandomState(0).randint(0, 3, 240)
    repeated = np.repeat(np.arange(240), weight)
    plain = UnconfusedClassifier(make_pipeline(StandardScaler(with_mean=False), GaussianNB()))
    one = clone(plain).fit(X, y, sample_weight=weight)
    assert not np.allclose(one.predict_proba(X), clone(plain).fit(X, y).predict_proba(X))
    through = UnconfusedClassifier(GaussianNB(), C, max_rounds=1)
    twice = clone(through).fit(X, y, sample_weight=np.full(240, 2.0))
    np.testing.assert_allclose(
        twice.predict_proba(X), clone(through).fit(X, y).predict_proba(X), atol=1e-6
    )
    drawn = UnconfusedClassifier(KNeighborsClassifier(1)).fit(X, y, sample_weight=weight)
    assert set(drawn.estimator_._fit_X[:, 0]) <= set(X[repeated, 0])


def test_parameters_inside_can_be_searched():
    X, y, truth = blobs(240)
    known = np.where(np.arange(240) % 4 == 0, truth.astype(float), np.nan)
    model = UnconfusedClassifier(KNeighborsClassifier(), C, max_rounds=1)
    search = GridSearchCV(model, {"estimator__n_neighbors": [1, 25]}, cv=3).fit(X, y)
    assert search.best_params_["estimator__n_neighbors"] == 25
    with config_context(enable_metadata_routing=True):
        routed = clone(model).set_fit_request(y_true=True).set_score_request(y_true=True)
        search = GridSearchCV(routed, {"max_rounds": [0, 1]}, cv=2).fit(X, y, y_true=known)
    assert search.best_score_ > 0.8


@pytest.mark.slow
def test_a_fit_done_twice_or_in_parallel_is_the_same():
    X, y, _ = blobs(200)
    model = UnconfusedClassifier(ExtraTreesClassifier(5), C, max_rounds=1)
    tables = [
        clone(model).set_params(n_jobs=n_jobs).fit(X, y).predict_proba(X) for n_jobs in (1, None, 2)
    ]
    np.testing.assert_array_equal(tables[0], tables[1])
    np.testing.assert_array_equal(tables[0], tables[2])
    copy = pickle.loads(pickle.dumps(model.fit(X, y)))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    assert hasattr(model, "cross_fitted_posterior_")
    assert not hasattr(copy, "cross_fitted_posterior_")


@pytest.mark.parametrize("rounds_made", [0, 2])
def test_ctrl_c_keeps_what_rounds_have_found(monkeypatch, rounds_made):
    X, y, truth = blobs(240)
    fit_targets, made = SoftRounds._fit_targets, []

    def interrupting(self, *args):
        if len(made) == rounds_made:
            raise KeyboardInterrupt
        made.append(1)
        return fit_targets(self, *args)

    monkeypatch.setattr(SoftRounds, "_fit_targets", interrupting)
    model = UnconfusedClassifier(GaussianNB(), C)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.n_rounds_ == rounds_made and accuracy(model, X, truth) > 0.85


def test_ctrl_c_before_any_model_leaves_it_unfitted(monkeypatch):
    def interrupting(self, *args):
        raise KeyboardInterrupt

    monkeypatch.setattr(SoftRounds, "_fit_labels", interrupting)
    X, y, _ = blobs(100)
    model = UnconfusedClassifier(GaussianNB(), C)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "estimator_")


def test_splits_that_were_passed_hold_out_rows_together():
    X, y, truth = blobs(300)
    groups = np.arange(300) // 2 % 3
    splits = [(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in range(3)]
    model = UnconfusedClassifier(GaussianNB(), C, cv=splits, max_rounds=2).fit(X, y)
    assert model.n_fits_ == 3 + 3 + 2 * 3 + len(model.estimators_)
    assert accuracy(model, X, truth) > 0.85
    with pytest.raises(ValueError, match="every row exactly once"):
        model.set_params(cv=splits[:2]).fit(X, y)


def test_progress(capsys):
    X, y, _ = blobs(150)
    UnconfusedClassifier(GaussianNB(), C, max_rounds=1, verbose=1).fit(X, y)
    assert "Relabelling: round" in capsys.readouterr().err


class OnlyPredicts(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.inner_ = GaussianNB().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X):
        return self.inner_.predict(X)


def test_a_classifier_that_says_no_more_than_a_class():
    X, y, truth = blobs(600)
    model = UnconfusedClassifier(OnlyPredicts(), C).fit(X, y)
    assert accuracy(model, X, truth) > 0.85
    assert model.predict_proba(X).max() < 1


def test_a_classifier_that_predicts_only_once_it_is_fitted():
    X, y, truth = blobs(200)
    base = StackingClassifier([("bayes", GaussianNB())], cv=2)
    model = UnconfusedClassifier(base, C, max_rounds=0).fit(X, y)
    assert accuracy(model, X, truth) > 0.85


class NeedsThreeRowsOfEveryClass(GaussianNB):
    """Fails as a cross-validating classifier does where a class is rare."""

    def fit(self, X, y, sample_weight=None):
        if np.unique(y, return_counts=True)[1].min() < 3:
            raise ValueError("A class has fewer than 3 rows.")
        return super().fit(X, y, sample_weight)


def test_a_class_too_rare_for_the_classifier_ends_the_rounds(monkeypatch):
    X, y, truth = blobs(300)
    target = SoftRounds._target
    lost = np.flatnonzero(truth == 2)[2:]  # pseudo-labels that keep two rows of a class

    def rare(self, judged):
        posterior = judged.posterior.copy()
        posterior[lost] = [1.0, 0.0, 0.0]
        return target(self, replace(judged, posterior=posterior))

    monkeypatch.setattr(SoftRounds, "_target", rare)
    model = UnconfusedClassifier(NeedsThreeRowsOfEveryClass(), C).fit(X, y)
    assert model.n_rounds_ <= 1 and accuracy(model, X, truth) > 0.85


def test_what_cannot_be_done_is_said():
    X, y, _ = blobs(60)
    with pytest.raises(ValueError, match="pass the splits"):
        UnconfusedClassifier(GaussianNB(), C, cv=GroupKFold(3)).fit(X, y)
    with pytest.raises(ValueError, match="test every row exactly once"):
        UnconfusedClassifier(GaussianNB(), C, cv=[]).fit(X, y)
    with pytest.raises(ValueError, match="look swapped"):
        UnconfusedClassifier(GaussianNB()).fit(X, np.where(np.arange(60) < 20, y, np.nan), y)
    with pytest.raises(ValueError, match="precomputed kernel"):
        UnconfusedClassifier(SVC(kernel="precomputed")).fit(X @ X.T, y)
    with pytest.raises(ValueError, match="Ridge is a regressor: pass a classifier"):
        UnconfusedClassifier(Ridge()).fit(X, y)
    with pytest.raises(ValueError, match="StandardScaler is a transformer: pass a classifier"):
        UnconfusedClassifier(StandardScaler()).fit(X, y)
    with pytest.raises(ValueError, match="indicator matrix"):
        UnconfusedClassifier(GaussianNB(), C).fit(X, np.eye(3)[y])
    with pytest.raises(ValueError, match="probabilities"):
        UnconfusedClassifier(GaussianNB(), C).fit(X, 0.1 + 0.7 * np.eye(3)[y])
    with pytest.raises(ValueError, match="requires y"):
        UnconfusedClassifier(GaussianNB()).fit(X, None)
    with pytest.raises(ValueError, match="3 x 3 but there are 2 classes"):
        UnconfusedClassifier(GaussianNB(), C).fit(X, y % 2)


def test_few_rows_are_unmixed_without_rounds():
    X, y, _ = blobs(60)
    model = UnconfusedClassifier(GaussianNB(), C).fit(X, y)
    assert model.n_rounds_ == 0 and model.n_fits_ == 5


@pytest.mark.slow
def test_a_forest_beats_the_linear_model_where_boundaries_are_curved():
    X, truth = load_digits(return_X_y=True)
    matrix = noise.pairwise(10, 0.45)
    y = noise.corrupt_labels(truth, matrix, random_state=0)
    forest = ExtraTreesClassifier(30, random_state=0)
    model = UnconfusedClassifier(forest, matrix, max_rounds=2).fit(X[:1300], y[:1300])
    linear = UnconfusedLogisticRegression(matrix, relabel=0).fit(X[:1300] / 16, y[:1300])
    assert model.score(X[1300:], truth[1300:]) > linear.score(X[1300:] / 16, truth[1300:])


def test_where_all_models_mislead_the_least_misleading_is_left():
    truth = np.eye(2)[np.arange(400) % 2]
    wrong, worse = np.log(0.9 - 0.8 * truth), np.log(0.99 - 0.98 * truth)
    np.testing.assert_array_equal(stacked(np.array([worse, wrong]), truth, np.ones(400)), [0, 1])


def test_truths_have_the_last_word_as_far_as_their_number_allows():
    truth = np.eye(2)[np.arange(400) % 2]
    logs = np.log(np.array([0.1 + 0.8 * truth, 0.9 - 0.8 * truth]))  # a right model, a wrong one
    weights = stacked(logs, 1 - truth, np.ones(400))  # labels that agree with the wrong one
    assert weights[0] < 0.01 < weights[1]
    for n_truths, right_leads in ((1, False), (100, True)):
        moved = stacked(logs, truth, np.where(np.arange(400) < n_truths, 2.0, 0.0), weights)
        assert (moved[0] > moved[1]) == right_leads
    np.testing.assert_array_equal(stacked(logs, truth, np.zeros(400), weights), weights)
