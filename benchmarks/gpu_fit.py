"""Whole fits on one CUDA device, as a user makes them, beside the same fits on the CPU's cores.

Run: SCIPY_ARRAY_API=1 python benchmarks/gpu_fit.py [--rows N] [--columns D] [--classes 10 100]. The
rows are those of `gpu.py`. Every line is a learner: seconds and steps of a fit on the device after
one that is not counted, seconds of one on the cores, and how far apart the two models'
probabilities (UMA: weights) are. With --cupy the rows are a CuPy array, which the array API engine
takes, without Triton kernels.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import sklearn
import torch

from gpu import make_labels, make_rows
from unconfused import UMAClassifier, UnconfusedLogisticRegression, noise


def timed_fit(model: Any, X: Any, y: Any) -> float:
    """Fit, and return the seconds it took."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    model.fit(X, y)
    torch.cuda.synchronize()
    return time.perf_counter() - start


def to_numpy(array: Any) -> Any:
    """Copy an array from the device."""
    return array.cpu().numpy() if isinstance(array, torch.Tensor) else array.get()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--columns", type=int, default=256)
    parser.add_argument("--classes", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--device-alone", action="store_true")
    parser.add_argument("--cupy", action="store_true")
    asked = parser.parse_args()
    sklearn.set_config(array_api_dispatch=True)
    X = make_rows(asked.rows, asked.columns)
    rows = X[:1000].cpu().numpy()
    on_device = X
    if asked.cupy:
        import cupy

        on_device = cupy.from_dlpack(X)
    print("classes  learner                        device s  steps    cores s  faster      apart")
    for n_classes in asked.classes:
        y, C = make_labels(X, n_classes), noise.pairwise(n_classes, 0.3)
        for model in (
            UMAClassifier(C, max_iter=300, n_jobs=-1),
            UnconfusedLogisticRegression(C, l2=1e-4, relabel=0, n_jobs=-1),
        ):
            timed_fit(sklearn.clone(model), on_device, y)
            device = timed_fit(model, on_device, y)
            line = f"{n_classes:7d}  {type(model).__name__:30s} {device:8.2f} {model.n_iter_:6d}"
            if not asked.device_alone:
                other = sklearn.clone(model)
                cores = timed_fit(other, X.cpu().numpy(), y)
                if hasattr(model, "predict_proba"):
                    own = to_numpy(model.predict_proba(on_device[:1000]))
                    apart = np.abs(own - other.predict_proba(rows)).max()
                else:
                    apart = np.abs(to_numpy(model.coef_) - other.coef_).max()
                line += f" {cores:10.2f} {cores / device:7.0f} {apart:10.1e}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
