"""Labels that are not the classes: a confusion matrix with other columns than rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.naive_bayes import GaussianNB

from unconfused import (
    ConfusionWarning,
    UMAClassifier,
    UnconfusedClassifier,
    UnconfusedDiscriminantAnalysis,
    UnconfusedLogisticRegression,
    confusion,
    load,
    noise,
    save,
    write_report,
)

NAMES = np.array(["ant", "bee", "cow"])
UNSURE = pd.DataFrame(
    [[0.6, 0.1, 0.0, 0.3], [0.0, 0.7, 0.1, 0.2], [0.2, 0.0, 0.4, 0.4]],
    index=NAMES,
    columns=["ant", "bee", "cow", "unsure"],
)
LEARNERS = [
    UnconfusedLogisticRegression(l2=1e-3),
    UMAClassifier(),
    UnconfusedDiscriminantAnalysis(),
]


@pytest.fixture(scope="module")
def rows():
    X, truth = make_blobs(1200, centers=[[0, 0], [4, 0], [0, 4]], random_state=0)
    return X, NAMES[truth]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
def test_learners_see_through_unsure(learner, rows):
    X, truth = rows
    seen = noise.corrupt_labels(truth, UNSURE, random_state=1)
    assert set(seen) == set(UNSURE.columns)
    clf = learner.set_params(confusion=UNSURE).fit(X, seen)
    assert clf.classes_.tolist() == NAMES.tolist()
    assert clf.labels_.tolist() == UNSURE.columns.tolist()
    assert clf.confusion_.shape == (3, 4)
    assert clf.score(X, truth) > 0.95
    assert clf.score(X, seen, y_true=truth) > 0.95
    with pytest.raises(ValueError, match="unsure"):
        clf.score(X, seen)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
def test_a_square_matrix_with_names_of_its_own_is_the_same_model(learner, rows):
    X, truth = rows
    C = noise.pairwise(3, 0.3)
    seen = noise.corrupt_labels(truth, C, random_state=1)
    codes = np.array(["label 2", "label 0", "label 1"])  # sorted otherwise than the classes
    renamed = pd.DataFrame(C, index=NAMES, columns=codes)
    one = learner.set_params(confusion=C).fit(X, seen)
    weights = one.coef_.copy()
    settings = {"relabel": 0} if hasattr(learner, "relabel") else {}
    one = learner.set_params(confusion=C, **settings).fit(X, seen)
    weights = one.coef_.copy()
    two = learner.set_params(confusion=renamed).fit(X, codes[np.searchsorted(NAMES, seen)])
    np.testing.assert_allclose(two.coef_, weights, atol=1e-6)
    learner.set_params(confusion=None)


def test_the_order_of_the_labels_does_not_matter(rows):
    X, truth = rows
    seen = noise.corrupt_labels(truth, UNSURE, random_state=1)
    shuffled = UNSURE.loc[["cow", "ant", "bee"], ["unsure", "cow", "bee", "ant"]]
    models = [UnconfusedLogisticRegression(C, l2=1e-3).fit(X, seen) for C in (UNSURE, shuffled)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


def test_a_label_that_says_nothing_counts_like_no_row(rows):
    X, truth = rows
    C = pd.DataFrame(np.column_stack([0.8 * np.eye(3), np.full(3, 0.2)]), NAMES, UNSURE.columns)
    seen = noise.corrupt_labels(truth, C, random_state=1)
    through = UnconfusedLogisticRegression(C, l2=1e-3, tol=1e-8).fit(X, seen)
    sure = seen != "unsure"
    # The objective is a mean: rows that say nothing count in it.
    l2 = 1e-3 / sure.mean()
    without = UnconfusedLogisticRegression(l2=l2, tol=1e-8).fit(X[sure], seen[sure])
    np.testing.assert_allclose(through.coef_, without.coef_, rtol=1e-3, atol=1e-4)


def test_the_posterior_takes_other_labels(rows):
    X, truth = rows
    seen = noise.corrupt_labels(truth, UNSURE, random_state=1)
    clf = UnconfusedLogisticRegression(UNSURE, l2=1e-3).fit(X, seen)
    shares = clf.predict_proba(X)
    joint = shares * UNSURE.to_numpy()[:, UNSURE.columns.get_indexer(seen)].T
    found = clf.label_posterior(X, seen)
    np.testing.assert_allclose(found, joint / joint.sum(axis=1, keepdims=True), atol=1e-9)
    frame = pd.DataFrame(shares, columns=NAMES)
    alone = confusion.label_posterior(frame, seen, UNSURE, predicts="class", calibrate=False)
    np.testing.assert_allclose(alone, found, atol=1e-6)


def test_labels_that_only_exclude_a_class(rows):
    X, truth = rows
    C = noise.label_sets({f"not {q}": [p for p in NAMES if p != q] for q in NAMES})
    seen = noise.corrupt_labels(truth, C, random_state=1)
    assert UnconfusedLogisticRegression(C, l2=1e-3).fit(X, seen).score(X, truth) > 0.95
    assert UMAClassifier(C).fit(X, seen).score(X, truth) > 0.95


def test_coarse_labels_are_warned_of_and_refused_where_c_is_inverted(rows):
    X, truth = rows
    C = noise.label_sets({"insect": ["ant", "bee"], "mammal": ["cow"]})
    seen = noise.corrupt_labels(truth, C, random_state=1)
    known = np.where(np.arange(len(truth)) % 20 == 0, truth, None)
    with pytest.warns(ConfusionWarning, match=r"ant.*bee"):
        clf = UnconfusedLogisticRegression(C, l2=1e-3).fit(X, seen, y_true=known)
    assert clf.score(X, truth) > 0.95  # trusted rows tell insects apart
    with pytest.raises(ValueError, match=r"ant.*bee"):
        UMAClassifier(C).fit(X, seen)


@pytest.mark.parametrize("learner", LEARNERS[:2], ids=lambda one: type(one).__name__)
def test_trusted_rows_and_weights_go_with_it(learner, rows):
    X, truth = rows
    seen = noise.corrupt_labels(truth, UNSURE, random_state=1)
    known = np.where(np.arange(len(truth)) % 10 == 0, truth, None)
    weight = np.random.default_rng(0).integers(1, 3, len(truth))
    clf = learner.set_params(confusion=UNSURE).fit(X, seen, known, weight)
    assert clf.score(X, truth) > 0.95
    learner.set_params(confusion=None)


@pytest.mark.filterwarnings("ignore::unconfused.ConfusionWarning")
def test_uma_is_averaged_with_models_of_the_trusted_rows(rows):
    X, truth = rows
    X = X + 2.5 * np.random.default_rng(0).normal(size=X.shape)  # or simpler models are not tried
    seen = noise.corrupt_labels(truth, UNSURE, random_state=1)
    known = np.where(np.arange(len(truth)) % 8 == 0, truth, None)
    clf = UMAClassifier(UNSURE).fit(X, seen, known)
    assert clf.confusion_.shape == (3, 4) and clf.score(X, truth) > 0.6


def test_an_array_needs_classes_and_every_label(rows):
    X, truth = rows
    seen = noise.corrupt_labels(truth, UNSURE, random_state=1)
    C = UNSURE.to_numpy()
    named = UnconfusedLogisticRegression(C, classes=NAMES, l2=1e-3).fit(X, seen)
    frame = UnconfusedLogisticRegression(UNSURE, l2=1e-3).fit(X, seen)
    np.testing.assert_array_equal(named.coef_, frame.coef_)
    with pytest.raises(ValueError, match="DataFrame"):
        UnconfusedLogisticRegression(C).fit(X, seen)
    few = np.where(seen == "unsure", "cow", seen)
    with pytest.raises(ValueError, match="DataFrame"):
        UnconfusedLogisticRegression(C, classes=NAMES).fit(X, few)


def test_what_needs_labels_that_are_classes_says_so(rows, tmp_path):
    X, truth = rows
    seen = noise.corrupt_labels(truth, UNSURE, random_state=1)
    clf = UnconfusedLogisticRegression(UNSURE, l2=1e-3)
    with pytest.raises(ValueError, match="neither right nor wrong"):
        confusion.rank_label_errors(clf, X, seen)
    with pytest.raises(ValueError, match="neither right nor wrong"):
        write_report(clf.fit(X, seen), X, seen, tmp_path / "report.html")
    with pytest.raises(ValueError, match="must be classes"):
        UnconfusedClassifier(GaussianNB(), UNSURE).fit(X, seen)
    with pytest.raises(ValueError, match="relabel must be 0"):
        UnconfusedLogisticRegression(UNSURE, relabel=2).fit(X, seen)
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="in memory"):
        clf.fit(da.from_array(X, chunks=(600, 2)), da.from_array(seen, chunks=600))


def test_saved_models_keep_both_names(rows, tmp_path):
    X, truth = rows
    seen = noise.corrupt_labels(truth, UNSURE, random_state=1)
    clf = UnconfusedLogisticRegression(UNSURE, l2=1e-3).fit(X, seen)
    save(clf, tmp_path / "model.unconfused")
    again = load(tmp_path / "model.unconfused")
    np.testing.assert_array_equal(again.label_posterior(X, seen), clf.label_posterior(X, seen))
    np.testing.assert_allclose(again.fit(X, seen).coef_, clf.coef_)


def test_a_fit_with_classes_after_one_with_other_labels_forgets_these(rows):
    X, truth = rows
    seen = noise.corrupt_labels(truth, UNSURE, random_state=1)
    clf = UnconfusedLogisticRegression(UNSURE, l2=1e-3).fit(X, seen)
    clf.set_params(confusion=None, relabel=0).fit(X, truth)
    assert not hasattr(clf, "labels_")
