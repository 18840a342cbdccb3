"""Votes of several annotators: how they are held, and what is learnt from them."""

import time
import warnings

import numpy as np
import pytest
from dataset_files import local_data
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from unconfused import UMAClassifier, noise
from unconfused._matrix import ConfusionWarning
from unconfused.confusion import from_annotators, from_trusted, votes_from_long
from unconfused.confusion._dawid_skene import shrink
from unconfused.confusion.votes import votes_from_wide
from unconfused.datasets import fetch_music_genre

GOOD = np.array([[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.0, 0.05, 0.95]])
POOR = np.array([[0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.1, 0.4, 0.5]])


def make_crowd(seed, n_items=60, matrices=(GOOD, GOOD, POOR, POOR), answered=0.7):
    """Draw a truth and a table of votes, None where an annotator did not answer."""
    rng = np.random.RandomState(seed)
    truth = rng.randint(3, size=n_items)
    table = np.full((n_items, len(matrices)), None, dtype=object)
    for column, matrix in enumerate(matrices):
        drawn = noise.corrupt_labels(truth, matrix, random_state=rng, classes=[0, 1, 2])
        heard = rng.random_sample(n_items) < answered
        table[heard, column] = drawn[heard]
    # Every item and every class is seen, so that no test meets the warnings by chance.
    table[:, 0] = noise.corrupt_labels(truth, matrices[0], random_state=rng, classes=[0, 1, 2])
    table[:3, 0] = [0, 1, 2]
    return truth, table


def settled(votes, **settings):
    return from_annotators(votes, max_iter=5000, **settings)


# Votes


def test_long_votes_become_a_table_and_back():
    votes = votes_from_long(
        ["s2", "s1", "s2", "s3"],
        [5, 5, 3, 3],
        ["pop", "jazz", "jazz", None],
        items=["s1", "s2", "s3", "s4"],
    )
    assert votes.items.tolist() == ["s1", "s2", "s3", "s4"]
    assert votes.annotators.tolist() == [3, 5]
    assert votes.classes.tolist() == ["jazz", "pop"]
    table = votes.to_wide()
    assert table.tolist() == [[None, "jazz"], ["jazz", "pop"], [None, None], [None, None]]
    assert votes.to_wide("?")[3, 0] == "?"
    assert votes.tally.tolist() == [[1, 0], [1, 1], [0, 0], [0, 0]]
    again = votes_from_wide(table)
    assert again.to_wide().tolist() == table.tolist()


def test_without_items_those_found_are_sorted():
    votes = votes_from_long(["b", "a", "c"], ["x", "x", "x"], [1, 2, np.nan])
    assert votes.items.tolist() == ["a", "b", "c"]
    assert votes.item.tolist() == [1, 0]
    assert len(votes) == 2


@given(st.integers(0, 1000))
def test_wide_forms_agree(seed):
    pd = pytest.importorskip("pandas")
    _, table = make_crowd(seed, n_items=20)
    expected = votes_from_wide(table)
    numbers = np.where(np.equal(table, None), np.nan, table).astype(float)
    integers = np.where(np.isnan(numbers), -1, numbers).astype(int)
    frame = pd.DataFrame(numbers).astype("Int64")
    for wide in (numbers, integers, frame, table.tolist()):
        votes = votes_from_wide(wide)
        for name in ("item", "annotator", "label", "classes"):
            np.testing.assert_array_equal(getattr(votes, name), getattr(expected, name))
    assert votes_from_wide(pd.DataFrame(table, columns=list("wxyz"))).annotators.tolist() == list(
        "wxyz"
    )


def test_minus_one_is_a_class_where_only_one_other_is_seen():
    votes = votes_from_wide(np.array([[-1, 1], [1, 1]]))
    assert votes.classes.tolist() == [-1, 1]
    assert len(votes) == 4
    with pytest.raises(ValueError, match="could be the class -1"):
        from_annotators(votes, y_true=[-1, 1])
    named = votes_from_wide(np.array([[-1, 1], [1, 0]]), classes=[-1, 0, 1])
    crowd = from_annotators(named, y_true=[-1, 0], smoothing=1)
    assert crowd.classes.tolist() == [-1, 0, 1]
    assert crowd.consensus.tolist() == [-1, 0]


