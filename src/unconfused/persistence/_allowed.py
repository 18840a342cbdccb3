"""The types of ours that a saved model may hold, besides those skops trusts by itself.

This list is what makes loading safe. Each type on it only takes its attributes from the file;
none imports, opens, evaluates or calls anything it is told to.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from unconfused import estimators, kernels, selection, steps
from unconfused._columns import DateParts, Named
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.persistence._labelled import LabelledConfusion
from unconfused.solvers.likelihood import LikelihoodState
from unconfused.solvers.ultraconservative import OnlineState
from unconfused.solvers.uma import UMAState

FROM_SCIKIT_LEARN = frozenset(
    {
        # Parts of fitted vectorizers and column transformers, which are not estimators themselves.
        "numpy.dtype",
        "sklearn.compose._column_transformer._RemainderColsList",
        "sklearn.compose._column_transformer.make_column_selector",
        "sklearn.utils._bunch.Bunch",
    }
)


@cache
def allowed_types() -> frozenset[str]:
    """Return the full names of the types a file may hold beyond what skops trusts."""
    parts: list[Any] = [
        *(getattr(estimators, name) for name in estimators.__all__),
        kernels.KernelProjection,
        DateParts,
        Named,
        ConfusionEstimate,
        LabelledConfusion,
        UMAState,
        LikelihoodState,
        OnlineState,
        steps.LoopStep,
        *(type(strategy) for strategy in selection.SELECTIONS.values()),
        *(rule.loop for rule in steps.STEPS.values()),
    ]
    ours = {f"{part.__module__}.{part.__qualname__}" for part in parts}
    return frozenset(ours) | FROM_SCIKIT_LEARN
