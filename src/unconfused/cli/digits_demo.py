"""The demo: digits with corrupted training labels, learnt with and without C."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from unconfused import UMAClassifier, UnconfusedLogisticRegression, noise
from unconfused._typing import FloatArray, Labels, Rows
from unconfused.kernels import kernel_projection

N_CLASSES = 10
RATE = 0.4
N_RUNS = 5
N_FEATURES = 300
L2 = 1 / 1257
"""The penalty of LogisticRegression's default, C = 1, on the 1,257 training rows."""
TEST_SHARE = 0.3
PATH_UPDATES = 100
PATH_STRIDE = 2

CLEAN, BELIEVED, TOLD = "clean labels", "noisy labels", "noisy labels and C"
"""What a learner was given."""

NOISES: dict[str, Callable[[int, float], FloatArray]] = {
    "pairwise": noise.pairwise,
    "symmetric": noise.symmetric,
}


@dataclass(frozen=True)
class Problem:
    """One split of the digits, the training labels corrupted."""

    X_train: Rows
    X_test: Rows
    clean: Labels
    noisy: Labels
    y_test: Labels

    def test_error(self, model: Any) -> float:
        """Share of the unseen rows, all with clean labels, that a fitted model gets wrong."""
        return float(1.0 - model.score(self.X_test, self.y_test))


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

    def run(self, problem: Problem) -> None:
        """Fit once and note the error and the time."""
        model = self.make()
        begun = time.perf_counter()
        model.fit(problem.X_train, problem.clean if self.given == CLEAN else problem.noisy)
        self.seconds.append(time.perf_counter() - begun)
        self.errors.append(problem.test_error(model))


def confusion_for(kind: str) -> FloatArray:
    """Return the matrix the demo corrupts with: "pairwise" or "symmetric"."""
    return NOISES[kind](N_CLASSES, RATE)


def make_learners(confusion: FloatArray) -> list[Learner]:
    """Return the contestants; all but the first see the same noisy labels."""

    def logistic() -> Any:
        return LogisticRegression(max_iter=1000)

    return [
        Learner("LogisticRegression", CLEAN, logistic),
        Learner("LogisticRegression", BELIEVED, logistic),
        Learner("Perceptron", BELIEVED, lambda: Perceptron(random_state=0)),
        Learner("UMAClassifier()", BELIEVED, UMAClassifier),
        Learner("UMAClassifier(C)", TOLD, lambda: UMAClassifier(confusion)),
        Learner(
            'UMAClassifier(C, init="means")', TOLD, lambda: UMAClassifier(confusion, init="means")
        ),
        Learner(
            "UnconfusedLogisticRegression(C)",
            TOLD,
            lambda: UnconfusedLogisticRegression(confusion, l2=L2),
        ),
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


def error_path(problem: Problem, confusion: FloatArray | None) -> FloatArray:
    """Follow the test error of UMA over its updates; where it stops, it stays."""
    model = UMAClassifier(confusion, max_iter=PATH_STRIDE, warm_start=True)
    errors: list[float] = []
    while len(errors) < PATH_UPDATES // PATH_STRIDE:
        model.fit(problem.X_train, problem.noisy)
        errors.append(problem.test_error(model))
        if model.n_iter_ < PATH_STRIDE * len(errors):
            break
    return np.pad(errors, (0, PATH_UPDATES // PATH_STRIDE - len(errors)), mode="edge")


@dataclass(frozen=True)
class Outcome:
    """All that the table, the JSON and the figure show."""

    kind: str
    seed: int
    confusion: FloatArray
    learners: list[Learner]
    paths: dict[str, FloatArray]
    """Error by update (columns) in every run (rows)."""

    def best(self, given: str) -> Learner:
        """Return the learner with the lowest mean error among those given this."""
        return min((one for one in self.learners if one.given == given), key=lambda one: one.mean)

    def default_uma(self) -> Learner:
        """Return UMA with C and otherwise its defaults."""
        return next(one for one in self.learners if one.given == TOLD)

    def in_words(self) -> str:
        """Say what the table means, whichever way it came out."""
        told, rival, ceiling = self.best(TOLD), self.best(BELIEVED), self.best(CLEAN)
        facts = (
            f"Told how labels go wrong, {told.name} errs on {told.mean:.1%} of unseen digits; the "
            f"best that believes the labels ({rival.name}) on {rival.mean:.1%}; clean labels "
            f"would give {ceiling.mean:.1%}."
        )
        if told.mean < rival.mean:
            return facts + " Here knowing the noise pays."
        return facts + " Here believing the labels is better: this noise can be ignored."

    def as_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {
            "data": "scikit-learn digits",
            "noise": {"kind": self.kind, "rate": RATE, "confusion": self.confusion.tolist()},
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


def run_demo(kind: str, seed: int, *, n_runs: int = N_RUNS, with_paths: bool = True) -> Outcome:
    """Let every learner run on every split."""
    confusion = confusion_for(kind)
    learners = make_learners(confusion)
    paths: dict[str, list[FloatArray]] = {"UMAClassifier()": [], "UMAClassifier(C)": []}
    # Small matrices: one thread is faster than several, and times are alike on any machine.
    with threadpool_limits(1):
        _run_all(learners, paths, problems(confusion, seed, n_runs), confusion, with_paths)
    kept = {name: np.array(runs) for name, runs in paths.items() if runs}
    return Outcome(kind, seed, confusion, learners, kept)


def _run_all(
    learners: list[Learner],
    paths: dict[str, list[FloatArray]],
    splits: Iterator[Problem],
    confusion: FloatArray,
    with_paths: bool,
) -> None:
    for problem in splits:
        if not learners[0].errors:
            # The loops are compiled on first use and then kept; that is no time of any learner.
            UMAClassifier(confusion, max_iter=PATH_STRIDE).fit(problem.X_train, problem.noisy)
        for learner in learners:
            learner.run(problem)
        if with_paths:
            paths["UMAClassifier()"].append(error_path(problem, None))
            paths["UMAClassifier(C)"].append(error_path(problem, confusion))
