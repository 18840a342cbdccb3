"""The league from the command line."""

from __future__ import annotations

import json
from argparse import Namespace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from experiments.league.block import MODULES, Block, find_block
from experiments.league.data import SOURCES, load
from experiments.league.figure import draw_league
from experiments.league.judge import FIELDS, Plan, contests, hold, noises_of, seeds_of
from experiments.league.page import write_page
from experiments.league.results import Results, clean_place
from experiments.runner import run_all
from experiments.store import Store

PACKAGES = ("numpy", "scipy", "scikit-learn", "cleanlab", "scikit-activeml")
MEANS = ("error", "average_precision", "calibration_error", "log_loss")


def run_league(options: Namespace) -> int:
    """Hold the contests that are left and write the page; return the exit code."""
    if options.block not in MODULES:
        print(f"No such block: {options.block}. There are {', '.join(MODULES)}.")
        return 2
    block = find_block(options.block)
    names, entrants = options.only or list(block.sets), [*block.methods, *block.finders]
    noises = {noise for name in block.sets for noise in noises_of(block, name)}
    for what, wanted, known in (
        ("data set", names, block.sets),
        ("method", options.methods or [], entrants),
        ("noise", options.noises or [], noises),
    ):
        if unknown := sorted(set(wanted) - set(known)):
            print(f"No such {what}: {', '.join(unknown)}. There are {', '.join(sorted(known))}.")
            return 2
    store = Store(options.results / f"{block.stem}.jsonl", FIELDS)
    if block.borrowed:
        others = Store(options.results / "league.jsonl", FIELDS).records()
        store.count_too(
            record
            for record in others
            if record["method"] in block.borrowed
            and record["knowledge"] in block.methods[record["method"]].knowledge
            and record["noise"] in {"none", *noises}
        )
    finished = True
    if not options.summary:
        try:
            for name in names:
                load(name, 0)
        except OSError as error:
            print(f"{error}\nName the data sets you have with --only.")
            return 2
        n_seeds = seeds_of(names, options.quick, options.runs)
        plan = Plan(names, n_seeds, options.methods or entrants, options.noises)
        todo = contests(block, store, plan)
        print(f"{len(todo)} contests to hold; {len(store)} results are kept from before.")
        finished = run_all(
            todo, hold, store, kind_of=lambda c: f"{c.data} {c.knowledge}", n_jobs=options.jobs
        )
    if len(store) == 0:
        print(f"There are no results in {store.path} yet.")
        return 2 if options.summary else 130
    publish(block, store, options.docs or Path("docs"))
    return 0 if finished else 130


def publish(block: Block, store: Store, docs: Path) -> None:
    """Write the page, the figure and the numbers behind them."""
    results = Results(store.records())
    folder = docs / "league"
    folder.mkdir(parents=True, exist_ok=True)
    if block.page is None:
        draw_league(results, folder, block.stem)
    numbers = [
        {
            "data": data,
            "noise": noise,
            "knowledge": knowledge,
            "method": method,
            "n_seeds": len(results.records(place)),
            "failed": sum("failed" in record for record in results.records(place)),
            **{
                f"{field}{end}": _rounded(read(place, field))
                for field in MEANS
                for end, read in (("", results.mean), ("_standard_error", results.error_of_mean))
                if results.values(place, field)
            },
        }
        for place in results.places
        for data, noise, knowledge, method in [place]
    ]
    packages = {name: _version(name) for name in PACKAGES}
    text = json.dumps({"packages": packages, "results": numbers}, indent=0, sort_keys=True)
    (folder / f"{block.stem}.json").write_text(text + "\n", encoding="utf-8")
    template = Path(__file__).with_name(block.introduction).read_text(encoding="utf-8")
    introduction = template.replace("{seeds}", _seeds_in_words(block, results))
    page = docs / f"{block.stem}.md"
    write = block.page or write_page
    page.write_text(write(block, results, introduction), encoding="utf-8")
    print(f"Wrote {page}, and the figure and the numbers in {folder}.")


def _seeds_in_words(block: Block, results: Results) -> str:
    """Say how many seeds each set has, and how many it should have."""
    words = []
    for name in block.sets:
        own = [place for place in results.places if place[:3] == clean_place(name)[:3]]
        if block.borrowed:  # others may have more seeds than the block's own methods
            own = [p for p in results.places if p[0] == name and p[3] not in block.borrowed]
        n_seeds = max((len(results.records(place)) for place in own), default=0)
        words.append(f"{SOURCES[name].title} {n_seeds} of {SOURCES[name].n_seeds}")
    return ", ".join(words)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:  # whose methods took no part
        return None


def _rounded(number: float) -> float | None:
    return round(number, 6) if number == number else None
