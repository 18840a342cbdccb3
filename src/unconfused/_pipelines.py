"""Classifiers inside pipelines, searches and other estimators: parameters, fits, predictions."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from unconfused._labels import MISSING, encode_labels
from unconfused._typing import FloatArray, IntArray, Labels, Rows


def final_step(estimator: Any) -> tuple[Any, str]:
    """Return a pipeline's last step and the prefix of its parameters, or the estimator itself."""
    prefix = ""
    while steps := getattr(estimator, "steps", None):
        name, estimator = steps[-1]
        prefix += f"{name}__"
    return estimator, prefix


def last_step(estimator: Any) -> Any:
    """Return the fitted classifier inside pipelines and searches."""
    if hasattr(estimator, "best_estimator_"):
        return last_step(estimator.best_estimator_)
    return last_step(estimator.steps[-1][1]) if hasattr(estimator, "steps") else estimator


def takes_in_fit(estimator: Any, name: str) -> bool:
    """Whether the `fit` of an estimator, or of a pipeline's last step, has this argument."""
    return bool(has_fit_parameter(final_step(estimator)[0], name))


def parameters(estimator: Any) -> dict[str, Any]:
    """Return the constructor parameters of an estimator, or of a pipeline's last step."""
    final = final_step(estimator)[0]
    return dict(final.get_params(deep=False)) if hasattr(final, "get_params") else {}


def with_parameters(estimator: Any, **parameters: Any) -> Any:
    """Return an unfitted copy with these parameters of its own, or of its last step, set."""
    prefix = final_step(estimator)[1]
    return clone(estimator).set_params(**{prefix + key: val for key, val in parameters.items()})


def fit_with(estimator: Any, X: Rows, y: Labels, **arguments: Any) -> Any:
    """Fit, with further arguments for the estimator or a pipeline's last step.

    Those that are None are left out, and so are weights if it takes none.
    """
    prefix = final_step(estimator)[1]
    given = {prefix + key: value for key, value in arguments.items() if value is not None}
    if not takes_in_fit(estimator, "sample_weight"):
        given.pop(f"{prefix}sample_weight", None)
    # A pipeline takes arguments by the name of the step only while it does not route metadata.
    in_pipeline = prefix and given
    with config_context(enable_metadata_routing=False) if in_pipeline else nullcontext():
        return estimator.fit(X, y, **given)


def seeded(estimator: Any, rng: np.random.RandomState) -> Any:
    """Return a copy in which every `random_state` that is None is drawn from `rng`."""
    copy = clone(estimator)
    unset = sorted(
        key
        for key, value in copy.get_params(deep=True).items()
        if value is None and (key == "random_state" or key.endswith("__random_state"))
    )
    return copy.set_params(**{key: int(rng.randint(2**31 - 1)) for key in unset})


def decoded(codes: IntArray, classes: Labels) -> Labels:
    """Turn codes back into labels, None where missing."""
    if np.all(codes != MISSING):
        return np.asarray(classes[codes])
    labels = classes.astype(object)[codes]
    labels[codes == MISSING] = None
    return np.asarray(labels)


def predicted_codes(fitted: Any, X: Rows, classes: Labels) -> IntArray:
    """Predict, as indices into the classes."""
    return encode_labels(fitted.predict(X), classes=classes, missing_label=None).observed


def aligned_columns(table: Any, fitted: Any, classes: Labels, fill: float = 0.0) -> FloatArray:
    """Give probabilities a column for every class; `fill` for those a classifier never met."""
    places = encode_labels(fitted.classes_, classes=classes, missing_label=None).observed
    full = np.full((len(table), len(classes)), fill)
    full[:, places] = table
    return full
