"""The kernels for CUDA devices: on one where there is one, else in Triton's interpreter."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install torch")
pytest.importorskip("triton", reason="triton is not installed: pip install triton")

SCRIPT = """
import numpy as np
import torch
from problems import make_problem
from sklearn import set_config

from unconfused._matrix import Unmixing
from unconfused.engines import LocalEngine
from unconfused.engines.cuda import engine
from unconfused.estimators._arrays import array_space
from unconfused.selection import SELECTIONS
from unconfused.solvers.uma.solver import UMA
from unconfused.solvers.uma.solver import UMAState
from unconfused.steps import STEPS

set_config(array_api_dispatch=True)
engine.ASSIGN_PROGRAMS = engine.ADD_PROGRAMS = 3  # lists longer than the programs
engine.CHUNK = 64
device = "cuda" if torch.cuda.is_available() else "cpu"


def run(engine, problem, alpha, step, selection):
    state = UMAState(np.zeros((len(problem.C), engine.n_features)))
    UMA(
        SELECTIONS[selection], STEPS[step], 1e-6, 12, False, "means",
        np.random.RandomState(0),
    ).run(engine, Unmixing(problem.C), alpha, state)
    return state


for dtype, alpha, step, selection, seed, Q, d, few in [
    (np.float64, 0.0, "perceptron", "error", 1, 4, 4, 32),
    (np.float64, 0.01, "uniform", "confusion", 2, 4, 4, 32),
    (np.float32, 0.0, "mira", "error", 3, 4, 4, 32),
    (np.float64, 0.0, "perceptron", "random", 4, 4, 4, 32),
    (np.float64, 0.0, "perceptron", "error", 5, 2, 3, 32),
    (np.float64, 0.0, "perceptron", "error", 6, 3, 270, 2),  # two tiles of columns, "many" classes
]:
    engine.FEW_CLASSES = few
    n = 300 if d < 100 else 40
    problem = make_problem(seed, n=n, d=d, Q=Q)
    weight = np.random.RandomState(seed).randint(1, 4, n).astype(float)
    X = problem.X.astype(dtype)
    rows = torch.from_numpy(X).to(device)
    plain = LocalEngine(X, problem.y, Q, weight)
    other = engine.TorchEngine(rows, problem.y, Q, weight, space=array_space(rows))
    np.testing.assert_allclose(other.code_sums(), plain.code_sums(), atol=1e-10)
    expected, found = (run(engine, problem, alpha, step, selection) for engine in (plain, other))
    assert len(found.records) > 5
    assert [r[:2] for r in found.records] == [r[:2] for r in expected.records]
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-9)
    near = 1e-9 if dtype is np.float64 else 1e-5
    for scale in (1.0, 500.0):
        arguments = scale * expected.weights, np.ascontiguousarray(problem.C.T), np.ones(Q)
        a, b = plain.likelihood(*arguments), other.likelihood(*arguments)
        np.testing.assert_allclose(b.loss, a.loss, rtol=near)
        np.testing.assert_allclose(b.gradient, a.gradient, atol=near * np.abs(a.gradient).max())
        np.testing.assert_allclose(b.posterior, a.posterior, atol=near * a.posterior.max())
print("same")
"""


@pytest.mark.slow
def test_kernels_calculate_what_numpy_does():
    import torch

    # Triton decides when it is imported whether to compile or to interpret: a process of its own.
    settings = {"SCIPY_ARRAY_API": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    if not torch.cuda.is_available():
        settings["TRITON_INTERPRET"] = "1"
    command = [sys.executable, "-W", "error::UserWarning:unconfused", "-c", SCRIPT]
    done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("same")
