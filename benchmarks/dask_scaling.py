"""Fits on Dask collections beside one process: overhead, throughput, bytes, faults, a cost model.

Run: python benchmarks/dask_scaling.py. It measures, writes all it found to
benchmarks/dask_scaling.json, and from that the tables of docs/scaling.md and
docs/extending/distributed.md. Rows are made on the
workers, float32; every process has one thread. ``--page`` writes the pages from the JSON alone;
``--only`` measures some parts again and keeps the others; ``--json`` and ``--rows`` are for trying
it out.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import dask
from distributed import Client, LocalCluster
from threadpoolctl import threadpool_limits

from dask_page import FAULTS, write_pages
from dask_timing import make_rows, measure, update_times
from dask_traffic import bytes_per_update, seconds_per_byte, seconds_per_task

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "dask_scaling.json"
PARTS = ("times", "malloc", "bytes", "faults")
WORKERS = 2
MALLOC = {
    "default": {},
    "dask": {"MALLOC_TRIM_THRESHOLD_": "65536"},
    "trim": {"MALLOC_TRIM_THRESHOLD_": "134217728"},
    "roomy": {"MALLOC_TRIM_THRESHOLD_": "134217728", "MALLOC_MMAP_THRESHOLD_": "33554432"},
}
TRAFFIC = [
    # rows, columns, classes, updates, workers
    (200_000, 50, 10, 100, 2),
    (200_000, 512, 10, 100, 2),
    (200_000, 512, 10, 100, 16),
    (200_000, 512, 10, 100, 100),
    (4_000, 512, 30, 100, 2),
    (20_000, 512, 30, 100, 2),
    (20_000, 512, 30, 100, 16),
    (200_000, 512, 30, 100, 2),
    (20_000, 5_000, 100, 60, 2),
    (80_000, 5_000, 100, 60, 2),
]


def cluster() -> LocalCluster:
    """Start worker processes of one thread each."""
    return LocalCluster(
        n_workers=WORKERS,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit=0,
    )


def measure_times(n_rows: list[int]) -> dict[str, Any]:
    """Time updates and passes in one process, in threads and on a cluster."""
    shapes = [(1000, 50), *((rows, 50) for rows in n_rows), (100_000, 512)]
    found: dict[str, Any] = {"workers": WORKERS, "machine": machine()}
    update_times(*dask.compute(*make_rows(1000, 50, 10)), 10)  # compile
    found["one_process"] = [show(measure(*shape, 10, True), "one process") for shape in shapes]
    found["threads"] = show(measure(1000, 50, 10, False), "threads")
    with cluster() as workers, Client(workers) as client:
        update_times(*make_rows(1000, 50, 10), 10)
        found["cluster"] = [show(measure(*shape, 10, False), "cluster") for shape in shapes]
        found["seconds_per_byte"] = seconds_per_byte(client)
        found["seconds_per_task"] = seconds_per_task(client)
    return found


def measure_malloc(n_rows: int = 500_000) -> dict[str, Any]:
    """Time one process as malloc is by default, as Dask's workers have it, and with more room."""
    found: dict[str, Any] = {"rows": n_rows} | {kind: [] for kind in MALLOC}
    # A cluster started from here may have left its settings in the environment.
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    for kind in [*MALLOC] * 2:
        told = subprocess.run(
            [sys.executable, __file__, "--one-process", str(n_rows)],
            env=plain | MALLOC[kind],
            capture_output=True,
            text=True,
            check=True,
        )
        found[kind].append(json.loads(told.stdout.splitlines()[-1]))
        print("malloc", kind, told.stdout.splitlines()[-1], flush=True)
    return found


def measure_bytes() -> list[dict[str, float]]:
    """Count the bytes of an update for several shapes, with the workers in this process."""
    found = []
    for *shape, workers in TRAFFIC:
        with dask.config.set(scheduler="threads", num_workers=workers):
            found.append(bytes_per_update(*shape, workers))
        print("bytes", json.dumps(found[-1]), flush=True)
    return found


def measure_faults() -> dict[str, Any]:
    """Run the tests that kill workers, and note what they say."""
    busy = machine()
    told = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-s",
            "-q",
            "-n",
            "0",
            "tests/engines/dask/test_faults.py",
        ],
        cwd=HERE.parent,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    said = re.findall(
        r"^(\w+), (.+): nothing lost \(weights within (\S+)\), "
        r"([\d.]+) s (?:\(([\d.]+) s without|for)",
        told,
        re.MULTILINE,
    )
    found: dict[str, Any] = {"machine": busy}
    for name, fault, within, took, without in said:
        times = {"took": float(took), "without": float(without) if without else None}
        found.setdefault(fault, {})[name] = {"within": float(within)} | times
    if any(len(found.get(fault, ())) != 2 for fault in FAULTS):
        raise SystemExit(f"Not every fault was survived:\n{told}")
    return found


def machine() -> dict[str, Any]:
    """Say how many cores there are, and how busy they were."""
    return {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}


def show(result: dict[str, float], how: str) -> dict[str, float]:
    """Print one line of the table as soon as it is there."""
    print(
        f"{how:12} {result['rows']:>10,} x {result['columns']:<4} "
        f"update {1e3 * result['update']:9.2f} ms (work {1e3 * result['update_work']:9.2f})  "
        f"pass {1e3 * result['pass']:9.2f} ms (work {1e3 * result['pass_work']:9.2f})",
        flush=True,
    )
    return result


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--json", type=Path, default=RESULTS)
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS)
    parser.add_argument("--page", action="store_true", help="measure nothing")
    parser.add_argument("--one-process", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    with threadpool_limits(1):  # as Dask's workers have it
        run(options)


def run(options: argparse.Namespace) -> None:
    """Do what the command line says."""
    if options.one_process:
        print(json.dumps(measure(options.one_process, 50, 10, True)))
        return
    found = json.loads(options.json.read_text()) if options.json.exists() else {}
    kinds = {
        "times": lambda: measure_times(options.rows),
        "malloc": measure_malloc,
        "bytes": measure_bytes,
        "faults": measure_faults,
    }
    for part in () if options.page else options.only:
        found[part] = kinds[part]()
        options.json.write_text(json.dumps(found, indent=1) + "\n")  # what is done is kept
    if options.json == RESULTS:
        write_pages(found)


if __name__ == "__main__":
    main()
