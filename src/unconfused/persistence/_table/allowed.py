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

from unconfused import estimators, kernels, selection, steps
from unconfused._columns.dates import DateParts
from unconfused._columns.named import Named
from unconfused._text.printable import printable
from unconfused.confusion._audited import AuditEstimate
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.confusion.estimation.calibration import Calibration
from unconfused.estimators.wrapping.soft_rounds import FromLabels
from unconfused.persistence._table.checks import (
    Check,
    Held,
    Kind,
    array,
    count,
    either,
    flag,
    instance,
    jobs,
    labels,
    mapping,
    matrix,
    number,
    numbers,
    one_of,
    optional,
    plain,
    scalar_type,
    setting,
    text,
)
from unconfused.persistence._table.columns import COLUMNS, TEXT, WIDTH
from unconfused.persistence._table.learners import LINEAR, TREES
from unconfused.persistence.errors import ModelFileError
from unconfused.persistence.labelled import LabelledConfusion
from unconfused.solvers.likelihood import LikelihoodState
from unconfused.solvers.ultraconservative import OnlineState
from unconfused.solvers.uma.moments import RunningMoments
from unconfused.solvers.uma.solver import UMAState

FUNCTIONS = {
    f"{rule.loop.__module__}.{rule.loop.__name__}": rule.loop for rule in steps.STEPS.values()
}
"""The functions a file may name: the loops of our own step rules."""

_OURS: dict[str, Check] = WIDTH | {
    "classes_": labels("Q"),
    "labels_": labels("S"),
    "coef_": matrix("R", "d"),
    "intercept_": numbers("R"),
    "confusion_": either(numbers("Q", "S"), instance(ConfusionEstimate)),
    "class_prior_": numbers("Q"),
    "history_": mapping(numbers("*")),
    "n_iter_": count,
    "n_mistakes_": count,
    "updates_": numbers("updates", "d"),
    "stopped_": text,
    "means_at_": optional(count),
    "means_": numbers("Q", "d"),
    "dual_coef_": numbers("R", "fitted"),
    "X_fit_": optional(matrix("fitted", "d")),
    "gamma_": optional(number),
    "shrinkage_": number,
    "noisy_weight_": number,
    "noise_depends_on_rows_": flag,
    "guessed_confusion_": instance(ConfusionEstimate),
    "annotators_": labels("annotators"),
    "annotator_confusion_": numbers("annotators", "*", "*"),
    "annotator_silence_": numbers("annotators", "Q"),
    "estimator_": setting,
    "taught_": text,
    "n_rounds_": count,
    "n_fits_": count,
    "_calibration": optional(instance(Calibration)),
    "_from_labels": optional(instance(FromLabels)),
    "_state": instance(UMAState, LikelihoodState, OnlineState),
    "_pair_counts": numbers("*", "*"),
    "_order": plain,
}


def _state_agrees(held: Mapping[str, Any]) -> bool:
    """Return whether weights to go on from, and calibrations, are of the right shape."""
    state, inside = held.get("_state"), held.get("_from_labels")
    fair = [held.get("_calibration"), None if inside is None else inside.calibration]
    if any(one is not None and len(one.shift) != len(held["classes_"]) for one in fair):
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
        | {
            "label_counts": numbers("Q"),
            "label_count_variance": numbers("Q"),
            "truth_given_label": numbers("Q", "Q"),
            "column_rows": numbers("Q", "Q"),
        }
    ),
    Calibration: Kind({"power": number, "shift": numbers("Q"), "floor": number}, is_part=True),
    FromLabels: Kind(
        {"calibration": instance(Calibration), "mixing": numbers("Q", "S")}, is_part=True
    ),
    LabelledConfusion: Kind(
        {"matrix": numbers("Q", "S"), "classes": labels("Q"), "labels": optional(labels("S"))}
    ),
    UMAState: Kind(
        {
            "weights": array("f", "Q", "D"),
            "lag": optional(array("f", "Q", "D")),
            "n_updates": count,
            "n_averaged": count,
            "records": array("f", "n", 6),
            "stopped": text,
            "means_at": optional(count),
            "rng": optional(instance(np.random.RandomState)),
            "vectors": optional(array("f", "n", "D")),
            "ridge": optional(number),
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
            "exhausted": flag,
            "interrupted": flag,
            "relabelled": numbers("m"),
            "noise_depends_on_rows": flag,
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
            "n_seen": count,
            "n_mistakes": count,
            "n_epochs": count,
            "interrupted": flag,
        },
        is_part=True,
    ),
    steps.LoopStep: Kind({"loop": lambda value, held: value in FUNCTIONS.values()}),
    **{type(strategy): Kind() for strategy in selection.SELECTIONS.values()},
}


@cache
def table() -> dict[str, tuple[type, Kind]]:
    """Return every type a file may hold, with what it may hold, by its full name."""
    ours = {getattr(estimators, name): _OF_OURS for name in estimators.__all__}
    kinds = {**COLUMNS, **TEXT, **LINEAR, **TREES, **ours, **_PARTS}
    return {full_name(one): (one, kind) for one, kind in kinds.items()}


def full_name(one: Any) -> str:
    """Return the name of a type or function, with the module it is in."""
    return f"{one.__module__}.{one.__qualname__}"


_EVERYWHERE: dict[str, Check] = {
    "_sklearn_version": text,
    "_sklearn_output_config": mapping(one_of("default", "pandas", "polars")),
}


def check_object(kind: Kind, made: type, held: dict[str, Any], allow: frozenset[str]) -> None:
    """Raise if an object of this type may not hold these attributes.

    Parameters after which nothing was saved (a file by an older version) get their default.
    """

    def is_value(value: Any) -> bool:
        name = full_name(value if inspect.isroutine(value) else type(value))
        if name in allow or isinstance(value, np.random.RandomState):
            return True
        return name in table() and not table()[name][1].is_part

    known = Held(is_value)
    settings = _settings(made)
    for name, parameter in settings.items():
        if parameter.default is not parameter.empty:
            held.setdefault(name, parameter.default)
    for name, value in held.items():
        if not _check_for(name, kind, made, settings)(value, known):
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


def _check_for(name: str, kind: Kind, made: type, settings: Mapping[str, Any]) -> Check:
    listed = {**_EVERYWHERE, **kind.fitted, **kind.settings}.get(name)
    if listed is not None:
        return listed
    if name in settings or (kind.any_setting and not hasattr(made, name)):
        return setting
    return lambda value, held: False


@cache
def _settings(made: type) -> dict[str, inspect.Parameter]:
    """Return the parameters of an estimator's constructor."""
    if not issubclass(made, BaseEstimator):
        return {}
    return dict(inspect.signature(made).parameters)
