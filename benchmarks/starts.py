"""The unmixed discriminant: as a classifier, and as the start of the likelihood's fit.

Run: python benchmarks/starts.py [--data NAME] [--rows N] [--seeds N] [--l2 L] [--noise NAME ...].
C is known; errors are on held-out rows with clean labels. The first table compares classifiers:
"automatic" is the likelihood with all settings at their defaults, "likelihood" one with `--l2` and
without relabelling. The second compares starts of the likelihood: 0, the discriminant's weights,
the multiple of these with the lowest objective, and what the library does, the best multiple of the
unmixed means. "unequal" are normal classes, each half as large as the one before, with few rows for
their 60 features.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from unconfused import (
    ConfusionWarning,
    UMAClassifier,
    UnconfusedDiscriminantAnalysis,
    UnconfusedLogisticRegression,
    datasets,
    noise,
)
from unconfused._matrix import Unmixing
from unconfused.engines import LocalEngine
from unconfused.solvers.discriminant import fit_discriminant
from unconfused.solvers.likelihood import Likelihood, LikelihoodState, start_at_scaled_means

SETS = ["digits", "nystroem", "letter", "reuters", "unequal"]

NOISES = {
    "symmetric 0.2": lambda n: noise.symmetric(n, 0.2),
    "symmetric 0.5": lambda n: noise.symmetric(n, 0.5),
    "symmetric 0.7": lambda n: noise.symmetric(n, 0.7),
    "symmetric 0.8": lambda n: noise.symmetric(n, 0.8),
    "pair flip 0.3": lambda n: noise.pairwise(n, 0.3),
    "pair flip 0.45": lambda n: noise.pairwise(n, 0.45),
    "pair flip 0.55": lambda n: noise.pairwise(n, 0.55),
}


def load(name: str) -> tuple[object, object, np.ndarray, np.ndarray]:
    """Return training and test rows, then their true classes."""
    if name == "reuters":
        X, y = datasets.fetch_reuters(n_largest=9, return_X_y=True)
        y = np.unique(y, return_inverse=True)[1]
        return train_test_split(X, y, random_state=0, stratify=y)
    if name == "letter":
        X, y = datasets.fetch_letter(return_X_y=True)
        y = np.unique(y, return_inverse=True)[1]
        return train_test_split(X / 15, y, random_state=0, stratify=y)
    if name == "unequal":
        rng = np.random.RandomState(0)
        shares = rng.permutation(0.5 ** np.arange(6))
        y = rng.choice(6, p=shares / shares.sum(), size=2400)
        X = rng.randn(6, 60)[y] + rng.randn(2400, 60)
        return train_test_split(X, y, random_state=0, stratify=y, train_size=600)
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X / 16, y, random_state=0, stratify=y)
    if name == "nystroem":
        features = Nystroem(gamma=0.2, n_components=300, random_state=0).fit(X)
        X, X_test = features.transform(X), features.transform(X_test)
    return X, X_test, y, y_test


class CountingEngine(LocalEngine):
    """Counts the passes over the rows that the likelihood takes."""

    passes = 0

    def likelihood(self, *arguments):  # type: ignore[no-untyped-def]
        """Measure, and count."""
        self.passes += 1
        return super().likelihood(*arguments)


def classify(X, seen, C, X_test, y_test, l2):  # type: ignore[no-untyped-def]
    """Yield (name, test error, log-loss, seconds) of each classifier."""
    models = {
        "discriminant": UnconfusedDiscriminantAnalysis(C),
        "likelihood": UnconfusedLogisticRegression(C, l2=l2, relabel=0),
        "automatic": UnconfusedLogisticRegression(C),
        "UMA": UMAClassifier(C),
    }
    for name, model in models.items():
        begun = time.perf_counter()
        model.fit(X, seen)
        seconds = time.perf_counter() - begun
        loss = np.nan
        if hasattr(model, "predict_proba"):
            loss = log_loss(y_test, model.predict_proba(X_test), labels=np.arange(len(C)))
        yield name, 1 - model.score(X_test, y_test), loss, seconds


def fit_from_starts(X, seen, C, X_test, y_test, l2):  # type: ignore[no-untyped-def]
    """Yield (name, steps, passes, seconds, objective, test error) from each start."""
    for name in ("0", "discriminant", "its multiple", "means"):
        begun = time.perf_counter()
        engine = CountingEngine(X, seen, len(C))
        settings = Likelihood(l2, 1.0, None, 2000, 1e-4)
        state = LikelihoodState(np.zeros((len(C), X.shape[1] + 1)), C)
        if name == "means":
            state = start_at_scaled_means(engine, settings, C)
        elif name != "0":
            weights = fit_discriminant(engine, Unmixing(C)).weights
            scales = (1.0,) if name == "discriminant" else (0.0, 0.125, 0.25, 0.5, 1.0, 2.0)
            values = settings.values(engine, C, weights, scales)
            state = LikelihoodState(scales[int(np.argmin(values))] * weights, C)
        settings.run(engine, state)
        seconds = time.perf_counter() - begun
        scores = X_test @ state.weights[:, :-1].T + state.weights[:, -1]
        error = np.mean(scores.argmax(axis=1) != y_test)
        objective = settings.values(engine, C, state.weights, [1.0])[0]
        yield name, state.n_iter, engine.passes - 1, seconds, objective, error


def table(measure, titles, arguments, problem):  # type: ignore[no-untyped-def]
    """Print means over the seeds, one line per noise and method."""
    X, X_test, y, y_test = problem
    print("\n" + f"{'noise':16s}{'method':14s}" + "".join(f"{title:>11s}" for title in titles))
    for label in arguments.noise:
        C, found = NOISES[label](len(np.unique(y))), {}
        for seed in range(arguments.seeds):
            rows = np.random.RandomState(seed).permutation(len(y))[: arguments.rows]
            seen = noise.corrupt_labels(y[rows], C, random_state=seed)
            for name, *numbers in measure(X[rows], seen, C, X_test, y_test, arguments.l2):
                found.setdefault(name, []).append(numbers)
        for name, numbers in found.items():
            means = np.mean(numbers, axis=0)
            print(f"{label:16s}{name:14s}" + "".join(f"{one:11.4g}" for one in means), flush=True)


def main() -> None:
    """Measure, and print the two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", choices=SETS, default="digits")
    parser.add_argument("--rows", type=int, default=None, help="training rows; all by default")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--l2", type=float, default=1e-4)
    parser.add_argument("--noise", nargs="+", choices=list(NOISES), default=list(NOISES))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConfusionWarning)
    problem = load(arguments.data)
    table(classify, ["error", "log-loss", "seconds"], arguments, problem)
    titles = ["steps", "passes", "seconds", "objective", "error"]
    table(fit_from_starts, titles, arguments, problem)


if __name__ == "__main__":
    main()
