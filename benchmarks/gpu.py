"""UMA and the likelihood on one CUDA device and on the CPU's cores, against the device's own rates.

Run: SCIPY_ARRAY_API=1 python benchmarks/gpu.py [--rows N] [--columns D] [--classes 10 100]. It
prints a table and one line of JSON. The rows are Gaussian, float32, made on the device; labels are
those of a linear concept, three in ten moved to the next class. The limits are measured on the
same rows: a product with one vector, and a large product of matrices in single precision. An
update is timed with all its solver does on the host; "kernels" is what the device has to do for it,
"first" the mean over the first updates, from weights 0, which is what the cores are timed on.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
import sklearn
import torch
from threadpoolctl import threadpool_limits
from torch.profiler import ProfilerActivity, profile

from unconfused import noise
from unconfused._matrix import Unmixing
from unconfused.engines import LocalEngine
from unconfused.estimators._base import make_engine
from unconfused.selection import SELECTIONS
from unconfused.solvers.uma.solver import UMA, UMAState
from unconfused.steps import STEPS


def seconds(call: Any, repeats: int = 10) -> float:
    """Return the median time of a call on the device, after two that are not counted."""
    times = []
    for repeat in range(repeats + 2):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        if repeat >= 2:
            times.append(time.perf_counter() - start)
    return float(np.median(times))


def make_rows(n_rows: int, n_columns: int) -> torch.Tensor:
    """Gaussian rows on the device."""
    maker = torch.Generator("cuda").manual_seed(0)
    return torch.randn(n_rows, n_columns, device="cuda", generator=maker)


def make_labels(X: torch.Tensor, n_classes: int) -> np.ndarray:
    """Labels of a linear concept, three in ten moved to the next class."""
    maker = torch.Generator("cuda").manual_seed(n_classes)
    concept = torch.randn(X.shape[1], n_classes, device="cuda", generator=maker)
    true = torch.cat([(rows @ concept).argmax(1) for rows in X.split(2**20)])
    moved = torch.rand(len(true), device="cuda", generator=maker) < 0.3
    return ((true + moved) % n_classes).cpu().numpy()


def device_rates(X: torch.Tensor) -> dict[str, float]:
    """Bytes per second of a copy and of a product with a vector; operations of large products.

    "matrix" is a product in single precision, "tensor" one of the tensor cores in TF32, of which
    three make a product of single precision.
    """
    vector = torch.randn(X.shape[1], device="cuda")
    square = torch.randn(8192, 8192, device="cuda")
    size = X.numel() * X.element_size()
    target = torch.empty_like(X)
    torch.backends.cuda.matmul.allow_tf32 = True
    tensor = 2 * 8192**3 / seconds(lambda: square @ square)
    torch.backends.cuda.matmul.allow_tf32 = False
    return {
        "tensor": tensor,
        "copy": 2 * size / seconds(lambda: target.copy_(X)),
        "vector": size / seconds(lambda: torch.mv(X, vector)),
        "matrix": 2 * 8192**3 / seconds(lambda: square @ square),
    }


def run_uma(engine: Any, n_classes: int, updates: int) -> tuple[float, UMAState]:
    """Make updates from weights 0; return seconds per update and where they led."""
    algorithm = UMA(
        SELECTIONS["error"], STEPS["perceptron"], 1e-12, updates, False, "zero",
        np.random.RandomState(0),
    )  # fmt: skip
    state = UMAState(np.zeros((n_classes, engine.n_features)))
    start = time.perf_counter()
    algorithm.run(engine, Unmixing(noise.pairwise(n_classes, 0.3)), 0.0, state)
    return (time.perf_counter() - start) / state.n_updates, state


def measure_device(
    X: torch.Tensor, y: np.ndarray, n_classes: int, updates: int, first_updates: int
) -> dict[str, Any]:
    """Time both learners on the device; the first updates, which move most, also alone."""
    engine = make_engine(X, y, n_classes, None, intercept=True, n_threads=1)
    run_uma(engine, n_classes, 3)
    with threadpool_limits(1):  # the solver's tables are small: threads would only get in the way
        each, state = run_uma(engine, n_classes, updates)
        first = run_uma(engine, n_classes, max(1, first_updates))[0]
        kernels = busy(lambda: run_uma(engine, n_classes, updates), updates)
    weights, mixing = scaled(state.weights), noise.pairwise(n_classes, 0.3).T.copy()

    def pass_over_rows() -> Any:
        return engine.likelihood(weights, mixing, np.ones(n_classes))

    passes, found = seconds(pass_over_rows), pass_over_rows()
    pairs = [record[:2] for record in state.records]
    return {
        "update": each,
        "first": first,
        "kernels": sum(kernels.values()),
        "gradient": passes,
        "update_kernels": longest(kernels),
        "gradient_kernels": longest(busy(pass_over_rows, 1)),
        "pairs": pairs,
        "weights": weights,
        "pass": found,
    }


def longest(kernels: dict[str, float]) -> dict[str, float]:
    """Return the five that take longest, in milliseconds."""
    return {name[:64]: round(1e3 * took, 3) for name, took in list(kernels.items())[:5]}


def busy(call: Any, count: int) -> dict[str, float]:
    """Return what the device is busy with in a call, in seconds per count, the longest first."""
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as watched:
        call()
    events = sorted(watched.key_averages(), key=lambda event: -event.self_device_time_total)
    return {event.key: event.self_device_time_total / count / 1e6 for event in events}


def scaled(weights: np.ndarray) -> np.ndarray:
    """Weights of the length that a fit of the likelihood would give them, about."""
    return weights / np.abs(weights).max()


def measure_host(
    X: np.ndarray, y: np.ndarray, n_classes: int, updates: int, threads: int, device: dict[str, Any]
) -> dict[str, Any]:
    """Time both learners on the cores, and compare what they find with the device's results."""
    engine = LocalEngine(X, y, n_classes, n_threads=threads)
    run_uma(engine, n_classes, 1)
    each, state = run_uma(engine, n_classes, updates)
    mixing = noise.pairwise(n_classes, 0.3).T.copy()
    engine.likelihood(device["weights"], mixing, np.ones(n_classes))
    start = time.perf_counter()
    found = engine.likelihood(device["weights"], mixing, np.ones(n_classes))
    took = time.perf_counter() - start
    pairs = [record[:2] for record in state.records]
    away = np.abs(found.gradient - device["pass"].gradient).max() / np.abs(found.gradient).max()
    same = pairs == device["pairs"][: len(pairs)]
    return {"first": each, "gradient": took, "same_pairs": same, "gradient_away": float(away)}


