"""The league's records as tables of numbers: means, standard errors, differences by seed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from experiments.store import Record
from unconfused._typing import FloatArray

Place = tuple[str, str, str, str]
"""Data set, noise, knowledge, method."""


@dataclass(frozen=True)
class Difference:
    """One method's number minus another's, over the seeds that both have."""

    mean: float
    error: float
    """Standard error of the mean; 0 with a single seed."""

    n_seeds: int


class Results:
    """Looks up records by where they belong."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._by_place: dict[Place, dict[int, Record]] = {}
        for record in records:
            place = (record["data"], record["noise"], record["knowledge"], record["method"])
            self._by_place.setdefault(place, {})[int(record["seed"])] = record

    @property
    def places(self) -> list[Place]:
        """Everything there is a record for."""
        return list(self._by_place)

    def records(self, place: Place) -> list[Record]:
        """Return the records of one place, by seed."""
        own = self._by_place.get(place, {})
        return [own[seed] for seed in sorted(own)]

    def by_seed(self, place: Place) -> dict[int, Record]:
        """Return the records of one place that did not fail, by seed."""
        own = self._by_place.get(place, {})
        return {seed: own[seed] for seed in sorted(own) if "failed" not in own[seed]}

    def values(self, place: Place, field: str = "error") -> dict[int, float]:
        """Return a number by seed; runs that failed have none."""
        own = self._by_place.get(place, {})
        return {seed: float(r[field]) for seed, r in own.items() if r.get(field) is not None}

    def mean(self, place: Place, field: str = "error", beside: Place | None = None) -> float:
        """Return the mean over the seeds, or those that `beside` has too; NaN without any."""
        own = self.values(place, field)
        seeds = own if beside is None else self.values(beside, field)
        numbers = [number for seed, number in own.items() if seed in seeds]
        return float(np.mean(numbers)) if numbers else float("nan")

    def error_of_mean(self, place: Place, field: str = "error") -> float:
        """Return the standard error of the mean; NaN with fewer than two seeds."""
        return _standard_error(np.array(list(self.values(place, field).values())))

    def difference(self, one: Place, other: Place, field: str = "error") -> Difference | None:
        """Return one minus other over common seeds; None if there are none."""
        ours, theirs = self.values(one, field), self.values(other, field)
        common = sorted(set(ours) & set(theirs))
        if not common:
            return None
        gaps = np.array([ours[seed] - theirs[seed] for seed in common])
        error = _standard_error(gaps)
        return Difference(float(gaps.mean()), 0.0 if np.isnan(error) else error, len(common))


def _standard_error(numbers: FloatArray) -> float:
    if len(numbers) < 2:
        return float("nan")
    return float(numbers.std(ddof=1) / np.sqrt(len(numbers)))


def clean_place(data: str, method: str = "clean") -> Place:
    """Return where the ceiling of a data set stands; it has no noise."""
    return data, "none", "clean", method
