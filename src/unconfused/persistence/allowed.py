"""The types that a saved model may hold, and what each may hold itself.

This table is what makes loading safe: a type that is not in it is not built, and an attribute that
its type does not have there, or that holds something else, ends the loading before there is an
object that could act on it.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints

from unconfused import kernels, selection, steps
from unconfused._columns.steps import DateParts, Named
from unconfused._text import printable
from unconfused.confusion._audited import AuditEstimate
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.confusion.estimation.calibration import Calibration
from unconfused.engines.base import RunningMoments
from unconfused.estimators import all_estimators
from unconfused.estimators.wrapping.average import Component
from unconfused.estimators.wrapping.soft_rounds import LabelUnmixing
from unconfused.persistence import checks as has
from unconfused.persistence import columns, learners
from unconfused.persistence.checks import Checks, Kind, ModelFileError, full_name
from unconfused.persistence.labelled import LabelledConfusion
from unconfused.solvers.likelihood import LikelihoodState
from unconfused.solvers.ultraconservative import OnlineState
from unconfused.solvers.uma.solver import UMAState

STEP_LOOPS = [rule.loop for rule in steps.STEPS.values()]

_OURS: Checks = {
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
    if components and len(components) != len(held["estimators_"]):
        return False
    if state is None:
        return True
    width = held["n_features_in_"] + bool(held["fit_intercept"])
    shape = (len(held["classes_"]), width)
    return bool(state.weights.shape == (shape[::-1] if isinstance(state, OnlineState) else shape))


_ESTIMATE: Checks = {
    "matrix counts": has.numbers("Q", "S"),
    "classes": has.labels("Q"),
    "class_prior": has.optional(has.numbers("Q")),
    "caveat": has.text,
}

_OTHERS: dict[type, Checks] = {
    kernels.KernelProjection: {
        "gamma_": has.number,
        "n_components_": has.count,
        "projector_": has.setting,
    },
    DateParts: {},
    Named: {"names": has.labels("*")},
    ConfusionEstimate: _ESTIMATE,
    AuditEstimate: _ESTIMATE
    | {
        "label_counts label_count_variance": has.numbers("Q"),
        "truth_given_label column_rows": has.numbers("Q", "Q"),
    },
    LabelledConfusion: {
        "matrix": has.numbers("Q", "S"),
        "classes": has.labels("Q"),
        "labels": has.optional(has.labels("S")),
    },
    steps.LoopStep: {"loop": lambda value, held: value in STEP_LOOPS},
    **{type(strategy): {} for strategy in selection.SELECTIONS.values()},
}


_STATES: dict[type, Checks] = {
    Calibration: {"power": has.number, "shift": has.numbers("Q"), "floor": has.number},
    Component: {
        "calibration": has.instance(Calibration),
        "unmixing": has.optional(has.instance(LabelUnmixing)),
    },
    LabelUnmixing: {"calibration": has.instance(Calibration), "mixing": has.numbers("Q", "S")},
    UMAState: {
        "weights": has.array("f", "Q", "D"),
        "lag": has.optional(has.array("f", "Q", "D")),
        "n_updates n_averaged": has.count,
        "records": has.array("f", "n", 6),
        "stopped": has.text,
        "rng": has.optional(has.instance(np.random.RandomState)),
        "vectors": has.optional(has.array("f", "n", "D")),
        "ridge freedom": has.optional(has.number),
        "moments": has.optional(has.instance(RunningMoments)),
    },
    RunningMoments: {
        "intercept": has.plain,
        "code_counts code_squares": has.array("f", "S"),
        "sums": has.array("f", "S", "D"),
        "second": has.either(has.array("f", "D", "D"), has.array("f", "D")),
        "density": has.number,
    },
    LikelihoodState: {
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
    OnlineState: {
        "weights": has.array("f", "D", "Q"),
        "lag": has.either(has.array("f", "D", "Q"), has.array("f", 0, "Q")),
        "n_seen n_mistakes n_epochs": has.count,
        "interrupted": has.flag,
    },
}
"""Parts of models, never models or settings by themselves."""

_EVERYWHERE: Checks = {
    "_sklearn_version": has.text,
    "_sklearn_output_config": has.mapping(has.one_of("default", "pandas", "polars")),
    "n_features_in_": has.size("d"),
    "feature_names_in_": has.labels("d"),
    "classes_": has.labels("Q"),
    "n_jobs": has.jobs,
    "dtype": has.scalar_type,
}
"""What these attributes hold, of whatever type."""


@cache
def table() -> dict[str, Kind]:
    """Return every type a file may hold, with what it may hold, by its full name."""
    ours = all_estimators()
    listed = columns.COLUMNS | learners.LEARNERS | dict.fromkeys(ours, _OURS) | _OTHERS | _STATES
    agree = columns.AGREE | learners.AGREE | dict.fromkeys(ours, _state_agrees)
    parts = {*columns.PARTS, *learners.PARTS, *_STATES}
    return {
        full_name(made): Kind(
            made,
            {
                name: held[names]
                for held in (_EVERYWHERE, own)
                for names in held
                for name in names.split()
            },
            agree.get(made),
            is_part=made in parts,
            any_setting=made in (*ours, LikelihoodState),
        )
        for made, own in listed.items()
    }


def check_object(name: str, held: dict[str, Any], allow: frozenset[str]) -> None:
    """Raise if an object of the type of this name may not hold these attributes.

    Parameters after which nothing was saved (a file by an older version) get their default.
    """
    types = table()

    def is_value(value: Any) -> bool:
        name = full_name(value if inspect.isroutine(value) else type(value))
        if name in allow or isinstance(value, np.random.RandomState):
            return True
        return name in types and not types[name].is_part

    kind, known = types[name], has.Held(is_value)
    made, settings = kind.made, _settings(kind.made)
    for name, parameter in settings.items():
        if parameter.default is not parameter.empty:
            held.setdefault(name, parameter.default)
    for name, value in held.items():
        if not _check_for(name, kind, settings)(value, known):
            raise ModelFileError(
                f"the {made.__name__} in it has {printable(repr(name))}, which is not there in a "
                "model that was fitted, or is of another kind or size there"
            )
    given = {name: held[name] for name in settings if name in held}
    try:
        constraints = getattr(made, "_parameter_constraints", {})
        validate_parameter_constraints(constraints, given, caller_name=made.__name__)
    except InvalidParameterError as error:
        raise ModelFileError(printable(" ".join(str(error).split()))[:300].rstrip(".")) from None
    if kind.agree is not None and not kind.agree(held):
        raise ModelFileError(f"the parts of the {made.__name__} in it do not fit each other")


def _check_for(name: str, kind: Kind, settings: Mapping[str, Any]) -> has.Check:
    if name in kind.checks:
        return kind.checks[name]
    if name in settings or (kind.any_setting and not hasattr(kind.made, name)):
        return has.setting
    return lambda value, held: False


@cache
def _settings(made: type) -> dict[str, inspect.Parameter]:
    """Return the parameters of an estimator's constructor."""
    if not issubclass(made, BaseEstimator):
        return {}
    return dict(inspect.signature(made).parameters)