def test_double_answers():
    lines = ([1, 1, 1, 2], ["Ann", "Ann", "Bob", "Ann"], ["a", "b", "a", "a"])
    with pytest.raises(ValueError, match=r"repeat.*: 1 .*Ann on item 1.*duplicates='last'"):
        votes_from_long(*lines)
    votes = votes_from_long(*lines, duplicates="last")
    assert votes.to_wide().tolist() == [["b", "a"], ["a", None]]
    # A blank line is no answer, so it repeats none.
    assert len(votes_from_long([1, 1], ["Ann", "Ann"], ["a", None])) == 1


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        (([1, 2], ["a"], ["x", "y"]), {}, "2 in item, 1 in annotator, 2 in label"),
        (([1, None], ["a", "b"], ["x", "y"]), {}, "item holds missing"),
        (([1, 2], ["a", np.nan], ["x", "y"]), {}, "annotator holds missing"),
        (([1, 2], ["a", 3], ["x", "y"]), {}, "annotator mixes"),
        (([1, 2], ["a", "b"], ["x", 3]), {}, "mixes labels of different types"),
        (([1, 2], ["a", "b"], ["x", "y"]), {"items": [1]}, "such as 2"),
        (([1, 2], ["a", "b"], ["x", "y"]), {"items": [1, 2, 2]}, "twice"),
        (([1, 2], ["a", "b"], ["x", "y"]), {"classes": ["x"]}, "outside the classes"),
        (([1, 2], ["a", "b"], ["x", "y"]), {"duplicates": "first"}, "'error' or 'last'"),
        (([[1, 2]], ["a", "b"], ["x", "y"]), {}, "one-dimensional"),
        (([(1, []), (2, [])], ["a", "b"], ["x", "y"]), {}, "one-dimensional|plain values"),
    ],
)
def test_bad_long_votes(arguments, settings, message):
    with pytest.raises(ValueError, match=message):
        votes_from_long(*arguments, **settings)


def test_bad_wide_votes():
    with pytest.raises(ValueError, match="votes_from_long"):
        votes_from_wide(["a", "b"])
    with pytest.raises(ValueError, match="sparse"):
        votes_from_wide(sparse.eye(3))


def seconds(function, *arguments):
    start = time.process_time()
    function(*arguments)
    return time.process_time() - start


