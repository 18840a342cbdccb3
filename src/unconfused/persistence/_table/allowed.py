"""The types that a saved model may hold, and what each may hold itself.

This table is what makes loading safe: a type that is not in it is not built, and an attribute that
its type does not have there, or that holds something else, ends the loading before there is an
object that could act on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from unconfused import estimators, kernels, selection, steps
from unconfused._columns.steps import DateParts, Named
from unconfused.confusion._audited import AuditEstimate
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.confusion.estimation.calibration import Calibration
from unconfused.estimators.wrapping.average import Component
from unconfused.estimators.wrapping.soft_rounds import LabelUnmixing
from unconfused.persistence._table.checks import (
    Check,
    Kind,
    Types,
    array,
    count,
    either,
    flag,
    full_name,
    instance,
    jobs,
    labels,
    mapping,
    matrix,
    number,
    numbers,
    optional,
    plain,
    scalar_type,
    setting,
    several,
    text,
)
from unconfused.persistence._table.columns import COLUMNS, TEXT, WIDTH
from unconfused.persistence._table.learners import LINEAR, TREES
from unconfused.persistence.labelled import LabelledConfusion
from unconfused.solvers.likelihood import LikelihoodState
from unconfused.solvers.ultraconservative import OnlineState
from unconfused.solvers.uma.state import UMAState
from unconfused.solvers.uma.whitening import RunningMoments

STEP_LOOPS = [rule.loop for rule in steps.STEPS.values()]

_OURS: dict[str, Check] = WIDTH | {
    "classes_": labels("Q"),
    "labels_": labels("S"),
    "coef_": matrix("R", "d"),
    "intercept_": numbers("R"),
    "confusion_": either(numbers("Q", "S"), instance(ConfusionEstimate)),
    "class_prior_": numbers("Q"),
    "history_": mapping(numbers("*")),
    **dict.fromkeys(("n_iter_", "n_mistakes_"), count),
    "stopped_": text,
    **dict.fromkeys(("shrinkage_", "noisy_weight_"), number),
    "updates_": numbers("updates", "d"),
    "means_at_": optional(count),
    "means_": numbers("Q", "d"),
    "dual_coef_": numbers("R", "fitted"),
    "X_fit_": optional(matrix("fitted", "d")),
    "gamma_": optional(number),
    "noise_depends_on_rows_": flag,
    "guessed_confusion_": instance(ConfusionEstimate),
    "annotators_": labels("annotators"),
    "annotator_confusion_": numbers("annotators", "*", "*"),
    "annotator_silence_": numbers("annotators", "Q"),
    "estimator_": setting,
    "trained_on_": text,
    "n_rounds_": count,
    "n_fits_": count,
    "estimators_": several(setting),
    "shares_": mapping(number),
    "_components": optional(several(instance(Component))),
    "_state": instance(UMAState, LikelihoodState, OnlineState),
    "_pair_counts": numbers("*", "*"),
    "_order": plain,
}


def _state_agrees(held: Mapping[str, Any]) -> bool:
    """Return whether weights to go on from, and calibrations, are of the right shape."""
    state, components = held.get("_state"), held.get("_components") or []
    fair = [one.calibration for one in components]
    fair += [one.unmixing.calibration for one in components if one.unmixing is not None]
    if any(len(one.shift) != len(held["classes_"]) for one in fair):
        return False
    if any(one.of >= len(held["estimators_"]) for one in components):
        return False
    if state is None:
        return True
    width = held["n_features_in_"] + bool(held["fit_intercept"])
    shape = (len(held["classes_"]), width)
    return bool(state.weights.shape == (shape[::-1] if isinstance(state, OnlineState) else shape))


_OF_OURS = Kind(_OURS, {"n_jobs": jobs}, _state_agrees, any_setting=True)

_ESTIMATE: dict[str, Check] = {
    "matrix": numbers("Q", "S"),
    "counts": numbers("Q", "S"),
    "classes": labels("Q"),
    "class_prior": optional(numbers("Q")),
    "caveat": text,
}

_PARTS: dict[type, Kind] = {
    kernels.KernelProjection: Kind(
        WIDTH | {"gamma_": number, "n_components_": count, "projector_": setting},
        {"dtype": scalar_type},
    ),
    DateParts: Kind(WIDTH),
    Named: Kind({"names": labels("*")}),
    ConfusionEstimate: Kind(_ESTIMATE),
    AuditEstimate: Kind(
        _ESTIMATE
        | dict.fromkeys(("label_counts", "label_count_variance"), numbers("Q"))
        | dict.fromkeys(("truth_given_label", "column_rows"), numbers("Q", "Q"))
    ),
    Calibration: Kind({"power": number, "shift": numbers("Q"), "floor": number}, is_part=True),
    Component: Kind(
        {
            "of": count,
            "calibration": instance(Calibration),
            "unmixing": optional(instance(LabelUnmixing)),
        },
        is_part=True,
    ),
    LabelUnmixing: Kind(
        {"calibration": instance(Calibration), "mixing": numbers("Q", "S")}, is_part=True
    ),
    LabelledConfusion: Kind(
        {"matrix": numbers("Q", "S"), "classes": labels("Q"), "labels": optional(labels("S"))}
    ),
    UMAState: Kind(
        {
            "weights": array("f", "Q", "D"),
            "lag": optional(array("f", "Q", "D")),
            **dict.fromkeys(("n_updates", "n_averaged"), count),
            "records": array("f", "n", 6),
            "stopped": text,
            "means_at": optional(count),
            "rng": optional(instance(np.random.RandomState)),
            "vectors": optional(array("f", "n", "D")),
            "ridge": optional(number),
            "freedom": optional(number),
            "matrix": optional(numbers("Q", "*")),
            "moments": optional(instance(RunningMoments)),
        },
        is_part=True,
    ),
    RunningMoments: Kind(
        {
            "intercept": plain,
            "code_counts": array("f", "S"),
            "code_squares": array("f", "S"),
            "sums": array("f", "S", "D"),
            "second": either(array("f", "D", "D"), array("f", "D")),
            "density": number,
        },
        is_part=True,
    ),
    LikelihoodState: Kind(
        {
            "weights": array("f", "Q", "D"),
            "matrix": numbers("Q", "S"),
            "n_iter": count,
            "objective": numbers("n"),
            **dict.fromkeys(("exhausted", "interrupted", "noise_depends_on_rows"), flag),
            "relabelled": numbers("m"),
            "calibration": optional(numbers("*")),
            "row_posterior": optional(numbers("rows", "Q")),
            "posterior": optional(numbers("codes", "Q")),
        },
        is_part=True,
        any_setting=True,
    ),
    OnlineState: Kind(
        {
            "weights": array("f", "D", "Q"),
            "lag": either(array("f", "D", "Q"), array("f", 0, "Q")),
            **dict.fromkeys(("n_seen", "n_mistakes", "n_epochs"), count),
            "interrupted": flag,
        },
        is_part=True,
    ),
    steps.LoopStep: Kind({"loop": lambda value, held: value in STEP_LOOPS}),
    **{type(strategy): Kind() for strategy in selection.SELECTIONS.values()},
}


@cache
def table() -> Types:
    """Return every type a file may hold, with what it may hold, by its full name."""
    ours = {getattr(estimators, name): _OF_OURS for name in estimators.__all__}
    kinds = {**COLUMNS, **TEXT, **LINEAR, **TREES, **ours, **_PARTS}
    return {full_name(one): (one, kind) for one, kind in kinds.items()}