def report(rates: dict[str, float], size: int, results: dict[int, Any]) -> None:
    """Print what was reached, as shares of the limits."""
    n_rows = results["rows"]
    print(
        f"{torch.cuda.get_device_name()}: copy {rates['copy'] / 1e12:.2f} TB/s, "
        f"matrix-vector {rates['vector'] / 1e12:.2f} TB/s, "
        f"matrix-matrix {rates['matrix'] / 1e12:.1f} TFLOP/s"
    )
    print("classes  what       device ms   limit ms   share   cores ms   faster")
    for n_classes, found in results["classes"].items():
        device, host = found["device"], found.get("host", {})
        operations = 4 * n_rows * results["columns"] * n_classes
        read = size / rates["vector"]
        limits = {"update": read, "kernels": read, "first": read}
        limits["gradient"] = max(operations / rates["matrix"], read)
        for what, limit in limits.items():
            own, cores = device[what], host.get(what, float("nan"))
            found.setdefault("share", {})[what] = limit / own
            print(
                f"{n_classes:7d}  {what:9s} {1e3 * own:10.3f} {1e3 * limit:10.3f}"
                f" {limit / own:7.0%} {1e3 * cores:10.1f} {cores / own:8.0f}"
            )
        print(f"         kernels of an update, ms: {device['update_kernels']}")
        print(f"         kernels of a gradient, ms: {device['gradient_kernels']}")
        if host:
            print(
                f"         same pairs: {host['same_pairs']}, gradients differ by "
                f"{host['gradient_away']:.1e} of the largest entry"
            )


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--columns", type=int, default=256)
    parser.add_argument("--classes", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--host-updates", type=int, default=20, help="0: the device alone")
    parser.add_argument("--threads", type=int, default=16)
    asked = parser.parse_args()
    sklearn.set_config(array_api_dispatch=True)
    X = make_rows(asked.rows, asked.columns)
    rates = device_rates(X)
    results: dict[str, Any] = {"rows": asked.rows, "columns": asked.columns, "classes": {}}
    for n_classes in asked.classes:
        y = make_labels(X, n_classes)
        found = {"device": measure_device(X, y, n_classes, asked.updates, asked.host_updates)}
        if asked.host_updates:
            found["host"] = measure_host(
                X.cpu().numpy(), y, n_classes, asked.host_updates, asked.threads, found["device"]
            )
        results["classes"][n_classes] = found
    report(rates, X.numel() * X.element_size(), results)
    for found in results["classes"].values():
        for name in ("pairs", "weights", "pass"):
            del found["device"][name]
    print(json.dumps({"device": torch.cuda.get_device_name(), "rates": rates, **results}))


if __name__ == "__main__":
    main()
