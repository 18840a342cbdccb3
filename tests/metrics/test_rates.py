from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import confusion_matrix

from unconfused.metrics import confusion_rate, off_diagonal_norm

labels_4 = hnp.arrays(np.int64, 40, elements=st.integers(0, 3))

Y_TRUE = np.repeat([0, 1, 2], [10, 20, 40])
Y_PRED = np.concatenate([[0] * 4 + [1] * 6, [1] * 10 + [2] * 10, [2] * 40])


def test_known_value_and_orientation():
    # Shares by true class: 0.6 of class 0 and 0.5 of class 1 go wrong.
    norm = np.hypot(0.6, 0.5)
    assert confusion_rate(Y_TRUE, Y_PRED, normalize=False) == pytest.approx(norm)
    assert confusion_rate(Y_TRUE, Y_PRED) == pytest.approx(norm / np.sqrt(3))
    # By predicted class it would be another number.
    assert confusion_rate(Y_PRED, Y_TRUE) != pytest.approx(norm / np.sqrt(3))


@given(labels_4, labels_4)
def test_formula_of_section_4(y_true, y_pred):
    shares = confusion_matrix(y_true, y_pred, labels=range(4), normalize="true")
    np.fill_diagonal(shares, 0)
    norm = confusion_rate(y_true, y_pred, normalize=False)
    assert norm == pytest.approx(np.linalg.norm(shares))
    rate = confusion_rate(y_true, y_pred)
    assert 0 <= rate <= 1 + 1e-12
    assert rate == pytest.approx(norm / np.sqrt(len(np.unique(y_true))))
    assert confusion_rate(y_true, y_pred, labels=range(4)) == pytest.approx(norm / 2)


@given(labels_4, labels_4, st.permutations(range(4)))
def test_names_of_classes_do_not_matter(y_true, y_pred, order):
    names = np.array(["ant", "bee", "cow", "dog"])[list(order)]
    assert confusion_rate(names[y_true], names[y_pred]) == pytest.approx(
        confusion_rate(y_true, y_pred)
    )


@given(labels_4, labels_4, hnp.arrays(np.int64, 40, elements=st.integers(0, 3)))
def test_weights_are_frequencies(y_true, y_pred, weight):
    if weight.sum() == 0:
        with pytest.raises(ValueError, match="no rows"):
            confusion_rate(y_true, y_pred, sample_weight=weight)
        return
    repeated = confusion_rate(np.repeat(y_true, weight), np.repeat(y_pred, weight))
    assert confusion_rate(y_true, y_pred, sample_weight=weight) == pytest.approx(repeated)


def test_extremes():
    assert confusion_rate([0, 1, 2], [0, 1, 2]) == 0
    assert confusion_rate([0, 1, 2], [1, 2, 0]) == pytest.approx(1)
    assert confusion_rate(["a"], ["a"]) == 0
    # A prediction that is no true class is a mistake, and adds no class to Q.
    assert confusion_rate(["a", "b"], ["a", "c"]) == pytest.approx(np.sqrt(1 / 2))
    # -1 is a label like any other.
    assert confusion_rate([-1, 0, 1], [0, 0, 1]) == pytest.approx(np.sqrt(1 / 3))


def test_invalid_arguments():
    with pytest.raises(ValueError, match="does not name"):
        confusion_rate([0, 1], [0, 2], labels=[0, 1])
    with pytest.raises(ValueError, match="different types"):
        confusion_rate([0, 1], ["0", "1"])
    with pytest.raises(ValueError, match="missing"):
        confusion_rate(["a", None], ["a", "b"])
    with pytest.raises(ValueError, match="rows but"):
        confusion_rate([0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match="shape"):
        confusion_rate([0, 1], [0, 1], sample_weight=[1])
    with pytest.raises(ValueError, match="negative"):
        confusion_rate([0, 1], [0, 1], sample_weight=[1, -1])


def test_off_diagonal_norm():
    C = np.array([[0.7, 0.2, 0.1], [0.0, 0.6, 0.4], [0.05, 0.05, 0.9]])
    expected = np.linalg.norm(C - np.diag(np.diag(C)))
    before = C.copy()
    assert off_diagonal_norm(C) == pytest.approx(expected)
    np.testing.assert_array_equal(C, before)
    assert off_diagonal_norm(np.eye(3)) == 0
    with pytest.raises(ValueError, match="transpose"):
        off_diagonal_norm(C.T)


def test_rate_of_the_labels_approaches_the_norm_of_their_matrix():
    # Predictions made exactly by the rows of C have the off-diagonal norm of C.
    C = np.array([[0.7, 0.2, 0.1], [0.0, 0.6, 0.4], [0.05, 0.05, 0.9]])
    t, k = np.indices(C.shape)
    counts = np.rint(100 * C).astype(int).ravel()
    y_true, y_pred = np.repeat(t.ravel(), counts), np.repeat(k.ravel(), counts)
    assert confusion_rate(y_true, y_pred, normalize=False) == pytest.approx(off_diagonal_norm(C))
