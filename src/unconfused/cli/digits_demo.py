"""The demo: digits with corrupted training labels, learnt with and without C."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from unconfused import noise
from unconfused._matrix import GuessedConfusionWarning
from unconfused._text import percent
from unconfused._typing import FloatArray
from unconfused.estimators.logistic import UnconfusedLogisticRegression
from unconfused.estimators.uma import UMAClassifier
from unconfused.kernels import kernel_projection

N_CLASSES = 10
RATE = 0.4
N_RUNS = 3
N_FEATURES = 300
TEST_SHARE = 0.3
RATES = (0.0, 0.1, 0.2, 0.3, RATE)
"""Shares of wrong labels, for the curves of the figure."""
CURVE_RUNS = 2
"""Splits on which the curves are computed."""

CLEAN, BELIEVED = "clean labels", "noisy labels"
ESTIMATED, TOLD = "noisy labels, C estimated", "noisy labels and C"
"""What a learner was given."""

PLAIN, OURS = "LogisticRegression", "UnconfusedLogisticRegression"
CURVES = (PLAIN, f"{OURS}(C)")
"""Learners in the figure's last panel."""

NOISES = {"pairwise": noise.pairwise, "symmetric": noise.symmetric}


@dataclass
class Learner:
    """A learner, what it was given, and how it did in every run."""

    name: str
    given: str
    make: Callable[[], Any]
    errors: list[float] = field(default_factory=list)
    models: list[Any] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """Mean test error over the runs."""
        return float(np.mean(self.errors))

    @property
    def spread(self) -> float:
        """Standard deviation of the test error over the runs."""
        return float(np.std(self.errors, ddof=1)) if len(self.errors) > 1 else 0.0


def make_learners(confusion: FloatArray) -> list[Learner]:
    """Return the learners to compare; all but the first get the same noisy labels.

    The first is the recommended learner on clean labels. It chooses its penalty in the same way as
    on noisy labels, so that the penalty explains no difference.
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


@dataclass(frozen=True)
class Outcome:
    """All that the table and the figure show."""

    kind: str
    seed: int
    learners: list[Learner]
    estimate: FloatArray
    """The confusion matrix that was estimated from the noisy labels of the first run."""
    curves: dict[str, FloatArray]
    """Errors of the learners in `CURVES`, a row per run and a column for each of `RATES`."""

    @property
    def confusion(self) -> FloatArray:
        """The confusion matrix of the noise."""
        return NOISES[self.kind](N_CLASSES, RATE)

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
        helps = told.mean < rival.mean
        return (
            f"Knowing the confusion matrix, {told.name} has an error of {percent(told.mean)}; "
            f"estimating it, {guessed.name} has {percent(guessed.mean)}. The best learner that "
            f"trusts the noisy labels ({rival.name}) has {percent(rival.mean)}, and clean labels "
            f"give {percent(ceiling.mean)}. Here "
            + ("it helps to model the noise." if helps else "the noise can be ignored.")
        )


def run_demo(kind: str, seed: int, *, n_runs: int = N_RUNS, with_curves: bool = True) -> Outcome:
    """Let every learner run on every split."""
    # Small matrices: one thread is faster than several.
    with threadpool_limits(1):
        learners = _run(kind, RATE, range(seed, seed + n_runs))
        estimate = next(one.models[0].confusion_ for one in learners if one.given == ESTIMATED)
        curves: dict[str, FloatArray] = {}
        if with_curves:
            runs = range(seed, seed + min(CURVE_RUNS, n_runs))
            by_rate = [_run(kind, rate, runs, CURVES) for rate in RATES[:-1]]
            by_rate.append([one for one in learners if one.name in CURVES])
            for some in zip(*by_rate, strict=True):
                errors = [one.errors[: len(runs)] for one in some]
                curves[some[0].name] = np.array(errors).T
    return Outcome(kind, seed, learners, estimate, curves)


def _run(kind: str, rate: float, seeds: range, names: Sequence[str] = ()) -> list[Learner]:
    """Split, project and corrupt the digits, and let learners run, once for each seed."""
    X, y = load_digits(return_X_y=True)
    confusion = NOISES[kind](N_CLASSES, rate)
    learners = [one for one in make_learners(confusion) if not names or one.name in names]
    for seed in seeds:
        X_train, X_test, clean, y_test = train_test_split(
            X, y, test_size=TEST_SHARE, stratify=y, random_state=seed
        )
        projection = kernel_projection(N_FEATURES, random_state=seed).fit(X_train)
        X_train, X_test = projection.transform(X_train), projection.transform(X_test)
        noisy = noise.corrupt_labels(clean, confusion, random_state=seed)
        for one in learners:
            model = one.make()
            with warnings.catch_warnings():
                # That the matrix is estimated is what this learner is there to show.
                warnings.simplefilter("ignore", GuessedConfusionWarning)
                model.fit(X_train, clean if one.given == CLEAN else noisy)
            one.errors.append(float(1.0 - model.score(X_test, y_test)))
            one.models.append(model)
    return learners
