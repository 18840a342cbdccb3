"""Fit rows that lie on disk, and watch how much memory is taken beside them.

Run in the folder benchmarks: python -m engine.on_disk [--rows N]; 1,000,000 rows are 4 GB.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from unconfused import UMAClassifier, noise

N_COLUMNS, N_CLASSES, BLOCK = 1_000, 10, 10_000


def write_rows(path: Path, n_rows: int) -> np.ndarray:
    """Write clouds of rows, a block at a time; return their classes.

    All blocks take their noise from one, turned: drawing it anew would take longer than the fit.
    """
    rng = np.random.default_rng(0)
    centres = 0.13 * rng.standard_normal((N_CLASSES, N_COLUMNS), dtype=np.float32)
    cloud = rng.standard_normal((BLOCK, N_COLUMNS), dtype=np.float32)
    true = rng.integers(N_CLASSES, size=n_rows)
    X = np.lib.format.open_memmap(path, "w+", np.float32, (n_rows, N_COLUMNS))
    for start in range(0, n_rows, BLOCK):
        own = true[start : start + BLOCK]
        X[start : start + len(own)] = centres[own]
        X[start : start + len(own)] += np.roll(cloud[: len(own)], start // BLOCK, axis=1)
    return true


def anonymous_bytes() -> int:
    """Return the resident memory that no file backs."""
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines["RssAnon"].split()[0]) * 1024


def main() -> None:
    """Write, fit, and print the highest anonymous memory seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    n_rows = parser.parse_args().rows
    confusion = noise.symmetric(N_CLASSES, 0.3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        true = write_rows(path, n_rows)
        y = noise.corrupt_labels(true, confusion, random_state=0)
        X = np.load(path, mmap_mode="r")
        before, peak, done = anonymous_bytes(), [0], threading.Event()

        def watch() -> None:
            while not done.wait(0.01):
                peak[0] = max(peak[0], anonymous_bytes())

        watcher = threading.Thread(target=watch)
        watcher.start()
        begun = time.perf_counter()
        clf = UMAClassifier(confusion, max_iter=20, whiten=False).fit(X, y)
        seconds = time.perf_counter() - begun
        done.set()
        watcher.join()
        error = np.mean(clf.predict(X[:10_000]) != true[:10_000])
    print(f"{X.nbytes / 1e9:.1f} GB of rows, {clf.n_iter_} updates in {seconds:.1f} s")
    print(f"anonymous memory: {before / 1e6:.0f} MB before, at most {peak[0] / 1e6:.0f} MB")
    print(f"error on clean labels: {error:.4f}")


if __name__ == "__main__":
    main()
