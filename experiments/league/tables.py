"""The block of tables: linear methods on small public tables, most of which nobody had looked at.

The sets of the main block helped to find faults, and sets that did are no clean judges. These are
many, small and cheap; each belongs to those that rules were compared on, or to those that judge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from experiments.league.block import Block
from experiments.league.data import SOURCES, DataSet, Source
from experiments.league.finding import FINDERS
from experiments.league.methods import METHODS
from experiments.league.page import write_page
from experiments.league.raw_data import MILD, RAW_SOURCES, TABLES, load_table
from experiments.league.targets import TARGETS

LOOKED_AT = TABLES
"""Tables that rules were compared on, here or around other classifiers."""

JUDGES = (
    "balanced/chess", "balanced/led7digit", "balanced/mammographic", "balanced/mushroom",
    "balanced/penbased", "balanced/spambase", "balanced/splice", "balanced/texture",
    "balanced/titanic", "balanced/twonorm", "imbalanced/abalone9-18", "imbalanced/car-good",
    "imbalanced/ecoli3", "imbalanced/segment0", "imbalanced/vehicle2", "imbalanced/vowel0",
)  # fmt: skip
"""Tables that only judge: named before anything was run on them, and never tuned on."""


def _linear(load: Callable[[int], DataSet]) -> Callable[[int], DataSet]:
    """Return a loader of the same rows, with standardized numbers and indicators of categories."""

    def load_linear(seed: int) -> DataSet:
        data = load(seed)
        words = make_column_selector(dtype_include="category")
        indicators = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        columns = make_column_transformer((indicators, words), remainder=StandardScaler())
        X = columns.fit_transform(data.X)
        return replace(data, X=X, X_test=columns.transform(data.X_test))

    return load_linear


def _source(path: str, settled: bool) -> Source:
    folder, name = path.split("/") if "/" in path else ("balanced", path)
    load = load_table(name, folder) if "/" in path else RAW_SOURCES[name].load
    return Source(name.capitalize(), _linear(load), MILD, 10, settled=settled)


TABLE_SOURCES = {
    f"table-{path.split('/')[-1]}": _source(path, path in LOOKED_AT)
    for path in (*LOOKED_AT, *JUDGES)
}
SOURCES.update(TABLE_SOURCES)

BLOCK = Block(
    "tables",
    "league_tables",
    tuple(TABLE_SOURCES),
    {name: method for name, method in METHODS.items() if not method.votes},
    FINDERS,
    TARGETS,
    "introduction_tables.md",
    page=write_page,
)
