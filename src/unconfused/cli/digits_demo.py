"""The demo: digits with corrupted training labels, learnt with and without C."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from unconfused import noise
from unconfused._matrix import GuessedConfusionWarning
from unconfused._typing import FloatArray, Labels, Rows
from unconfused.estimators.logistic import UnconfusedLogisticRegression
from unconfused.estimators.uma import UMAClassifier
from unconfused.kernels import kernel_projection

N_CLASSES = 10
RATE = 0.4
N_RUNS = 3
N_FEATURES = 300
TEST_SHARE = 0.3
LOWER_RATES = (0.0, 0.1, 0.2, 0.3)
"""Other shares of wrong labels, for the curves of the figure."""
CURVE_RUNS = 2
"""Splits on which the curves are computed."""

CLEAN, BELIEVED = "clean labels", "noisy labels"
ESTIMATED, TOLD = "noisy labels, C estimated", "noisy labels and C"
"""What a learner was given."""

PLAIN, OURS = "LogisticRegression", "UnconfusedLogisticRegression"
CURVES = [(PLAIN, BELIEVED), (f"{OURS}(C)", TOLD)]
"""Learners in the figure's last panel."""

NOISES: dict[str, Callable[[int, float], FloatArray]] = {
    "pairwise": noise.pairwise,
    "symmetric": noise.symmetric,
}


class Problem(NamedTuple):
    """One split of the digits, the training labels corrupted; test labels are clean."""

    X_train: Rows
    X_test: Rows
    clean: Labels
    noisy: Labels
    y_test: Labels


@dataclass
class Learner:
    """A learner, what it was given, and how it did in every run."""

    name: str
    given: str
    make: Callable[[], Any]
    errors: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """Mean test error over the runs."""
        return float(np.mean(self.errors))

    @property
    def spread(self) -> float:
        """Standard deviation of the test error over the runs."""
        return float(np.std(self.errors, ddof=1)) if len(self.errors) > 1 else 0.0

    def run(self, problem: Problem) -> Any:
        """Fit once, note the error and the time, and return the fitted model."""
        model = self.make()
        begun = time.perf_counter()
        with warnings.catch_warnings():
            # That the matrix is estimated is what this learner is there to show.
            warnings.simplefilter("ignore", GuessedConfusionWarning)
            model.fit(problem.X_train, problem.clean if self.given == CLEAN else problem.noisy)
        self.seconds.append(time.perf_counter() - begun)
        self.errors.append(float(1.0 - model.score(problem.X_test, problem.y_test)))
        return model


def make_learners(confusion: FloatArray) -> list[Learner]:
    """Return the contestants; all but the first see the same noisy labels.

    The first is the learner that is recommended: it chooses its penalty on clean labels as on noisy
    ones, so that no difference between them is one of penalties.
    """

    def ours(confusion: Any = None) -> Any:
        return UnconfusedLogisticRegression(confusion, random_state=0)

    return [
        Learner(f"{OURS}()", CLEAN, ours),
        Learner(PLAIN, BELIEVED, lambda: LogisticRegression(max_iter=1000)),
        Learner("Perceptron", BELIEVED, lambda: Perceptron(random_state=0)),
        Learner(f'{OURS}("auto")', ESTIMATED, lambda: ours("auto")),
        Learner(f"{OURS}(C)", TOLD, lambda: ours(confusion)),
        Learner("UMAClassifier(C)", TOLD, lambda: UMAClassifier(confusion)),
    ]


def problems(confusion: FloatArray, seed: int, n_runs: int) -> Iterator[Problem]:
    """Split, project and corrupt the digits, once per run."""
    X, y = load_digits(return_X_y=True)
    for run in range(seed, seed + n_runs):
        X_train, X_test, clean, y_test = train_test_split(
            X, y, test_size=TEST_SHARE, stratify=y, random_state=run
        )
        projection = kernel_projection(N_FEATURES, random_state=run).fit(X_train)
        noisy = noise.corrupt_labels(clean, confusion, random_state=run)
        yield Problem(
            projection.transform(X_train), projection.transform(X_test), clean, noisy, y_test
        )