@pytest.mark.slow
def test_many_votes_are_read_as_arrays_and_fitted():
    rng = np.random.RandomState(0)
    n_items, n_votes = 50_000, 250_000
    names = np.array([f"item{number}" for number in range(n_items)])
    item = np.repeat(np.arange(n_items), n_votes // n_items)
    annotator = (rng.randint(200, size=n_items)[:, None] + np.arange(5)).ravel()
    truth = rng.randint(10, size=n_items)
    label = noise.corrupt_labels(truth[item], noise.symmetric(10, 0.4), random_state=0)
    votes = votes_from_long(names[item], annotator, label)
    assert len(votes) == n_votes
    sorting = seconds(np.unique, names[item])  # most of the work, if nothing is done one by one
    assert seconds(votes_from_long, names[item], annotator, label) < 10 * sorting
    crowd = from_annotators(votes, tol=1e-3)
    rank = np.searchsorted(votes.items, names)
    assert np.mean(crowd.consensus[rank] != truth) < 0.13


# Dawid and Skene


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 5.0]))
def test_no_iteration_lowers_the_objective(seed, strength):
    truth, table = make_crowd(seed)
    gold = np.where(np.arange(len(truth)) < 10, truth, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        crowd = from_annotators(table, y_true=gold, prior_strength=strength, tol=0, max_iter=60)
    assert np.all(np.diff(crowd.history) >= -1e-9 * np.abs(crowd.history[:-1]))
    np.testing.assert_allclose(crowd.posterior.sum(axis=1), 1)
    np.testing.assert_allclose(crowd.matrix.sum(axis=1), 1)
    np.testing.assert_allclose(crowd.annotator_matrices.sum(axis=2), 1)
    np.testing.assert_allclose(crowd.class_prior.sum(), 1)
    np.testing.assert_allclose(crowd.annotator_counts.sum(axis=0), crowd.counts)
    assert crowd.counts.sum() == pytest.approx(np.count_nonzero(~np.equal(table, None)))


@given(st.integers(0, 10_000))
@pytest.mark.slow
def test_the_order_of_annotators_and_items_does_not_matter(seed):
    _, table = make_crowd(seed)
    rng = np.random.RandomState(seed)
    rows, columns = rng.permutation(len(table)), rng.permutation(table.shape[1])
    plain = settled(table)
    mixed = settled(table[np.ix_(rows, columns)])
    np.testing.assert_allclose(mixed.matrix, plain.matrix, atol=1e-8)
    np.testing.assert_allclose(mixed.posterior, plain.posterior[rows], atol=1e-8)
    np.testing.assert_allclose(
        mixed.annotator_matrices, plain.annotator_matrices[columns], atol=1e-8
    )
    np.testing.assert_array_equal(mixed.consensus, plain.consensus[rows])


@given(st.integers(0, 10_000), st.permutations([0, 1, 2]))
@pytest.mark.slow
def test_permuting_the_classes_permutes_everything(seed, names):
    _, table = make_crowd(seed)
    names = np.array(names)
    renamed = np.array(
        [[None if vote is None else names[vote] for vote in row] for row in table], dtype=object
    )
    plain, other = settled(table), settled(renamed)
    np.testing.assert_allclose(other.posterior[:, names], plain.posterior, atol=1e-8)
    np.testing.assert_allclose(other.matrix[np.ix_(names, names)], plain.matrix, atol=1e-8)


@given(st.integers(0, 10_000))
@pytest.mark.slow
def test_every_item_twice_changes_nothing_without_a_prior(seed):
    _, table = make_crowd(seed)
    once = settled(table, prior_strength=0)
    twice = settled(np.vstack([table, table]), prior_strength=0)
    # The start of the second stage is raised by one even answer, which is not doubled.
    np.testing.assert_allclose(twice.matrix, once.matrix, atol=1e-6)
    np.testing.assert_allclose(twice.counts, 2 * once.counts, atol=1e-4)


@given(st.integers(0, 10_000))
def test_one_annotator_with_gold_everywhere_is_the_trusted_count(seed):
    truth, table = make_crowd(seed)
    votes = table[:, 0].astype(int)
    truth[:3] = [0, 1, 2]
    crowd = from_annotators(votes[:, np.newaxis], y_true=truth)
    trusted = from_trusted(truth, votes)
    np.testing.assert_allclose(crowd.counts, trusted.counts)
    np.testing.assert_allclose(crowd.matrix, trusted.matrix)
    np.testing.assert_array_equal(crowd.consensus, truth)
    np.testing.assert_allclose(crowd.class_prior, np.bincount(truth) / len(truth))


def test_it_recovers_who_confuses_what():
    truth, table = make_crowd(0, n_items=3000)
    crowd = from_annotators(table)
    assert np.abs(crowd.annotator_matrices - [GOOD, GOOD, POOR, POOR]).mean() < 0.03
    assert np.mean(crowd.consensus != truth) < 0.11
    assert crowd.annotator_noise_rates[2:].min() > crowd.annotator_noise_rates[:2].max()
    gold = np.where(np.arange(3000) < 1000, truth, np.nan)
    guided = from_annotators(table, y_true=gold)
    errors = [
        np.abs(e.annotator_matrices - [GOOD, GOOD, POOR, POOR]).mean() for e in (guided, crowd)
    ]
    assert errors[0] < errors[1]


def test_an_annotator_with_four_answers_does_no_harm():
    truth, table = make_crowd(1, n_items=600, matrices=(GOOD, GOOD, POOR))
    without = np.mean(from_annotators(table).consensus != truth)
    newcomer = np.full((600, 1), None, dtype=object)
    newcomer[:4, 0] = (truth[:4] + 1) % 3  # wrong four times
    crowd = from_annotators(np.hstack([table, newcomer]))
    assert np.mean(crowd.consensus != truth) <= without + 0.005
    # Four answers against five per class: still near the shared matrix, yet not the same.
    others = np.abs(crowd.annotator_matrices[3] - crowd.matrix).max()
    assert 0.05 < others < 0.45


def test_shrinking_is_a_weighted_mean():
    counts, centre = np.array([[[3.0, 1.0], [0.0, 0.0]]]), np.array([[0.5, 0.5], [0.2, 0.8]])
    got = shrink(counts, centre, 4.0)
    np.testing.assert_allclose(got, [[[(3 + 2) / 8, (1 + 2) / 8], [0.2, 0.8]]])
    np.testing.assert_allclose(shrink(counts, centre, 0.0), [[[0.75, 0.25], [0.2, 0.8]]])


def test_annotators_without_votes_are_like_the_others():
    _, table = make_crowd(2)
    silent = np.hstack([table, np.full((len(table), 1), None)])
    crowd, before = from_annotators(silent), from_annotators(table)
    np.testing.assert_allclose(crowd.matrix, before.matrix)
    np.testing.assert_allclose(crowd.annotator_matrices[-1], crowd.matrix, atol=0.1)
    assert not crowd.annotator_counts[-1].any()


def test_items_without_votes_get_the_class_shares():
    _, table = make_crowd(3)
    longer = np.vstack([table, np.full((2, 4), None)])
    with pytest.warns(ConfusionWarning, match="2 of 62 items"):
        crowd = from_annotators(longer)
    np.testing.assert_allclose(crowd.matrix, from_annotators(table).matrix, atol=1e-3)
    np.testing.assert_allclose(crowd.posterior[-1], crowd.class_prior, atol=1e-9)
    gold = np.full(62, np.nan)
    gold[-2:] = 1
    np.testing.assert_array_equal(from_annotators(longer, y_true=gold).consensus[-2:], 1)


def test_ties_go_to_the_lowest_class():
    crowd = from_annotators([["b", "a"], ["a", "b"]])
    assert crowd.consensus.tolist() == ["a", "a"]
    np.testing.assert_allclose(crowd.posterior, 0.5)


def test_gold_may_show_a_class_nobody_names():
    table = [["a", "a"]] * 9 + [["b", "b"]] * 9 + [["a", "b"]]
    crowd = from_annotators(table, y_true=[None] * 18 + ["c"])
    assert crowd.classes.tolist() == ["a", "b", "c"]
    assert crowd.counts[2, :2].min() >= 1
    assert crowd.consensus.tolist() == ["a"] * 9 + ["b"] * 9 + ["c"]


def test_a_class_nobody_names_needs_smoothing():
    table = [["a", "a"], ["b", "b"]]
    with pytest.raises(ValueError, match="class 'c'"):
        from_annotators(table, classes=["a", "b", "c"])
    crowd = from_annotators(table, classes=["a", "b", "c"], smoothing=1)
    np.testing.assert_allclose(crowd.matrix[2], 1 / 3)
    assert np.isfinite(crowd.annotator_matrices).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1}, "tol"),
        ({"prior_strength": np.inf}, "prior_strength"),
        ({"smoothing": -1}, "smoothing"),
        ({"y_true": [0, 1]}, "one label per item: 60"),
        ({"y_true": ["a"] * 60}, "different types"),
    ],
)
def test_refusals(settings, message):
    _, table = make_crowd(0)
    with pytest.raises(ValueError, match=message):
        from_annotators(table, **settings)


