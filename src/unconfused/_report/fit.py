"""The fit behind a report: how it converged, and what is needed to repeat it."""

from __future__ import annotations

import copy
import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._pipelines import final_step
from unconfused._text import count, noisy_weight_words
from unconfused.estimators.any_classifier import UnconfusedClassifier
from unconfused.estimators.uma import UMAClassifier
from unconfused.solvers.uma.solver import CONVERGED

if TYPE_CHECKING:
    from unconfused._report.case import Case


def convergence_of(final: Any) -> str:
    """Say how a learner was fitted, and whether it converged; `history_` has the details."""
    if isinstance(final, UnconfusedClassifier):
        words = {
            "rounds": "the probable classes of the rows, predicted out of fold",
            "labels": "the labels",
            "mixed": "the labels, and the truth where known",
            "trusted": "the trusted rows alone",
        }
        shares = sorted(final.shares_.items(), key=lambda item: -item[1])
        learnt = "; ".join(f"{words[name]} ({share:.0%})" for name, share in shares if share > 0)
        return (
            f"{type(final.estimator).__name__} was fitted {final.n_fits_} times, in "
            f"{final.n_rounds_} rounds. The averaged models were trained on: {learnt}."
        )
    if isinstance(final, UMAClassifier):
        ended = (
            "It converged: no pair of classes is statistically significant any more."
            if final.stopped_ == CONVERGED
            else f"It was ended before it converged ({final.stopped_})."
        )
        return f"UMA made {len(final.history_['norm']):,} updates. {ended}"
    steps = count(len(final.history_["objective"]), "step")
    weight = ""
    if np.any(getattr(final, "_pair_counts", 0)):
        weight = f" {noisy_weight_words(final.noisy_weight_)}"
    rest = getattr(final, "_state", None)
    if rest is None:  # a model that was stored and loaded again may not know
        return f"The fit took {steps}.{weight}"
    if rest.exhausted:
        return (
            f"The fit did not converge in {steps}: raise max_iter, or scale the features.{weight}"
        )
    ended = "was interrupted" if rest.interrupted else "converged"
    return f"The fit {ended} after {steps}.{weight}"


def versions() -> list[tuple[str, str]]:
    """List the versions in use."""
    packages = ("unconfused", "numpy", "scipy", "scikit-learn", "numba")
    return [*((name, version(name)) for name in packages), ("Python", platform.python_version())]


class _Name(str):
    """Name that represents an object in code."""

    __slots__ = ()

    __repr__ = str.__str__


def code_of(case: Case, seed: int) -> str:
    """Write the fit and the report as code."""
    final = copy.copy(case.final)
    if final.confusion is not None and not isinstance(final.confusion, str):
        final.confusion = _Name("C")
    truth = ", y_true=y_true" if case.trusted.any() else ""
    fit_truth = f", {final_step(case.model)[1]}y_true=y_true" if truth else ""
    return (
        f"model = {case.with_final(final)!r}\n"
        f"model.fit(X, y{fit_truth})\n"
        f'unconfused.write_report(model, X, y, "report.html"{truth}, random_state={seed})'
    )