@dataclass(frozen=True)
class ErrorCurve:
    """Errors of a learner by the share of wrong labels (columns) in some runs (rows)."""

    learner: Learner
    rates: tuple[float, ...]
    errors: FloatArray


@dataclass(frozen=True)
class Outcome:
    """All that the table, the JSON and the figure show."""

    kind: str
    seed: int
    confusion: FloatArray
    learners: list[Learner]
    estimate: FloatArray
    """The confusion matrix that was estimated from the noisy labels of the first run."""
    curves: list[ErrorCurve]

    def best(self, given: str) -> Learner:
        """Return the learner with the lowest mean error among those given this."""
        return min((one for one in self.learners if one.given == given), key=lambda one: one.mean)

    def recommended(self) -> Learner:
        """Return the learner to use where C is known, whichever came out best here."""
        return next(one for one in self.learners if one.given == TOLD)

    def in_words(self) -> str:
        """Summarize the table in two or three sentences."""
        told, rival, ceiling = self.recommended(), self.best(BELIEVED), self.best(CLEAN)
        guessed = self.best(ESTIMATED)
        facts = (
            f"Knowing the confusion matrix, {told.name} has an error of {told.mean:.1%}; "
            f"estimating it, {guessed.name} has {guessed.mean:.1%}. The best learner that trusts "
            f"the noisy labels ({rival.name}) has {rival.mean:.1%}, and clean labels give "
            f"{ceiling.mean:.1%}."
        )
        if told.mean < rival.mean:
            return facts + " Here it helps to model the noise."
        return facts + " Here the noise can be ignored."

    def as_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {
            "data": "scikit-learn digits",
            "noise": {"kind": self.kind, "rate": RATE, "confusion": self.confusion.tolist()},
            "estimated_confusion": self.estimate.tolist(),
            "seeds": list(range(self.seed, self.seed + len(self.learners[0].errors))),
            "learners": [
                {
                    "name": one.name,
                    "given": one.given,
                    "mean_error": one.mean,
                    "std_error": one.spread,
                    "errors": one.errors,
                    "mean_fit_seconds": float(np.mean(one.seconds)),
                }
                for one in self.learners
            ],
            "in_words": self.in_words(),
        }


def run_demo(kind: str, seed: int, *, n_runs: int = N_RUNS, with_curves: bool = True) -> Outcome:
    """Let every learner run on every split."""
    confusion = NOISES[kind](N_CLASSES, RATE)
    learners = make_learners(confusion)
    estimate = confusion
    # Small matrices: one thread is faster than several, and times are alike on any machine.
    with threadpool_limits(1):
        for run, problem in enumerate(problems(confusion, seed, n_runs)):
            if run == 0:
                # Loops are compiled on first use and then kept; that is no time of any learner.
                quick = UnconfusedLogisticRegression(confusion, l2=1e-3, relabel=0)
                for model in (UMAClassifier(confusion), quick):
                    model.fit(problem.X_train, problem.noisy)
            for learner in learners:
                model = learner.run(problem)
                if run == 0 and learner.given == ESTIMATED:
                    estimate = np.asarray(model.confusion_)
        curves = _error_curves(kind, seed, learners) if with_curves else []
    return Outcome(kind, seed, confusion, learners, estimate, curves)


def _error_curves(kind: str, seed: int, learners: list[Learner]) -> list[ErrorCurve]:
    """Repeat the first runs with fewer wrong labels, for logistic regression without and with C."""

    def chosen(some: list[Learner]) -> list[Learner]:
        return [one for one in some if (one.name, one.given) in CURVES]

    shown = chosen(learners)
    n_runs = min(CURVE_RUNS, len(shown[0].errors))
    columns: list[list[list[float]]] = [[] for _ in shown]
    for rate in LOWER_RATES:
        confusion = NOISES[kind](N_CLASSES, rate)
        again = chosen(make_learners(confusion))
        for problem in problems(confusion, seed, n_runs):
            for one in again:
                one.run(problem)
        for column, one in zip(columns, again, strict=True):
            column.append(one.errors)
    return [
        ErrorCurve(one, (*LOWER_RATES, RATE), np.array([*column, one.errors[:n_runs]]).T)
        for column, one in zip(columns, shown, strict=True)
    ]
