"""The loss for networks."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from unconfused import UnconfusedLogisticRegression, noise

torch = pytest.importorskip("torch")

import unconfused.torch  # noqa: E402
from unconfused.torch import ConfusedCrossEntropy  # noqa: E402


@pytest.fixture(autouse=True)
def _double():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def test_the_examples_run():
    torch.set_default_dtype(torch.float32)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(unconfused.torch, optionflags=flags).failed == 0


def batch(n_labels=4, n_annotators=2):
    rng = np.random.default_rng(0)
    matrices = rng.dirichlet(np.ones(n_labels), (n_annotators, 3))
    labels = rng.integers(-1, n_labels, (50, n_annotators))
    scores = torch.tensor(2 * rng.normal(size=(50, 3)), requires_grad=True)
    return matrices, torch.tensor(labels), scores


def test_votes_through_rectangular_matrices_by_hand():
    matrices, labels, scores = batch()
    loss = ConfusedCrossEntropy(list(matrices))
    shares = torch.softmax(scores, 1).detach().numpy()
    chances = np.ones((50, 3))
    for a in range(2):
        seen = labels[:, a].numpy() >= 0
        chances[seen] *= matrices[a][:, labels[seen, a]].T
    joint = shares * chances
    by_hand = -np.log(joint.sum(axis=1)).mean()
    assert loss(scores, labels).item() == pytest.approx(by_hand)
    found = loss.posterior(scores, labels).detach().numpy()
    np.testing.assert_allclose(found, joint / joint.sum(axis=1, keepdims=True))


def test_gradients_are_exact_for_scores_and_learnt_matrices():
    matrices, labels, scores = batch()
    loss = ConfusedCrossEntropy(matrices, learn=True)
    truth = torch.full((50,), -1)
    truth[:5] = torch.tensor([0, 1, 2, 0, 1])
    assert torch.autograd.gradcheck(lambda s: loss(s, labels, truth), (scores,))
    loss(scores, labels, truth).backward()
    assert loss.logits.grad.abs().max() > 0


def test_trusted_rows_weights_and_the_identity_are_plain_cross_entropy():
    _, _, scores = batch()
    truth = torch.randint(3, (50,), generator=torch.Generator().manual_seed(0))
    weight = torch.rand(50, generator=torch.Generator().manual_seed(1))
    plain = torch.nn.functional.cross_entropy(scores, truth)
    loss = ConfusedCrossEntropy(noise.symmetric(3, 0.5))
    assert torch.isclose(loss(scores, torch.full((50,), -1), truth), plain)
    assert torch.isclose(ConfusedCrossEntropy(np.eye(3))(scores, truth), plain)
    each = torch.nn.functional.cross_entropy(scores, truth, reduction="none")
    weighted = (weight * each).sum() / weight.sum()
    assert torch.isclose(loss(scores, truth, truth, weight), weighted)


def test_a_linear_network_is_our_logistic_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    truth = (X @ [[1, -1, 0], [0, 1, -1]]).argmax(axis=1)
    y = noise.corrupt_labels(truth, noise.pairwise(3, 0.3), random_state=0)
    clf = UnconfusedLogisticRegression(noise.pairwise(3, 0.3), l2=1e-2, relabel=0, tol=1e-8)
    clf.fit(X, y)
    linear = torch.nn.Linear(2, 3)
    loss = ConfusedCrossEntropy(noise.pairwise(3, 0.3))
    optimizer = torch.optim.LBFGS(linear.parameters(), max_iter=300, tolerance_grad=1e-9)
    rows, labels = torch.tensor(X), torch.tensor(y)

    def closure():
        optimizer.zero_grad()
        value = loss(linear(rows), labels) + 5e-3 * (linear.weight**2).sum()
        value.backward()
        return value

    optimizer.step(closure)
    np.testing.assert_allclose(linear.weight.detach(), clf.coef_, atol=1e-3)


def test_learning_finds_the_matrix():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=3000)
    C = noise.pairwise(3, 0.3)
    labels = torch.tensor(noise.corrupt_labels(truth, C, random_state=0))
    scores = torch.tensor(8.0 * np.eye(3)[truth])
    loss = ConfusedCrossEntropy(noise.symmetric(3, 0.2), learn=True)
    optimizer = torch.optim.Adam(loss.parameters(), lr=0.1)
    for _ in range(100):
        optimizer.zero_grad()
        loss(scores, labels).backward()
        optimizer.step()
    np.testing.assert_allclose(loss.confusion.detach(), C, atol=0.05)


def test_it_moves_and_saves_with_the_network():
    loss = ConfusedCrossEntropy(noise.symmetric(3, 0.2))
    assert not list(loss.parameters())
    again = ConfusedCrossEntropy(np.eye(3))
    again.load_state_dict(loss.state_dict())
    np.testing.assert_allclose(again.confusion, noise.symmetric(3, 0.2))


@pytest.mark.parametrize(
    ("labels", "message"), [([[0, 1, 2]], "one column per annotator"), ([[0, 9]], "column numbers")]
)
def test_labels_that_do_not_fit_are_refused(labels, message):
    matrices, _, scores = batch()
    with pytest.raises(ValueError, match=message):
        ConfusedCrossEntropy(matrices)(scores[:1], torch.tensor(labels))
    with pytest.raises(ValueError, match="sum to 1"):
        ConfusedCrossEntropy(2 * matrices)