def test_no_vote_at_all():
    with pytest.raises(ValueError, match="no vote"):
        from_annotators([[None, None]], y_true=["a"])


def test_stopping_early_is_said():
    _, table = make_crowd(0)
    with pytest.warns(ConvergenceWarning, match="after 1 iterations"):
        crowd = from_annotators(table, max_iter=1)
    assert crowd.n_iter == len(crowd.history) == 1


def test_a_crowd_is_passed_like_a_matrix():
    truth, table = make_crowd(5, n_items=600)
    crowd = from_annotators(table)
    assert repr(crowd).startswith("AnnotatorEstimate(3 classes, 4 annotators, 600 items, ")
    X = np.eye(3)[truth] + 0.1 * np.random.RandomState(0).randn(600, 3)
    clf = UMAClassifier(crowd).fit(X, table[:, 0].astype(int))
    assert clf.score(X, truth) > 0.9


def test_music_genres_of_a_real_crowd():
    music = fetch_music_genre(data_home=local_data("music_genre"))
    crowd = from_annotators(music.votes)
    votes = votes_from_long(
        music.answers.item, music.answers.annotator, music.answers.label, items=range(700)
    )
    majority = np.mean(votes.classes[votes.tally.argmax(axis=1)] != music.target)
    consensus = np.mean(crowd.consensus != music.target)
    assert majority == pytest.approx(0.2886, abs=1e-3)
    assert consensus < majority - 0.05  # 0.207 when this was written
    np.testing.assert_allclose(from_annotators(votes).matrix, crowd.matrix)
