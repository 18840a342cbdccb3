"""The confusion matrix from rows that were drawn for checking by their label."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unconfused
from unconfused import ConfusionWarning, UMAClassifier, UnconfusedLogisticRegression, confusion
from unconfused._matrix_labels import aligned_counts

C = np.array([[0.95, 0.03, 0.02], [0.15, 0.8, 0.05], [0.1, 0.1, 0.8]])
SHARES = np.array([0.9, 0.07, 0.03])


def labelled(seed, n=20_000):
    rng = np.random.default_rng(seed)
    truth = rng.choice(3, n, p=SHARES)
    y = (rng.random(n)[:, np.newaxis] > C[truth].cumsum(axis=1)).sum(axis=1)
    return rng, truth, y


def some_of_each_label(rng, truth, y, per_label=200):
    """Check so many rows of every label."""
    y_true = np.full(len(y), np.nan)
    for label in range(3):
        rows = rng.choice(np.flatnonzero(y == label), per_label, replace=False)
        y_true[rows] = truth[rows]
    return y_true


def test_the_case_that_from_trusted_gets_wrong():
    rng, truth, y = labelled(0)
    y_true = some_of_each_label(rng, truth, y)
    assert confusion.from_trusted(y_true, y).matrix[0, 0] < 0.7
    audit = confusion.from_audit(y_true, y)
    assert audit.matrix[0, 0] == pytest.approx(0.95, abs=0.01)
    np.testing.assert_allclose(audit.class_prior, SHARES, atol=0.01)
    assert audit.counts.sum(axis=0).tolist() == [200, 200, 200]
    assert audit.counts.sum() == 600
    assert "600 counts" in repr(audit)


@pytest.mark.slow
def test_unbiased_and_intervals_cover_under_sampling_by_label():
    matrices, priors, covered, sizes = [], [], [], []
    for seed in range(200):
        rng, truth, y = labelled(seed)
        audit = confusion.from_audit(some_of_each_label(rng, truth, y), y)
        matrices.append(audit.matrix)
        priors.append(audit.class_prior)
        sizes.append(audit.effective_counts.sum(axis=1))
        low, high = audit.interval(0.9)
        covered.append((low <= C) & (high >= C))
    # A ratio is unbiased only to first order: the rarest class is seen with label 0 less than once.
    errors = np.std(matrices, axis=0) / np.sqrt(200)
    np.testing.assert_array_less(np.abs(np.mean(matrices, axis=0) - C), 4 * errors + 0.02)
    np.testing.assert_allclose(np.mean(priors, axis=0), SHARES, atol=0.002)
    rates = np.mean(covered, axis=0)
    assert rates.min() > 0.84
    assert 0.87 < rates.mean() < 0.95
    # What the counts are worth as rows of each class: as many as would scatter like this.
    scatter = (C * (1 - C)).sum(axis=1) / np.var(matrices, axis=0).sum(axis=1)
    assert np.all(np.median(sizes, axis=0) < 1.5 * scatter)
    assert np.all(np.median(sizes, axis=0) > scatter / 4)


def test_probabilities_that_depend_on_more_than_the_label():
    """Suspicious rows are drawn ten times as often; that is known, and undone."""
    matrices, covered = [], []
    for seed in range(100):
        rng, truth, y = labelled(seed)
        chance = np.where(rng.random(len(y)) < np.where(truth == y, 0.1, 0.6), 0.3, 0.03)
        y_true = np.where(rng.random(len(y)) < chance, truth, np.nan)
        audit = confusion.from_audit(y_true, y, probability=chance)
        matrices.append(audit.matrix)
        low, high = audit.interval(0.9)
        covered.append((low <= C) & (high >= C))
    np.testing.assert_allclose(np.mean(matrices, axis=0), C, atol=0.02)
    assert 0.84 < np.mean(covered) < 0.96
    plain = confusion.from_trusted(y_true, y).matrix
    assert plain[0, 0] < 0.9


def test_checked_rows_alone_with_probabilities():
    rng, truth, y = labelled(3)
    chance = np.array([0.05, 0.3, 0.5])[y]
    drawn = rng.random(len(y)) < chance
    alone = confusion.from_audit(truth[drawn], y[drawn], probability=chance[drawn])
    np.testing.assert_allclose(alone.matrix, C, atol=0.06)
    assert alone.label_counts.sum() == pytest.approx(len(y), rel=0.05)
    # Known frequencies of the labels are no worse than estimated ones.
    counts = np.bincount(y)
    told = confusion.from_audit(
        truth[drawn], y[drawn], probability=chance[drawn], label_counts=counts
    )
    assert np.all(told.effective_counts.sum(axis=1) >= 0.99 * alone.effective_counts.sum(axis=1))


@given(st.integers(0, 1000), st.booleans())
@settings(max_examples=25)
def test_all_rows_checked_is_from_trusted(seed, weighted):
    rng, truth, y = labelled(seed, 400)
    weight = rng.integers(1, 4, 400).astype(float) if weighted else None
    counts = np.bincount(y, weight, minlength=3)
    if len(np.unique(truth)) < 3:
        return
    trusted = confusion.from_trusted(truth, y, classes=[0, 1, 2], sample_weight=weight)
    audit = confusion.from_audit(
        truth,
        y,
        classes=[0, 1, 2],
        label_counts=counts,
        probability=np.ones(400),
        sample_weight=weight,
    )
    np.testing.assert_allclose(audit.matrix, trusted.matrix)
    np.testing.assert_array_equal(audit.counts, trusted.counts)
    np.testing.assert_allclose(audit.effective_counts, trusted.counts, atol=1e-9)
    assert audit.rare_classes.tolist() == trusted.rare_classes.tolist()
    for ours, theirs in zip(audit.interval(), trusted.interval(), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=0.04)


def test_weights_are_repeated_rows():
    rng, truth, y = labelled(1, 300)
    checked = some_of_each_label(rng, truth, y, 5)
    times = rng.integers(0, 4, 300)
    times[np.isfinite(checked)] += 1
    chance = rng.uniform(0.2, 1, 300)
    chance[np.isnan(checked)] = np.nan
    with pytest.warns(ConfusionWarning, match="probability"):
        weighted = confusion.from_audit(
            checked, y, sample_weight=times, probability=chance, smoothing=1
        )
    with pytest.warns(ConfusionWarning, match="probability"):
        repeated = confusion.from_audit(
            *(np.repeat(part, times) for part in (checked, y)),
            probability=np.repeat(chance, times),
            smoothing=1,
        )
    np.testing.assert_allclose(weighted.matrix, repeated.matrix)
    np.testing.assert_allclose(weighted.effective_counts, repeated.effective_counts)


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_names_order_and_missing_truths(missing):
    y = ["b", "b", "a", "a", "b", "a", None]
    y_true = ["b", "a", "a", missing, missing, "a", "b"]
    by_name = confusion.from_audit(y_true, y, label_counts={"b": 20, "a": 80, None: 3})
    assert by_name.classes.tolist() == ["a", "b"]
    assert by_name.counts.tolist() == [[2, 1], [0, 1]]
    np.testing.assert_allclose(by_name.matrix, [[8 / 9, 1 / 9], [0, 1]])
    np.testing.assert_allclose(by_name.class_prior, [0.9, 0.1])
    in_order = confusion.from_audit(y_true, y, label_counts=[20, 80], classes=["b", "a"])
    np.testing.assert_array_equal(in_order.matrix, by_name.matrix)
    counted = confusion.from_audit(y_true, y)
    assert counted.label_counts.tolist() == [3, 3]


def test_pandas_counts_and_a_class_no_label_shows():
    pd = pytest.importorskip("pandas")
    counts = pd.Series(["x"] * 30 + ["y"] * 10).value_counts()
    audit = confusion.from_audit(["x", "z", "y", "z"], ["x", "x", "y", "y"], label_counts=counts)
    assert audit.classes.tolist() == ["x", "y", "z"]
    np.testing.assert_allclose(audit.matrix, [[1, 0, 0], [0, 1, 0], [0.75, 0.25, 0]])
    low, high = audit.interval()
    assert np.all(low <= audit.matrix)
    assert np.all(audit.matrix <= high)
    assert high[0, 2] == 0  # nobody uses the label z


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "Every row of y was checked.*label_counts.*from_trusted"),
        ({"label_counts": {"a": 1, "b": 9}}, "1 rows are labelled 'a', but 2 such rows"),
        ({"label_counts": [0.4, 0.6]}, "not be shares"),
        ({"label_counts": [4, 6, 7]}, r"one count for each of the 2 classes.*shape \(3,\)"),
        ({"label_counts": [4, np.nan]}, "finite and not negative"),
        ({"label_counts": {"a": 4, "b": 6, "c": 1}}, "class 'c' was checked.*smoothing=1"),
        ({"label_counts": {1: 4, 2: 6}}, "different types"),
        ({"label_counts": {"a": 9, "d": 1}, "classes": ["a", "b"]}, "names 'd', which is not"),
        ({"probability": [0.5, 0.5, 0.0, 0.5]}, "above 0.*label_counts"),
        ({"probability": [0.5]}, "one number per row"),
        ({"sample_weight": [1, 1, 1, -1]}, "sample_weight must"),
        ({"smoothing": -1}, "smoothing must be at least 0"),
        (
            {"label_counts": [9, 9, 0], "classes": ["a", "b", "c"]},
            "class 'c': no checked row",
        ),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        confusion.from_audit(["a", "a", "b", "b"], ["a", "b", "b", "a"], **options)


def test_nothing_checked():
    with pytest.raises(ValueError, match="nothing to count"):
        confusion.from_audit([None, None], ["a", "b"])
    with pytest.raises(ValueError, match="level"):
        confusion.from_audit(["a", "b", None], ["a", "b", "a"]).interval(1)


def test_smoothing_guesses_what_was_not_checked():
    counts = {"a": 10, "b": 10, "c": 5}
    audit = confusion.from_audit(["a", "b"], ["a", "b"], label_counts=counts, smoothing=1)
    np.testing.assert_allclose(audit.matrix.sum(axis=1), 1)
    assert np.all(audit.matrix > 0)


def test_learners_go_by_what_the_counts_are_worth():
    rng, truth, y = labelled(5, 4000)
    audit = confusion.from_audit(some_of_each_label(rng, truth, y, 100), y)
    np.testing.assert_array_equal(aligned_counts(audit, audit.classes), audit.effective_counts)
    X = np.eye(3)[truth] + 0.3 * rng.standard_normal((4000, 3))
    clf = UnconfusedLogisticRegression(audit, l2=1e-3, relabel=0).fit(X, y)
    assert clf.score(X, truth) > 0.97
    found = UMAClassifier(audit, max_iter=3).fit(X, y).confusion_
    np.testing.assert_allclose(found, audit, rtol=1e-12)


def test_can_be_saved_in_a_model(tmp_path):
    rng, truth, y = labelled(6, 2000)
    audit = confusion.from_audit(some_of_each_label(rng, truth, y, 40), y)
    X = np.eye(3)[truth] + 0.3 * rng.standard_normal((2000, 3))
    clf = UnconfusedLogisticRegression(audit, l2=1e-2, relabel=0, tol=1e-2).fit(X, y)
    unconfused.save(clf, tmp_path / "model.unconfused")
    again = unconfused.load(tmp_path / "model.unconfused")
    np.testing.assert_array_equal(again.confusion.effective_counts, audit.effective_counts)


def test_rows_of_unknown_probability_are_not_counted():
    y = np.array(["a"] * 50 + ["b"] * 50)
    truth = np.full(100, None, dtype=object)
    truth[:20], truth[50:70] = "a", "b"
    truth[[3, 60]] = "b", "a"
    chance = np.where(truth == None, np.nan, 0.4)  # noqa: E711
    alone = confusion.from_audit(truth, y, probability=chance)
    suspicious = truth.copy()
    suspicious[20:40] = "b"  # checked because they looked wrong, and they were
    both = confusion.from_audit(suspicious, y, probability=chance)
    np.testing.assert_array_equal(both.matrix, alone.matrix)
    np.testing.assert_array_equal(both.counts, alone.counts)
