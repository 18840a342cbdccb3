"""How much memory `unconfused fit --stream` takes beside the size of its file.

``python benchmarks/stream_fit.py FOLDER [--rows 6000000] [--max-iter 3]`` writes a CSV file into
FOLDER (0.2 GB per million rows), fits, prints what it took, and removes the file. Linux only: the
anonymous memory of a process is read from /proc. Pages of files that are mapped, which the system
can take back at any time, are not part of it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

CLASSES = np.array(["ant", "bee", "cat", "dog", "eel"])
N_NUMBERS, N_CITIES, AT_ONCE = 20, 50, 100_000


def write_data(path: Path, n_rows: int) -> None:
    """Write numbers with gaps, a category, and labels of which a fifth are the next class."""
    rng = np.random.RandomState(0)
    weights = rng.randn(N_NUMBERS, len(CLASSES))
    with open(path, "w", encoding="utf-8") as stream:
        for begun in range(0, n_rows, AT_ONCE):
            n = min(AT_ONCE, n_rows - begun)
            X = rng.randn(n, N_NUMBERS)
            truth = (X @ weights).argmax(axis=1)
            seen = np.where(rng.rand(n) < 0.2, truth + 1, truth) % len(CLASSES)
            frame = pd.DataFrame(X.round(6), columns=[f"x{i}" for i in range(N_NUMBERS)])
            frame = frame.mask(rng.rand(*X.shape) < 0.01)
            frame["city"] = [f"city{k}" for k in rng.randint(N_CITIES, size=n)]
            frame["kind"] = CLASSES[seen]
            frame.to_csv(stream, index=False, header=begun == 0)


def write_matrix(path: Path) -> None:
    """Write how the labels go wrong."""
    matrix = 0.8 * np.eye(len(CLASSES)) + 0.2 * np.roll(np.eye(len(CLASSES)), 1, axis=1)
    pd.DataFrame(matrix, index=CLASSES, columns=CLASSES).to_csv(path)


def peak_memory(command: list[str]) -> tuple[float, float]:
    """Run a command; return the most anonymous memory it had, in MB, and how long it took."""
    begun, peak = time.perf_counter(), 0
    process = subprocess.Popen(command)
    while process.poll() is None:
        try:
            said = Path(f"/proc/{process.pid}/status").read_text()
            peak = max(peak, int(said.split("RssAnon:")[1].split()[0]))
        except (OSError, IndexError):  # it has just ended
            pass
        time.sleep(0.1)
    if process.returncode:
        sys.exit(process.returncode)
    return peak / 1024, time.perf_counter() - begun


def main() -> None:
    """Write, fit, tell, remove."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=6_000_000)
    parser.add_argument("--max-iter", type=int, default=3)
    parser.add_argument("--in-memory", action="store_true", help="--no-stream, to compare")
    asked = parser.parse_args()
    data, matrix = asked.folder / "stream_fit.csv", asked.folder / "stream_fit_C.csv"
    model = asked.folder / "stream_fit.skops"
    try:
        write_data(data, asked.rows)
        write_matrix(matrix)
        way = "--no-stream" if asked.in_memory else "--stream"
        options = ["--label", "kind", "--confusion", matrix, "--max-iter", asked.max_iter, way]
        command = [sys.executable, "-m", "unconfused", "fit", data, *options, "-o", model]
        memory, seconds = peak_memory([str(one) for one in command])
        size = data.stat().st_size / 2**20
        print(
            f"{size:,.0f} MB of CSV, {asked.rows:,} rows: at most {memory:,.0f} MB, {seconds:.0f} s"
        )
    finally:
        for path in (data, matrix, model):
            path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
