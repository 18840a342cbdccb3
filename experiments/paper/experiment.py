"""What an experiment of the paper is: tasks, the work on one, a summary, a picture."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.paper.settings import CONF_SHARE, TURNS, setting_of
from experiments.store import Key, Record

FIELDS = ("experiment", "data", "run", "part", "settings")
"""What tells one result from another; results under other settings are not these results."""

Summary = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One piece of work that is done whole or not at all."""

    experiment: str
    data: str
    run: int
    part: str
    quick: bool
    detail: str = ""
    """Whatever else was decided and may yet be decided otherwise."""

    @property
    def key(self) -> Key:
        """Return what its result is kept under."""
        setting = None if self.data == "circle" else setting_of(self.data, self.quick)
        decided = repr((setting, TURNS, CONF_SHARE, self.detail))
        mark = hashlib.sha256(decided.encode()).hexdigest()[:8]
        return (self.experiment, self.data, str(self.run), self.part, mark)

    def record(self, **values: Any) -> Record:
        """Return the result as it is kept."""
        return dict(zip(FIELDS, self.key, strict=True)) | values


@dataclass(frozen=True)
class Scope:
    """How much is asked for."""

    quick: bool = False
    runs: int | None = None
    only: Sequence[str] | None = None
    self_labeling: str = ""
    """The setting of SelfLabelingClassifier that was chosen on Digits."""

    def n_runs(self, usual: int, quick: int = 1) -> range:
        """Return the runs of something that is run so often in the paper."""
        n = quick if self.quick else usual
        return range(min(n, self.runs) if self.runs else n)

    def names(self, names: Sequence[str]) -> list[str]:
        """Return those data sets that are asked for."""
        return [name for name in names if self.only is None or name in self.only]


@dataclass(frozen=True)
class Experiment:
    """A table or figure."""

    title: str
    tasks: Callable[[Scope], list[Task]]
    work: Callable[[Task], dict[str, Any]]
    """Does one task and returns its values."""

    summarise: Callable[[list[Record]], Summary]
    """Turns records into means and standard errors, as they are published."""

    draw: Callable[[Summary], Any] | None
    """Returns a figure."""


def mean_and_error(values: Sequence[float]) -> dict[str, Any]:
    """Return the mean over runs, its standard error (None for a single run), and their number."""
    found = np.asarray(values, dtype=np.float64)
    error = float(found.std(ddof=1) / len(found) ** 0.5) if len(found) > 1 else None
    return {"mean": float(found.mean()), "standard_error": error, "n_runs": len(found)}


def cell(value: dict[str, Any], digits: int = 3, sign: str = "") -> str:
    """Return a mean with its standard error, in words."""
    error = value["standard_error"]
    tail = "" if error is None else f" ± {error:.{digits}f}"
    return f"{value['mean']:{sign}.{digits}f}{tail}"


def shown(value: dict[str, Any], digits: int = 3) -> str:
    """Return a difference with its sign and its standard error."""
    return cell(value, digits, "+")


def curve(columns: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Return means and standard errors along a curve, from one list of values per run."""
    table = np.asarray(columns, dtype=np.float64)
    errors = table.std(axis=0, ddof=1) / len(table) ** 0.5 if len(table) > 1 else None
    return {
        "mean": table.mean(axis=0).tolist(),
        "standard_error": None if errors is None else errors.tolist(),
        "n_runs": len(table),
    }


def of_data(records: list[Record], name: str) -> list[Record]:
    """Return the records of one data set."""
    return [record for record in records if record["data"] == name]


def shown_data(records: list[Record]) -> list[str]:
    """Return the data sets with results, in the paper's order."""
    order = ("circle", "digits", "letter", "reuters")
    return [name for name in order if of_data(records, name)]
