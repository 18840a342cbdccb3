"""Distances of weights from earlier ones: never too short, and not that of the path."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unconfused.engines.local import assignment
from unconfused.engines.local.assignment import WeightDrift, used_slack


def walk(rng, n_moves, Q, d, scale):
    """Go back and forth: every other move undoes the one before, or some of it."""
    steps, direction = np.zeros(Q), np.zeros(d)
    for t in range(n_moves):
        if t % 2 == 0:
            steps, direction = np.round(rng.randn(Q), 1), scale * rng.randn(d)
            steps[rng.rand(Q) < 0.5] = 0.0
            yield steps, direction
        else:
            yield -steps, direction * rng.choice([1.0, 1.0 - 1e-9, 0.5])


@pytest.mark.slow
@given(st.integers(0, 2**16), st.sampled_from([1, 7, 5000]), st.sampled_from([1e-18, 1.0, 1e18]))
@settings(max_examples=15)
def test_distances_hold_the_true_ones(seed, d, scale):
    rng, Q = np.random.RandomState(seed), 3
    drift, W = WeightDrift(Q, d), rng.randn(3, d) * scale
    drift.restart()
    seen, path = {0: W.copy()}, {0: np.zeros(Q)}
    for steps, direction in walk(rng, 3 * drift.n_slots, Q, d, scale):
        W = W + np.outer(steps, direction)
        for time in path:
            path[time] = path[time] + np.abs(steps) * np.linalg.norm(direction)
        drift.add(steps, direction)
        found = drift.distances().astype(np.float64)
        for slot, time in enumerate(drift.times):
            if time < 0 or time <= drift.now - drift.n_slots:
                assert time < 0 or np.all(np.isinf(found[slot]))
                continue
            true = np.linalg.norm(W - seen[time], axis=1)
            assert np.all(found[slot] >= true)
            assert np.all(found[slot] <= true * (1 + 1e-5) + 2e-6 * path[time])
        drift.take_slot()
        seen[drift.now], path[drift.now] = W.copy(), np.zeros(Q)


def test_a_restart_forgets():
    drift = WeightDrift(2, 3)
    for _ in range(2):
        drift.restart()
        drift.add(np.array([1.0, -2.0]), np.array([3.0, 0.0, 4.0]))
        np.testing.assert_allclose(drift.distances()[0], [5.0, 10.0], rtol=1e-5)
        drift.take_slot()


def test_rows_of_a_forgotten_class_are_not_safe_until_they_are_scored():
    drift = WeightDrift(3, 2)
    drift.restart()
    drift.add(np.array([0.0, 1.0, 0.0]), np.ones(2))
    drift.forget(0)
    drift.take_slot()
    assert drift.unsafe[0].tolist() == [True, False, False]
    assert not drift.unsafe[drift.slot].any()


def test_many_features_leave_room_for_few_directions(monkeypatch):
    monkeypatch.setattr(assignment, "DIRECTION_BYTES", 8 * 100 * 10)
    assert [WeightDrift(2, d).n_slots for d in (1, 100, 10**6)] == [64, 10, 4]


@given(st.integers(0, 2**16), st.integers(2, 6))
def test_slack_is_used_up_by_the_class_that_drifted_furthest(seed, Q):
    distances = np.random.RandomState(seed).randint(0, 4, (5, Q)).astype(np.float32)
    for own, used in zip(distances, used_slack(distances), strict=True):
        assert used.tolist() == [own[b] + max(np.delete(own, b)) for b in range(Q)]
