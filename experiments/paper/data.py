"""The paper's data sets, split, scaled and projected; projections are kept on disk."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from experiments.paper.settings import FIRST_DRAW, Setting, setting_of
from unconfused import datasets
from unconfused._typing import IntArray, Rows
from unconfused.kernels import kernel_projection

FOLDER_VARIABLE = "UNCONFUSED_PROJECTIONS"
"""Where projections are kept; set by the command, so that its processes know too."""


@dataclass(frozen=True)
class Problem:
    """Training and test rows with their true classes as codes 0 .. Q - 1."""

    X: Rows
    truth: IntArray
    X_test: Rows
    truth_test: IntArray
    classes: tuple[str, ...]

    @property
    def n_classes(self) -> int:
        """Return the number of classes, Q."""
        return len(self.classes)

    def error(self, model: Any) -> float:
        """Return the share of test rows that a model gets wrong."""
        with np.errstate(invalid="ignore"):  # label spreading, on rows that no label reaches
            predicted = np.asarray(model.predict(self.X_test))
        return float(np.mean(predicted != self.truth_test))


@lru_cache(maxsize=2)
def raw(name: str, run: int, quick: bool) -> Problem:
    """Return a data set before any projection; only Letter's split depends on the run."""
    setting = setting_of(name, quick)
    X, y, X_test, y_test = LOADERS[name](setting, run)
    classes = np.unique(y)
    shown = np.flatnonzero(np.isin(y_test, classes))[: setting.n_test]
    return Problem(
        X,
        np.searchsorted(classes, y),
        X_test[shown],
        np.searchsorted(classes, y_test[shown]),
        tuple(map(str, classes)),
    )


def _digits(setting: Setting, run: int) -> tuple[Any, ...]:
    X, y = datasets.fetch_optdigits(return_X_y=True)
    X_test, y_test = datasets.fetch_optdigits(subset="test", return_X_y=True)
    return X / 16, y, X_test / 16, y_test


def _letter(setting: Setting, run: int) -> tuple[Any, ...]:
    X, y = datasets.fetch_letter(return_X_y=True)
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=setting.n_train, random_state=FIRST_DRAW + run
    )
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(X_test), y_test


def _reuters(setting: Setting, run: int) -> tuple[Any, ...]:
    X, y = datasets.fetch_reuters(n_largest=9, return_X_y=True)
    X_test, y_test = datasets.fetch_reuters(subset="test", n_largest=9, return_X_y=True)
    return X, y, X_test, y_test


def all_reuters() -> tuple[Any, ...]:
    """Return training and test rows of Reuters with all classes."""
    X, y = datasets.fetch_reuters(return_X_y=True)
    return X, y, *datasets.fetch_reuters(subset="test", return_X_y=True)


LOADERS = {"digits": _digits, "letter": _letter, "reuters": _reuters}


@lru_cache(maxsize=1)
def load(name: str, run: int, quick: bool) -> Problem:
    """Return a data set as the linear learners see it."""
    problem = raw(name, run, quick)
    n_components = setting_of(name, quick).n_components
    if n_components is None:
        return problem
    split = run if setting_of(name, quick).n_train else 0  # a split of its own, or the only one
    X, X_test = _projected(
        problem, n_components, f"{name}-{len(problem.truth)}", FIRST_DRAW + split
    )
    return Problem(X, problem.truth, X_test, problem.truth_test, problem.classes)


def _projected(problem: Problem, n_components: int, name: str, split: int) -> tuple[Rows, Rows]:
    """Project all rows, or read what was projected before."""
    folder = os.environ.get(FOLDER_VARIABLE)
    kept = Path(folder, f"{name}-{n_components}-{split}.npy") if folder else None
    if kept is not None and kept.exists():
        both = np.load(kept)
    else:
        projection = kernel_projection(n_components, random_state=split).fit(problem.X)
        both = np.vstack([projection.transform(rows) for rows in (problem.X, problem.X_test)])
        if kept is not None:
            _write_whole(kept, both)
    return both[: len(problem.truth)], both[len(problem.truth) :]


def _write_whole(path: Path, array: Any) -> None:
    """Write beside the place first: a run cut short leaves no half file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(f".{os.getpid()}.tmp")
    with scratch.open("wb") as file:
        np.save(file, array)
    os.replace(scratch, path)
