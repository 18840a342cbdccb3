"""UMA with a Gaussian kernel, five ways: the dual form, and features that approximate the kernel.

Labels are corrupted and C is known. Every form has the same algorithm, settings and kernel width;
those with features have as many as the setting says. Of Letter there are 4,000 training rows: the
dual form takes time in proportion to their square. Random projections are those of Stempfel and
Ralaivola: the kernel values with rows drawn at random. Orthonormalised, these are Nystroem's
features, in which UMA is the dual form with weights restricted to the drawn rows.
"""

from __future__ import annotations

import time
from typing import Any

from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer
from sklearn.utils import check_random_state

from experiments.paper.data import Problem, raw
from experiments.paper.experiment import (
    Experiment,
    Scope,
    Summary,
    Task,
    mean_and_error,
    of_data,
    shown_data,
)
from experiments.paper.protocol import quietly
from experiments.paper.settings import FIRST_DRAW, plain_uma
from experiments.store import Record
from unconfused import KernelUMAClassifier, noise
from unconfused.kernels import kernel_projection, median_gamma

NAME = "kernel_forms"
N_RUNS = 3
N_COMPONENTS = 400
NOISES = {"pair flips, 0.3": (noise.pairwise, 0.3), "symmetric, 0.5": (noise.symmetric, 0.5)}
FORMS = {
    "none": "no kernel",
    "random": "random projections",
    "nystroem": "Nystroem (the sparse form)",
    "projection": "kernel projection",
    "dual": "`KernelUMAClassifier`",
}


def tasks(scope: Scope) -> list[Task]:
    """List data sets, runs, kinds of noise and forms."""
    return [
        Task(NAME, name, run, f"{kind}/{form}", scope.quick, str(N_COMPONENTS))
        for run in scope.n_runs(N_RUNS)
        for name in scope.names(["digits", "letter"])
        for kind in NOISES
        for form in FORMS
    ]


def work(task: Task) -> dict[str, Any]:
    """Return the test error of one form."""
    problem, seed = raw(task.data, task.run, quick=True), FIRST_DRAW + task.run
    kind, form = task.part.split("/")
    make, rate = NOISES[kind]
    C = make(problem.n_classes, rate)
    seen = noise.corrupt_labels(problem.truth, C, random_state=seed)
    model, begun = _model(form, C, problem, seed), time.process_time()
    quietly(lambda: model.fit(problem.X, seen))
    seconds = time.process_time() - begun
    return {"error": problem.error(model), "seconds": round(seconds, 1)}


def _model(form: str, C: Any, problem: Problem, seed: int) -> Any:
    gamma = median_gamma(problem.X, random_state=seed)
    if form == "dual":
        return KernelUMAClassifier(C, gamma=gamma)
    features: dict[str, Any] = {
        "none": FunctionTransformer(),
        "random": _RandomProjection(gamma, seed),
        "nystroem": Nystroem(gamma=gamma, n_components=N_COMPONENTS, random_state=seed),
        "projection": kernel_projection(N_COMPONENTS, gamma=gamma, random_state=seed),
    }
    return make_pipeline(features[form], Normalizer(), plain_uma(C))


class _RandomProjection(FunctionTransformer):
    """Kernel values with rows drawn at random."""

    def __init__(self, gamma: float, seed: int) -> None:
        super().__init__()
        self.gamma, self.seed = gamma, seed

    def fit(self, X: Any, y: Any = None) -> _RandomProjection:
        """Draw the rows."""
        drawn = check_random_state(self.seed).choice(len(X), N_COMPONENTS, replace=False)
        self.rows_ = X[drawn]
        return self

    def transform(self, X: Any) -> Any:
        """Return the kernel values."""
        return rbf_kernel(X, self.rows_, gamma=self.gamma)

    def fit_transform(self, X: Any, y: Any = None, **settings: Any) -> Any:
        """Draw the rows, and return the kernel values."""
        return self.fit(X).transform(X)


def summarise(records: list[Record]) -> Summary:
    """Average over runs."""
    found: Summary = {}
    for name in shown_data(records):
        own = of_data(records, name)
        found[name] = {
            kind: {
                form: {
                    key: mean_and_error([r[key] for r in own if r["part"] == f"{kind}/{form}"])
                    for key in ("error", "seconds")
                }
                for form in FORMS
                if any(r["part"] == f"{kind}/{form}" for r in own)
            }
            for kind in NOISES
        }
    return {"n_components": N_COMPONENTS, "errors": found}


EXPERIMENT = Experiment("UMA with a kernel, five ways", tasks, work, summarise, None)
