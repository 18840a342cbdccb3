"""The simulated reviews: what is left to do, areas, and how targets are judged."""

import numpy as np
import pytest
from experiments.review.main import area, compare, early, gather, page, targets
from experiments.review.simulate import CHOSEN, FIELDS, STRATEGIES, Review, cases, in_row_space
from experiments.store import Store
from scipy import sparse

from unconfused import noise


def record(strategy, seed, mended, accuracy):
    return {
        "data": "digits", "noise": "random 0.6", "strategy": strategy, "seed": seed,
        "n_rows": 100, "n_wrong": 60, "checked": [0, 10, 30], "mended": mended,
        "accuracy": accuracy, "confusion": [0.1, 0.15],
        "intervals": [[[0.96, 0.3, 0.01], [0.94, 0.4, 0.0]], [[0.95, 0.1, 0.0], [0.97, 0.2, 0.0]]],
    }  # fmt: skip


@pytest.fixture
def store(tmp_path):
    kept = Store(tmp_path / "review.jsonl", FIELDS)
    for seed in range(3):
        for strategy in (*STRATEGIES, CHOSEN):
            good = strategy != "random"
            mended = [0, 9, 27] if good else [0, 6, 18]
            kept.add(record(strategy, seed, mended, [0.8, 0.85 + 0.05 * good, 0.9]))
    return kept


def test_what_is_done_is_not_done_again(store):
    left = cases(store, ["digits"], 3)
    assert left and not [one for one in left if one.noise == "random 0.6"]


def test_areas_and_targets(store):
    curves = gather(store)
    records = curves["digits", "random 0.6"]
    one = records["mix"][0]
    assert area(one, "mended") == pytest.approx((4.5 * 10 + 18 * 20) / 60 / 30)
    difference, error = compare(records, "random", "accuracy")
    assert difference > 0 and error == pytest.approx(0)
    assert early(one) == (0.9, 0.6)
    met = [how for _, how in targets(curves)]
    assert met == ["2 of 2 curves", "2 of 2", "0 of 0", "1 of 1"]
    assert "| digits | random 0.6 | 0.60 | **0.225** |" in page(curves)
    assert "| digits | random 0.6 | 0.100 | 0.150 |" in page(curves)
    assert "| random 0.6 | 0.96 (0.94) | 0.30 (0.40) | 0.95 (0.97) | 0.10 (0.20) |" in page(curves)


@pytest.mark.parametrize("strategy", ["mix", "random", CHOSEN])
def test_a_review_learns_truths(strategy):
    rng = np.random.RandomState(0)
    truth = rng.randint(3, size=300)
    X = np.eye(3)[truth] * 3 + rng.randn(300, 3)
    y = noise.corrupt_labels(truth, noise.symmetric(3, 0.3), random_state=0)
    review = Review(X, y, truth, 3, seed=0)
    review.check(strategy, 30)
    review.check(strategy, 30)
    assert review.n_checked == 60
    wrong = (y != truth).mean()
    assert review.n_mended > (0.3 if strategy == "random" else 1.5) * 60 * wrong
    assert review.model.score(X, truth) > 0.9
    covered, width, error = np.moveaxis(review.intervals(), -1, 0)
    assert np.all(covered > 0.9) and np.all(width[1] < width[0]) and np.all(abs(error) < 0.05)
    own, without = review.confusion_errors()
    assert own < 0.1 and without < 0.1
    if strategy != CHOSEN:  # random rows count in any case
        assert (own == without) == (strategy == "random")


def test_wide_rows_are_rotated_into_their_own_space():
    rng = np.random.RandomState(0)
    X, X_test = sparse.csr_array(rng.randn(20, 90)), sparse.csr_array(rng.randn(5, 90))
    short, short_test = in_row_space(X, X_test)
    assert short.shape == (20, 20)
    np.testing.assert_allclose(short @ short.T, (X @ X.T).toarray())
    np.testing.assert_allclose(short_test @ short.T, (X_test @ X.T).toarray())
