"""What `UnconfusedClassifier` costs: the number of fits, and the time beside that of these fits.

Run: python benchmarks/any_classifier.py. 1,000 rows of scikit-learn's digits with labels wrong on
40 %, C given, C counted on 100 trusted rows, or guessed. CPU time in one process: of the
classifier's own fits and predictions, and of everything. k-NN is the worst case, as its fits cost
next to nothing.
"""

from __future__ import annotations

import json
import time
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from unconfused import UnconfusedClassifier, noise
from unconfused.estimators.wrapping.base import BaseClassifier

SPENT = {"fit": 0.0, "log_probabilities": 0.0}
"""Seconds in fits and predictions of the classifier."""

BASES: dict[str, Any] = {
    "forest": RandomForestClassifier(100, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=20, random_state=0),
    "network": MLPClassifier(max_iter=60, random_state=0),
    "k-NN": KNeighborsClassifier(10),
}


def count_time(name: str) -> None:
    """Let a method of `BaseClassifier` count the time it takes."""
    method = getattr(BaseClassifier, name)

    def timed(*arguments: Any) -> Any:
        begun = time.process_time()
        found = method(*arguments)
        SPENT[name] += time.process_time() - begun
        return found

    setattr(BaseClassifier, name, timed)


def main() -> None:
    """Print a line of JSON for every classifier and kind of knowledge."""
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:1000] / 16, truth[:1000]
    C = noise.symmetric(10, 0.4)
    y = noise.corrupt_labels(truth, C, random_state=0)
    known = np.where(np.arange(1000) < 100, truth, np.nan)
    given: dict[str, tuple[Any, dict[str, Any]]] = {
        "C given": (C, {}),
        "trusted rows": (None, {"y_true": known}),
        "nothing known": ("auto", {}),
    }
    warnings.simplefilter("ignore")  # networks are stopped early
    for name in SPENT:
        count_time(name)
    for name, base in BASES.items():
        for knowledge, (confusion, truths) in given.items():
            SPENT.update(dict.fromkeys(SPENT, 0.0))
            model = UnconfusedClassifier(base, confusion)
            begun = time.process_time()
            with threadpool_limits(1):
                model.fit(X, y, **truths)
            total = time.process_time() - begun
            print(
                json.dumps(
                    {
                        "classifier": name,
                        "known": knowledge,
                        "fits": model.n_fits_,
                        "seconds": round(total, 2),
                        "of fits": round(SPENT["fit"], 2),
                        "of predictions": round(SPENT["log_probabilities"], 2),
                        "ratio": round(total / sum(SPENT.values()), 2),
                    }
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
