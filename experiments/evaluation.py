"""How often the intervals of `NoisyEvaluation` contain the true score."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.confusion import from_trusted
from unconfused.metrics import NoisyEvaluation

OVERALL = ("accuracy", "balanced_accuracy", "macro_precision", "macro_f1")
BY_CLASS = ("precision", "recall", "f1", "prevalence", "confusion_matrix")

THREE = np.array([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.1, 0.1, 0.8]])
PREDICTS_THREE = np.array([[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])
TWO = np.array([[0.7, 0.3], [0.2, 0.8]])
PREDICTS_TWO = np.array([[0.92, 0.08], [0.15, 0.85]])
MANY = 0.7 * np.eye(30) + 0.01
PREDICTS_MANY = 0.7 * np.eye(30) + 0.01
TEN = 0.7 * np.eye(10) + 0.03
PREDICTS_TEN = 0.8 * np.eye(10) + 0.02


@dataclass(frozen=True)
class Setting:
    """Data to simulate.

    Parameters
    ----------
    title : name of the line in the table
    confusion, predicts : chances of labels and of predictions given the true class, (Q, Q)
    shares : of the true classes
    n_rows, n_trusted : rows to evaluate on, and how many of them are trusted
    n_counted : other rows that C is counted on; 0 if it is known exactly
    """

    title: str
    confusion: FloatArray
    predicts: FloatArray
    shares: tuple[float, ...]
    n_rows: int
    n_trusted: int
    n_counted: int


COMMON, RARE = (0.5, 0.3, 0.2), (0.8, 0.17, 0.03)
MOSTLY_RARE = tuple((0.85 ** np.arange(30) * 0.15 / (1 - 0.85**30)).tolist())
SETTINGS = [
    Setting("two classes", TWO, PREDICTS_TWO, (0.7, 0.3), 460, 60, 0),
    Setting("two classes", TWO, PREDICTS_TWO, (0.7, 0.3), 460, 60, 60),
    Setting("two classes, one rare", TWO, PREDICTS_TWO, (0.9, 0.1), 100, 30, 100),
    Setting("three classes", THREE, PREDICTS_THREE, COMMON, 460, 0, 0),
    Setting("three classes", THREE, PREDICTS_THREE, COMMON, 460, 60, 0),
    Setting("three classes", THREE, PREDICTS_THREE, COMMON, 460, 60, 60),
    Setting("three classes", THREE, PREDICTS_THREE, COMMON, 460, 60, 200),
    Setting("three classes", THREE, PREDICTS_THREE, COMMON, 460, 0, 200),
    Setting("three classes", THREE, PREDICTS_THREE, COMMON, 5000, 300, 600),
    Setting("three classes, one rare", THREE, PREDICTS_THREE, RARE, 460, 60, 0),
    Setting("three classes, one rare", THREE, PREDICTS_THREE, RARE, 2000, 100, 200),
    Setting("ten classes", TEN, PREDICTS_TEN, (0.1,) * 10, 2000, 100, 0),
    Setting("ten classes", TEN, PREDICTS_TEN, (0.1,) * 10, 2000, 100, 500),
    Setting("thirty classes, many rare", MANY, PREDICTS_MANY, MOSTLY_RARE, 2000, 0, 0),
]

PAGE = """\
# Evaluation on noisy labels: do the intervals cover?

`metrics.NoisyEvaluation` gives 95 % intervals. The table has the share of them that contain the
true score, in simulated data where it is known. *C* is known exactly, or was counted on that number
of other rows. *By class* is the mean over precision, recall, F1, prevalence and the cells of the
confusion matrix; *width* is the width of the interval of the accuracy. Among many classes, some
have so few rows that noisy labels alone cannot tell whether they occur: the mean recall over the
classes, the balanced accuracy, then misses them.

Made by `python -m experiments evaluation`: {runs:,} draws per line, so coverages are known to about
± {error:.3f}.

| classes | rows | trusted | C | accuracy | balanced | precision | F1 | by class | width |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
{lines}
"""


def run_evaluation(options: Namespace) -> int:
    """Simulate all settings and write the page; return the exit code."""
    runs = options.runs or (200 if options.quick else 2000)
    lines = []
    for setting in SETTINGS:
        covered, width = coverage(setting, runs)
        known = f"{setting.n_counted} rows" if setting.n_counted else "exact"
        told = [f"{one:.3f}" for one in (*covered[:4], covered[4:].mean(), width)]
        rows = f"{setting.n_rows:,} | {setting.n_trusted}"
        lines.append(f"| {setting.title} | {rows} | {known} | {' | '.join(told)} |")
        print(lines[-1], flush=True)
    error = 2 * np.sqrt(0.05 * 0.95 / runs)
    page = PAGE.format(runs=runs, error=error, lines="\n".join(lines))
    docs = options.docs or Path("docs")
    (docs / "evaluation_coverage.md").write_text(page, encoding="utf-8")
    return 0


def coverage(setting: Setting, runs: int, seed: int = 0, n_draws: int = 500) -> tuple[Any, float]:
    """Return the share of intervals that cover, by score, and the width of the accuracy's."""
    rng = np.random.default_rng(seed)
    right = true_scores(setting)
    covered, width = np.zeros(len(right)), 0.0
    for run in range(runs):
        found = _evaluate(setting, rng, n_draws, run)
        scores = [getattr(found, name) for name in (*OVERALL, *BY_CLASS)]
        covered += [
            np.mean((one.low <= value) & (value <= one.high))
            for one, value in zip(scores, right, strict=True)
        ]
        width += found.accuracy.high - found.accuracy.low
    return covered / runs, width / runs


def true_scores(setting: Setting) -> list[Any]:
    """Return the scores that the intervals should contain."""
    joint = np.array(setting.shares)[:, np.newaxis] * setting.predicts
    hits, prevalence, predicted = np.diag(joint), joint.sum(axis=1), joint.sum(axis=0)
    precision, recall, f1 = hits / predicted, hits / prevalence, 2 * hits / (prevalence + predicted)
    overall = [hits.sum(), recall.mean(), precision.mean(), f1.mean()]
    return [*overall, precision, recall, f1, prevalence, joint]


def _evaluate(
    setting: Setting, rng: np.random.Generator, n_draws: int, seed: int
) -> NoisyEvaluation:
    classes = np.arange(len(setting.shares))
    matrix: Any = setting.confusion
    if setting.n_counted:
        while True:  # a class that was not counted has no row of C
            truth = rng.choice(classes, setting.n_counted, p=setting.shares)
            if len(np.unique(truth)) == len(classes):
                break
        matrix = from_trusted(truth, _draw(rng, setting.confusion, truth), classes=classes)
    truth = rng.choice(classes, setting.n_rows, p=setting.shares)
    known = np.where(np.arange(setting.n_rows) < setting.n_trusted, truth, -1)
    return NoisyEvaluation(
        _draw(rng, setting.confusion, truth), _draw(rng, setting.predicts, truth), matrix,
        y_true=known if setting.n_trusted else None, classes=classes, n_draws=n_draws,
        random_state=seed,
    )  # fmt: skip


def _draw(rng: np.random.Generator, chances: FloatArray, truth: IntArray) -> IntArray:
    """Return a class for each row, with the chances of its true class."""
    cumulated = chances.cumsum(axis=1)
    cumulated[:, -1] = 1.0
    return np.asarray((rng.random(len(truth))[:, np.newaxis] > cumulated[truth]).sum(axis=1))
