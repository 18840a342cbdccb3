"""How many labels are still wrong, with what certainty, and what more rows would bring."""

import numpy as np
import pytest

from unconfused import UnconfusedLogisticRegression, noise
from unconfused.review import CheckedRows, when_to_stop, wrong_left


def drawn(truth, rows, how="random"):
    y_true, by = np.full(len(truth), None, dtype=object), np.full(len(truth), "", dtype=object)
    y_true[rows], by[rows] = truth[rows], how
    chance = np.where(by == how, len(rows) / len(truth), np.nan)
    return CheckedRows(y_true, chance, by)


@pytest.mark.parametrize("how", ["random", "confusion"])
def test_intervals_cover_the_share_of_wrong_labels(how):
    """Suspicious rows are checked too, and must not move the estimate."""
    rng = np.random.RandomState(0)
    covered, shares = [], []
    for _ in range(150):
        truth = rng.randint(3, size=1000)
        y = noise.corrupt_labels(truth, noise.symmetric(3, 0.2), random_state=rng)
        checked = drawn(truth, rng.choice(1000, 120, replace=False), how)
        wrong = np.flatnonzero((y != truth) & ~checked.known)[:60]
        checked.y_true[wrong] = truth[wrong]
        left = wrong_left(checked, y)
        real = np.mean((y != truth) & ~checked.known)
        assert left.mended == np.sum((y != truth) & checked.known)
        covered.append(left.low <= real <= left.high)
        shares.append(left.share - real)
    assert np.mean(covered) >= 0.9
    assert abs(np.mean(shares)) < 0.01


@pytest.mark.parametrize("how", ["random", "confusion"])
@pytest.mark.parametrize(
    ("right", "of_others", "shorter"), [(0.9, 0.05, 0.7), (0.5, 0.3, 1.0), (0.0, 0.0, 1.0)]
)
def test_a_model_shortens_the_interval_and_cannot_bias_it(how, right, of_others, shorter):
    """Models that are good, that know little, and that take every label as right."""
    rng = np.random.RandomState(0)
    covered, shares, widths = [], [], []
    for _ in range(200):
        truth = rng.randint(3, size=600)
        y = noise.corrupt_labels(truth, noise.symmetric(3, 0.15), random_state=rng)
        model = np.where(y != truth, right, of_others) * rng.uniform(0.7, 1.1, 600)
        checked = drawn(truth, rng.choice(600, 40, replace=False), how)
        chosen = np.flatnonzero(~checked.known & (model > 0.6))[:30]
        checked.y_true[chosen] = truth[chosen]
        alone, left = wrong_left(checked, y), wrong_left(checked, y, model)
        real = np.mean((y != truth) & ~checked.known)
        covered.append(left.low <= real <= left.high)
        shares.append(left.share - real)
        widths.append((left.high - left.low) / (alone.high - alone.low))
    assert np.mean(covered) >= 0.93
    assert abs(np.mean(shares)) < 0.01
    assert np.mean(widths) <= shorter


def test_rows_drawn_with_probabilities_of_their_own_are_weighed_by_them():
    rng = np.random.RandomState(0)
    y, shares = np.repeat(["a", "b"], 1000), []
    wrong = rng.uniform(size=2000) < 0.2
    truth = np.where(wrong, np.where(y == "a", "b", "a"), y).astype(object)
    chance = np.where(wrong, 0.3, 0.05)
    for _ in range(50):
        rows = np.flatnonzero(rng.uniform(size=2000) < chance)
        checked = drawn(truth, rows, "by hand")
        checked.probability[rows] = chance[rows]
        shares.append(wrong_left(checked, y).share + wrong[rows].sum() / 2000)
    assert np.mean(shares) == pytest.approx(wrong.mean(), abs=0.015)


@pytest.mark.parametrize("nothing", [None, ""])
def test_rows_without_a_label_are_no_labels(nothing):
    rng = np.random.RandomState(0)
    truth = rng.choice(["a", "b"], 600).astype(object)
    y = np.where(rng.uniform(size=600) < 0.2, "a", truth).astype(object)
    checked = drawn(truth[:300], np.arange(0, 300, 3))
    alone = wrong_left(checked, y[:300], np.full(300, 0.1))
    more = drawn(truth, np.arange(0, 300, 3))
    y[300:] = nothing
    more.y_true[300:400] = truth[300:400]  # answers on rows that had no label mend none
    wrong = np.where(np.arange(600) < 300, 0.1, 0.0)
    assert wrong_left(more, y, wrong) == alone


def test_without_random_rows_there_is_no_interval():
    y = np.array([0, 1, 1, 0])
    left = wrong_left(drawn(y, [0], "suspicion").__class__(
        np.array([0, None, None, None], dtype=object), np.full(4, np.nan),
        np.array(["suspicion", "", "", ""], dtype=object)), y, np.full(4, 0.5))  # fmt: skip
    assert left.low is None and left.share == pytest.approx(3 / 8)
    assert left.sentence == (
        "Too early to tell how many labels are still wrong: this takes at least 10 rows drawn at "
        "random, and there are 0."
    )


def test_a_few_random_rows_tell_no_share():
    y = np.zeros(100, dtype=int)
    left = wrong_left(drawn(np.ones(100, dtype=int), [0, 1]), y, np.full(100, 0.1))
    assert left.low is None and left.share < 0.2
    assert left.n_random == 2 and left.sentence.startswith("Too early to tell")


def test_a_sentence_says_whether_rows_were_counted_or_the_model_was_corrected():
    truth = np.arange(400) % 4
    y = np.where(np.arange(400) % 5 == 0, (truth + 1) % 4, truth)
    checked = drawn(truth, np.arange(0, 400, 13))
    wrong = np.where(y != truth, 0.95, 0.05)
    counted, corrected = wrong_left(checked, y), wrong_left(checked, y, wrong)
    assert (counted.by_model, corrected.by_model) == (False, True)
    assert "counted on 31 rows drawn at random" in counted.sentence
    assert "predicted by the model, corrected on 31 rows" in corrected.sentence
    assert corrected.high - corrected.low < counted.high - counted.low


def test_the_curve_and_its_sentence():
    rng = np.random.RandomState(0)
    truth = rng.randint(3, size=500)
    X = np.eye(3)[truth] * 1.5 + rng.randn(500, 3)
    y = noise.corrupt_labels(truth, noise.symmetric(3, 0.4), random_state=0)
    checked = drawn(truth, rng.choice(500, 120, replace=False))
    model = UnconfusedLogisticRegression(
        noise.symmetric(3, 0.4), l2=1e-3, noisy_weight=1.0, relabel=0, refine=False
    )
    curve = when_to_stop(model, X, y, checked, more=200, stops=2, cv=2)
    assert curve.checked.tolist() == [0, 60, 120]
    assert np.all(np.diff(curve.wrong) <= 0), "verdicts mend labels"
    assert np.all((curve.wrong_low <= curve.wrong) & (curve.wrong <= curve.wrong_high))
    assert np.all((curve.error > 0) & (curve.error < 0.6) & (curve.error_spread > 0))
    assert curve.sentence.startswith("Another 200 rows would lower the error by about")
    with pytest.raises(ValueError, match="at least 10"):
        when_to_stop(model, X, y, drawn(truth, np.arange(5)))
