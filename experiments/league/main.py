"""The league from the command line."""

from __future__ import annotations

import json
from argparse import Namespace
from importlib.metadata import version
from pathlib import Path

from experiments.league.data import SOURCES, load
from experiments.league.figure import draw_league
from experiments.league.finding import FINDERS
from experiments.league.judge import FIELDS, contests, hold, seeds_of
from experiments.league.methods import METHODS
from experiments.league.noises import CROWD, NOISES
from experiments.league.page import write_page
from experiments.league.results import Results
from experiments.runner import run_all
from experiments.store import Store

PACKAGES = ("numpy", "scipy", "scikit-learn", "cleanlab", "scikit-activeml")
TEMPLATE = Path(__file__).with_name("introduction.md")


def run_league(options: Namespace) -> int:
    """Hold the contests that are left and write the page; return the exit code."""
    names = options.only or list(SOURCES)
    if unknown := set(names) - set(SOURCES):
        print(f"No such data set: {', '.join(sorted(unknown))}. There are {', '.join(SOURCES)}.")
        return 2
    entrants = options.methods or [*METHODS, *FINDERS]
    if unknown := set(entrants) - {*METHODS, *FINDERS}:
        print(f"No such method: {', '.join(sorted(unknown))}.")
        print(f"There are {', '.join([*METHODS, *FINDERS])}.")
        return 2
    store = Store(options.results / "league.jsonl", FIELDS)
    finished = True
    if not options.summary:
        try:
            for name in names:
                load(name, 0)
        except OSError as error:
            print(f"{error}\nName the data sets you have with --only.")
            return 2
        todo = contests(store, names, seeds_of(options.quick, options.runs), entrants)
        print(f"{len(todo)} contests to hold; {len(store)} results are kept from before.")
        finished = run_all(
            todo, hold, store, kind_of=lambda c: f"{c.data} {c.knowledge}", n_jobs=options.jobs
        )
    if len(store) == 0:
        print(f"There are no results in {store.path} yet.")
        return 2 if options.summary else 130
    publish(store, options.docs or Path("docs"))
    return 0 if finished else 130


def publish(store: Store, docs: Path) -> None:
    """Write the page, the figure and the numbers behind them."""
    results = Results(store.records())
    folder = docs / "league"
    draw_league(results, folder)
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
                for field in ("error", "average_precision", "calibration_error", "log_loss")
                for end, read in (("", results.mean), ("_standard_error", results.error_of_mean))
                if results.values(place, field)
            },
        }
        for place in results.places
        for data, noise, knowledge, method in [place]
    ]
    packages = {name: version(name) for name in PACKAGES}
    text = json.dumps({"packages": packages, "results": numbers}, indent=0, sort_keys=True)
    (folder / "league.json").write_text(text + "\n", encoding="utf-8")
    seeds = ", ".join(
        f"{SOURCES[name].title}: {_seeds_in_words(results, name)}" for name in SOURCES
    )
    introduction = TEMPLATE.read_text(encoding="utf-8").replace("{seeds}", seeds)
    page = docs / "league.md"
    page.write_text(write_page(results, introduction), encoding="utf-8")
    print(f"Wrote {page}, and the figure and the numbers in {folder}.")


def _seeds_in_words(results: Results, name: str) -> str:
    """Say how many seeds there are, and of how many all contests of ours were held."""
    n_seeds = len(results.records((name, "none", "clean", "clean")))
    places = [
        (name, noise, knowledge, "ours")
        for noise in ((CROWD,) if name == "music" else NOISES)
        for knowledge in METHODS["ours"].knowledge
        if (knowledge, noise) != ("known", CROWD)
    ]
    whole = min(len(results.records(place)) for place in places)
    return str(n_seeds) if whole == n_seeds else f"{n_seeds} (ours, whole: {whole})"


def _rounded(number: float) -> float | None:
    return round(number, 6) if number == number else None
