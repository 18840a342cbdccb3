"""How far agreeing votes are believed."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from unconfused._report.judge import vote_powers
from unconfused.confusion._dawid_skene import Crowd

N_ROWS, N_ANNOTATORS, N_CLASSES = 1500, 6, 3


def crowd_with(right):
    """Votes that are right with a probability per row; wrong ones of a hard row agree."""
    rng = np.random.RandomState(0)
    truth, trap = rng.randint(N_CLASSES, size=(2, N_ROWS))
    who = np.arange(N_ANNOTATORS)
    hits = rng.uniform(size=(N_ROWS, N_ANNOTATORS)) < np.broadcast_to(right, (N_ROWS,))[:, None]
    shared = np.where(hits, truth[:, None], trap[:, None])
    spread = np.where(hits, truth[:, None], rng.randint(N_CLASSES, size=hits.shape))
    answers = shared if np.ndim(right) else spread
    columns = (who * N_CLASSES + answers).ravel()
    cells = (np.ones(answers.size), (np.repeat(np.arange(N_ROWS), N_ANNOTATORS), columns))
    indicators = csr_matrix(cells, shape=(N_ROWS, N_ANNOTATORS * N_CLASSES))
    return Crowd(indicators, np.full(N_ROWS, -1), N_ANNOTATORS, N_CLASSES)


def powers(crowd):
    even = np.full((N_ROWS, N_CLASSES), 1 / N_CLASSES)
    matrices = np.tile(0.1 + 0.7 * np.eye(N_CLASSES), (N_ANNOTATORS, 1, 1))
    return vote_powers(crowd, even, matrices)


def test_independent_votes_are_believed_as_they_are():
    assert powers(crowd_with(0.7))[1] == pytest.approx(1.0, abs=0.15)


def test_votes_are_believed_less_where_rows_are_hard_for_all():
    hard = np.where(np.arange(N_ROWS) % 2, 0.95, 0.45)
    assert powers(crowd_with(hard))[1] < 0.8


def test_few_votes_change_nothing():
    crowd = crowd_with(0.7)
    few = Crowd(crowd.indicators[:10], crowd.truth[:10], N_ANNOTATORS, N_CLASSES)
    assert vote_powers(few, np.full((10, 3), 1 / 3), np.zeros((6, 3, 3))) == (1.0, 1.0)
