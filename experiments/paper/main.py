"""The paper from the command line: do what is left, write numbers, figures and the page."""

from __future__ import annotations

import json
import os
import sys
import traceback
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from experiments.paper import (
    check,
    class_distributions,
    confusion_risk,
    figure3,
    figure4,
    figure5,
    kernel_forms,
    monotonic,
    options,
    self_labeling,
    style,
    table1,
    toy_noise,
    toy_wrong_matrix,
    updates,
)
from experiments.paper.data import FOLDER_VARIABLE, LOADERS, raw
from experiments.paper.experiment import FIELDS, Experiment, Scope, Task
from experiments.paper.page import write_page
from experiments.runner import run_all
from experiments.store import Record, Store

EXPERIMENTS: dict[str, Experiment] = {
    module.NAME: module.EXPERIMENT
    for module in (
        toy_noise,
        toy_wrong_matrix,
        class_distributions,
        updates,
        self_labeling,
        table1,
        options,
        figure3,
        figure4,
        figure5,
        monotonic,
        confusion_risk,
        kernel_forms,
    )
}
ALL = "paper"
"""The name that stands for all of them."""

DOCS = Path("docs")


def run_paper(asked: Namespace) -> int:
    """Run an experiment, or all; return the exit code."""
    names = list(EXPERIMENTS) if asked.name == ALL else [asked.name]
    scope = Scope(asked.quick, asked.runs, asked.only)
    # A quick look is kept apart: its numbers are not those of the docs.
    folder = asked.results / ("paper-quick" if asked.quick else "paper")
    docs = asked.docs or (folder if asked.quick else DOCS)
    os.environ[FOLDER_VARIABLE] = str((folder / "projections").absolute())
    if problem := _missing(scope, names):
        print(problem)
        return 2
    store = Store(folder / "results.jsonl", FIELDS)
    if {table1.NAME, options.NAME} & set(names):
        choice = EXPERIMENTS[self_labeling.NAME].tasks(scope)
        if not (asked.summary or asked.check) and not _do(choice, store, asked.jobs):
            return 130
        scope = replace(scope, self_labeling=_chosen(choice, store))
    tasks = [task for name in names for task in EXPERIMENTS[name].tasks(scope)]
    if asked.check:
        return _check(tasks, store, docs, asked)
    if not asked.summary and not _do(tasks, store, asked.jobs):
        return 130
    publish(names, tasks, store, docs, asked.quick)
    return _say_what_failed(tasks, store)


def _results(tasks: Sequence[Task], store: Store) -> list[Record]:
    """Return what these tasks found, as far as they are done."""
    wanted = {task.key for task in tasks}
    return [r for r in store.records() if store.key_of(r) in wanted and "failed" not in r]


def _chosen(choice: list[Task], store: Store) -> str:
    """Return the setting that the labels of Digits chose; none without results."""
    records = _results(choice, store)
    return str(EXPERIMENTS[self_labeling.NAME].summarise(records)["lowest"]) if records else ""


def _missing(scope: Scope, names: Sequence[str]) -> str | None:
    """Return what is wrong with the data sets, before anything takes long."""
    if unknown := set(scope.only or ()) - set(LOADERS):
        return f"No such data set: {', '.join(sorted(unknown))}. There are {', '.join(LOADERS)}."
    needed = {task.data for name in names for task in EXPERIMENTS[name].tasks(scope)}
    if {table1.NAME, options.NAME} & set(names):
        needed.add("digits")  # where a setting is chosen, whatever it is then used on
    try:
        for name in sorted(needed & set(LOADERS)):
            raw(name, 0, scope.quick)
    except OSError as error:
        return f"{error}\nName the data sets you have with --only."
    return None


def _do(tasks: list[Task], store: Store, n_jobs: int) -> bool:
    done = {store.key_of(record) for record in store.records() if "failed" not in record}
    todo = [task for task in tasks if task.key not in done]
    print(f"{len(todo)} of {len(tasks)} tasks to do; the others are kept from before.")
    return run_all(todo, do, store, kind_of=_kind, n_jobs=n_jobs)


def _check(tasks: list[Task], store: Store, docs: Path, asked: Namespace) -> int:
    """Make a sample of the stored results again, and say what changed."""
    drawn = check.sample(tasks, store)
    again = Store(store.path.with_name(f"{check.FILE}.jsonl"), FIELDS)
    print(f"Results made again are kept in {again.path}; delete it to start anew.")
    finished = asked.summary or _do(drawn, again, asked.jobs)
    found = check.compare(drawn, store, again)
    path = docs / "paper" / f"{check.FILE}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(check.in_words(found), write_page(docs, asked.quick))
    return 0 if finished else 130


def _kind(task: Task) -> str:
    return f"{task.experiment} {task.data} {task.part}"


def do(task: Task) -> list[Record]:
    """Do one task; a failure is told, kept as such, and tried again next time."""
    try:
        return [task.record(**EXPERIMENTS[task.experiment].work(task))]
    except Exception as error:  # hours of other work must not be lost to one task
        traceback.print_exc(file=sys.stderr)
        return [task.record(failed=f"{type(error).__name__}: {error}"[:300])]


def _say_what_failed(tasks: list[Task], store: Store) -> int:
    wanted = {task.key for task in tasks}
    failed = [r for r in store.records() if "failed" in r and store.key_of(r) in wanted]
    for record in failed:
        print(f"Failed: {' '.join(store.key_of(record)[:4])}: {record['failed']}")
    return 1 if failed else 0


def publish(names: Sequence[str], tasks: list[Task], store: Store, docs: Path, quick: bool) -> None:
    """Write the summary and the figure of each experiment with results, and the page."""
    folder = docs / "paper"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        records = _results([task for task in tasks if task.experiment == name], store)
        if not records:
            continue
        summary = EXPERIMENTS[name].summarise(records)
        text = json.dumps(_rounded(summary), indent=1, ensure_ascii=False)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        if EXPERIMENTS[name].draw is not None:
            style.save(EXPERIMENTS[name].draw(summary), folder, name)
    print(f"Numbers and figures are in {folder}, the page is {write_page(docs, quick)}.")


def _rounded(value: object) -> object:
    """Round numbers for the files: more digits than four say nothing."""
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return value
