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

from unconfused import kernels, selection, steps
from unconfused._columns.steps import DateParts, Named
from unconfused.confusion._audited import AuditEstimate
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.confusion.estimation.calibration import Calibration
from unconfused.estimators import all_estimators
from unconfused.estimators.wrapping.average import Component
from unconfused.estimators.wrapping.soft_rounds import LabelUnmixing
from unconfused.persistence._table import checks as has
from unconfused.persistence._table.checks import Check, Kind, Types, full_name
from unconfused.persistence._table.columns import COLUMNS, TEXT
from unconfused.persistence._table.learners import LINEAR, TREES
from unconfused.persistence.labelled import LabelledConfusion
from unconfused.solvers.likelihood import LikelihoodState
from unconfused.solvers.ultraconservative import OnlineState
from unconfused.solvers.uma.state import UMAState
from unconfused.solvers.uma.whitening import RunningMoments

STEP_LOOPS = [rule.loop for rule in steps.STEPS.values()]

_OURS: dict[str, Check] = {
    "labels_": has.labels("S"),
    "coef_": has.matrix("R", "d"),
    "intercept_": has.numbers("R"),
    "confusion_": has.either(has.numbers("Q", "S"), has.instance(ConfusionEstimate)),
    "class_prior_": has.numbers("Q"),
    "history_": has.mapping(has.numbers("*")),
    "n_iter_ n_mistakes_ n_rounds_ n_fits_": has.count,
    "stopped_": has.text,
    "shrinkage_ noisy_weight_": has.number,
    "updates_": has.numbers("updates", "d"),
    "means_": has.numbers("Q", "d"),
    "dual_coef_": has.numbers("R", "fitted"),
    "X_fit_": has.optional(has.matrix("fitted", "d")),
    "gamma_": has.optional(has.number),
    "noise_depends_on_rows_": has.flag,
    "guessed_confusion_": has.instance(ConfusionEstimate),
    "annotators_": has.labels("annotators"),
    "annotator_confusion_": has.numbers("annotators", "*", "*"),
    "annotator_silence_": has.numbers("annotators", "Q"),
    "estimator_": has.setting,
    "trained_on_": has.text,
    "estimators_": has.several(has.setting),
    "shares_": has.mapping(has.number),
    "_components": has.optional(has.several(has.instance(Component))),
    "_state": has.instance(UMAState, LikelihoodState, OnlineState),
    "_pair_counts": has.numbers("*", "*"),
    "_order": has.plain,
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


_OF_OURS = Kind(_OURS, _state_agrees, any_setting=True)

_ESTIMATE: dict[str, Check] = {
    "matrix counts": has.numbers("Q", "S"),
    "classes": has.labels("Q"),
    "class_prior": has.optional(has.numbers("Q")),
    "caveat": has.text,
}

_PARTS: dict[type, Kind] = {
    kernels.KernelProjection: Kind(
        {"gamma_": has.number, "n_components_": has.count, "projector_": has.setting}
    ),
    DateParts: Kind(),
    Named: Kind({"names": has.labels("*")}),
    ConfusionEstimate: Kind(_ESTIMATE),
    AuditEstimate: Kind(
        _ESTIMATE
        | {
            "label_counts label_count_variance": has.numbers("Q"),
            "truth_given_label column_rows": has.numbers("Q", "Q"),
        }
    ),
    Calibration: Kind(
        {"power": has.number, "shift": has.numbers("Q"), "floor": has.number}, is_part=True
    ),
    Component: Kind(
        {
            "of": has.count,
            "calibration": has.instance(Calibration),
            "unmixing": has.optional(has.instance(LabelUnmixing)),
        },
        is_part=True,
    ),
    LabelUnmixing: Kind(
        {"calibration": has.instance(Calibration), "mixing": has.numbers("Q", "S")}, is_part=True
    ),
    LabelledConfusion: Kind(
        {
            "matrix": has.numbers("Q", "S"),
            "classes": has.labels("Q"),
            "labels": has.optional(has.labels("S")),
        }
    ),
    UMAState: Kind(
        {
            "weights": has.array("f", "Q", "D"),
            "lag": has.optional(has.array("f", "Q", "D")),
            "n_updates n_averaged": has.count,
            "records": has.array("f", "n", 6),
            "stopped": has.text,
            "rng": has.optional(has.instance(np.random.RandomState)),
            "vectors": has.optional(has.array("f", "n", "D")),
            "ridge freedom": has.optional(has.number),
            "matrix refined_from": has.optional(has.numbers("Q", "*")),
            "moments": has.optional(has.instance(RunningMoments)),
        },
        is_part=True,
    ),
    RunningMoments: Kind(
        {
            "intercept": has.plain,
            "code_counts code_squares": has.array("f", "S"),
            "sums": has.array("f", "S", "D"),
            "second": has.either(has.array("f", "D", "D"), has.array("f", "D")),
            "density": has.number,
        },
        is_part=True,
    ),
    LikelihoodState: Kind(
        {
            "weights": has.array("f", "Q", "D"),
            "matrix": has.numbers("Q", "S"),
            "n_iter": has.count,
            "objective": has.numbers("n"),
            "exhausted interrupted noise_depends_on_rows": has.flag,
            "relabelled": has.numbers("m"),
            "calibration": has.optional(has.numbers("*")),
            "row_posterior": has.optional(has.numbers("rows", "Q")),
            "posterior": has.optional(has.numbers("codes", "Q")),
        },
        is_part=True,
        any_setting=True,
    ),
    OnlineState: Kind(
        {
            "weights": has.array("f", "D", "Q"),
            "lag": has.either(has.array("f", "D", "Q"), has.array("f", 0, "Q")),
            "n_seen n_mistakes n_epochs": has.count,
            "interrupted": has.flag,
        },
        is_part=True,
    ),
    steps.LoopStep: Kind({"loop": lambda value, held: value in STEP_LOOPS}),
    **{type(strategy): Kind() for strategy in selection.SELECTIONS.values()},
}


@cache
def table() -> Types:
    """Return every type a file may hold, with what it may hold, by its full name."""
    ours = dict.fromkeys(all_estimators(), _OF_OURS)
    kinds = {**COLUMNS, **TEXT, **LINEAR, **TREES, **ours, **_PARTS}
    return {full_name(one): (one, kind) for one, kind in kinds.items()}
