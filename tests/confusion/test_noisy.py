"""The confusion matrix from noisy labels alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from unconfused import noise
from unconfused.confusion import from_noisy, from_trusted
from unconfused.confusion.estimation.class_probabilities import guess_counts, unmix_probabilities

C = np.array([[0.7, 0.3, 0.0], [0.0, 0.9, 0.1], [0.05, 0.0, 0.95]])


def blobs(seed=0, n=600, matrix=C):
    X, truth = make_blobs(n, centers=[[0, 0], [6, 0], [0, 6]], random_state=seed)
    return X, truth, noise.corrupt_labels(truth, matrix, random_state=seed)


@given(st.integers(0, 1000))
@settings(max_examples=5)
def test_separated_classes_are_counted_as_with_the_truth(seed):
    X, truth, y = blobs(seed)
    guess = from_noisy(X, y, random_state=seed)
    assert np.abs(guess.matrix - from_trusted(truth, y).matrix).max() < 0.1
    np.testing.assert_allclose(guess.counts.sum(axis=0), np.bincount(y))
    np.testing.assert_allclose(guess.matrix.sum(axis=1), 1)
    assert "No true labels were known" in guess.verdict


def test_the_verdict_speaks_of_sampling_and_names_classes_to_doubt():
    rng = np.random.RandomState(0)
    truth = rng.choice(3, 3000, p=[0.95, 0.04, 0.01])
    X = rng.standard_normal((3, 8))[truth] * 0.7 + rng.standard_normal((3000, 8))
    matrix = np.array([[0.9, 0.07, 0.03], [0.3, 0.6, 0.1], [0.3, 0.1, 0.6]])
    y = noise.corrupt_labels(truth, matrix, random_state=0)
    guess = from_noisy(X, y, random_state=0)
    low, high = guess.interval()
    assert np.any((matrix < low) | (matrix > high))  # what the words are for
    assert "known to within" not in guess.verdict
    assert "It is least reliable for classes" in guess.verdict and "1, 2" in guess.verdict
    X, _, y = blobs()
    plain = from_noisy(X, y, random_state=0).verdict
    assert plain.startswith("A guess: the sampling error of an entry is at most")
    assert "least reliable" not in plain


def test_clean_labels_are_found_clean():
    X, y = load_digits(return_X_y=True)
    guess = from_noisy(X, y, random_state=0)
    assert guess.noise_rate < 0.01


@pytest.mark.parametrize(
    ("matrix", "error"),
    [
        (noise.symmetric(10, 0.2), 0.02),
        pytest.param(noise.symmetric(10, 0.5), 0.03, marks=pytest.mark.slow),
        pytest.param(noise.pairwise(10, 0.3), 0.015, marks=pytest.mark.slow),
    ],
)
def test_digits(matrix, error):
    X, truth = load_digits(return_X_y=True)
    y = noise.corrupt_labels(truth, matrix, random_state=0)
    guess = from_noisy(X, y, random_state=0)
    assert np.abs(guess.matrix - matrix).mean() < error
    assert abs(guess.noise_rate - np.mean(y != truth)) < 0.05


@pytest.mark.slow
def test_further_rounds_help_with_pair_flips():
    X, truth = load_digits(return_X_y=True)
    matrix = noise.pairwise(10, 0.4)
    y = noise.corrupt_labels(truth, matrix, random_state=1)
    plain, refined = (
        np.abs(
            from_noisy(X, y, method="confident", n_rounds=rounds, random_state=0).matrix - matrix
        ).mean()
        for rounds in (0, 3)
    )
    assert refined < 0.7 * plain


def test_a_class_mostly_called_another_is_taken_for_it():
    """What the docstring says cannot work does not, so users should not find otherwise."""
    swapped = np.array([[0.3, 0.7, 0.0], [0.7, 0.3, 0.0], [0.0, 0.0, 1.0]])
    X, _, y = blobs(matrix=swapped)
    guess = from_noisy(X, y, random_state=0)
    assert guess.matrix[0, 0] > 0.6


@pytest.mark.slow
def test_rows_strings_frames_and_missing_labels():
    pd = pytest.importorskip("pandas")
    X, _, y = blobs()
    names = np.array(["ant", "bee", "cat"])[y].astype(object)
    expected = from_noisy(X, names, estimator=GaussianNB(), random_state=0)
    assert expected.classes.tolist() == ["ant", "bee", "cat"]
    longer = np.vstack([X, X[:5]])
    got = from_noisy(
        pd.DataFrame(longer), [*names, *[None] * 5], estimator=GaussianNB(), random_state=0
    )
    np.testing.assert_array_equal(got.counts, expected.counts)
    thin = from_noisy(sparse.csr_matrix(X), names, random_state=0, n_jobs=2)
    assert np.abs(thin.matrix - C).max() < 0.15


def test_row_order_does_not_matter_to_the_count():
    rng = np.random.RandomState(0)
    probability = rng.dirichlet([1, 1, 1], size=200)
    observed = rng.randint(3, size=200)
    order = rng.permutation(200)
    np.testing.assert_allclose(
        guess_counts(probability[order], observed[order], 2), guess_counts(probability, observed, 2)
    )


@given(st.integers(0, 1000))
def test_unmixing_undoes_mixing(seed):
    rng = np.random.RandomState(seed)
    truth = rng.dirichlet([1, 1, 1], size=20)
    matrix = 0.7 * np.eye(3) + 0.3 * rng.dirichlet([1, 1, 1], size=3)
    unmixed = unmix_probabilities(truth @ matrix, matrix)
    np.testing.assert_allclose(unmixed.sum(axis=1), 1)
    assert np.abs(unmixed - truth).max() < 0.1
    np.testing.assert_allclose(unmix_probabilities(truth, np.eye(3)), truth)


def test_refusals():
    X, _, y = blobs()
    with pytest.raises(ValueError, match="LinearSVC has no predict_proba"):
        from_noisy(X, y, estimator=LinearSVC())
    with pytest.raises(ValueError, match="600 rows but y has 599"):
        from_noisy(X, y[1:])
    with pytest.raises(ValueError, match="class 3"):
        from_noisy(X, y, classes=[0, 1, 2, 3])
    # A class that no row is counted for is taken to err as the others do.
    unseen = from_noisy(X, y, classes=[0, 1, 2, 3], smoothing=1).matrix[3]
    assert unseen[3] > 0.5
    np.testing.assert_allclose(unseen[:3], unseen[0])
    with pytest.raises(ValueError, match="only one row of class 9"):
        from_noisy(X, np.r_[9, y[1:]])
