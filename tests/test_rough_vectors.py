"""Vectors in one byte an entry: how far off they are, and what they are the same of."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from unconfused.engines.dask.rough import RoughVectors, across, lengths

ENTRIES = st.floats(-1e150, 1e150, allow_subnormal=True)


@given(arrays(np.float64, (3, 5), elements=ENTRIES))
def test_no_entry_is_off_by_more_than_half_a_step(vectors):
    rough = RoughVectors.of(vectors)
    step = np.abs(vectors).max(axis=1) / 127
    off = np.abs(rough.values() - vectors)
    assert np.all(off <= 0.5 * step[:, np.newaxis] * (1 + 1e-9) + 1e-320)


@given(arrays(np.float64, (2, 4), elements=ENTRIES))
def test_whoever_receives_them_has_the_same(vectors):
    rough = RoughVectors.of(vectors)
    received = pickle.loads(pickle.dumps(rough))
    np.testing.assert_array_equal(received.values(), rough.values())


def test_they_take_one_byte_an_entry():
    vectors = np.random.RandomState(0).standard_normal((20, 1000))
    assert len(pickle.dumps(RoughVectors.of(vectors))) < 1.1 * vectors.size


def test_gaussian_vectors_are_off_by_about_a_percent():
    vectors = np.random.RandomState(0).standard_normal((20, 1000))
    off = lengths(vectors - RoughVectors.of(vectors).values()) / lengths(vectors)
    assert off.max() < 0.012


def test_no_vectors_and_no_length():
    assert RoughVectors.of(np.zeros((0, 3))).values().shape == (0, 3)
    np.testing.assert_array_equal(RoughVectors.of(np.zeros((1, 3))).values(), np.zeros((1, 3)))


@pytest.mark.parametrize("entry", [np.inf, -np.inf, np.nan])
def test_sums_that_overflow_stay_without_a_value(entry):
    values = RoughVectors.of(np.array([[1.0, entry]])).values()
    assert not np.isfinite(values).any()


@given(arrays(np.float64, 4, elements=st.floats(-1e3, 1e3)))
def test_what_is_across_is_across(vector):
    direction = np.array([1.0, -2.0, 0.5, 0.0])
    rest = across(vector, direction)
    assert abs(rest @ direction) <= 1e-9
    np.testing.assert_allclose(
        rest @ rest + (vector @ direction) ** 2 / (direction @ direction), vector @ vector
    )
    assert across(vector, np.zeros(4)) is vector
