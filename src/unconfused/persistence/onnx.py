"""Models as ONNX graphs, for use without Python: `to_onnx`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

from unconfused._atomic import os_errors_as, refuse_target, whole_file
from unconfused._pipelines import final_step
from unconfused._text import import_extra
from unconfused.estimators._base import LinearClassifier, SoftmaxClassifier
from unconfused.estimators.any_classifier import UnconfusedClassifier
from unconfused.persistence.checks import ExportError, refuse_unfitted

PLAIN_LOCALE = "C.UTF-8"
"""Converts text as US English does, on machines that do not have that."""

WORDS = r"[\p{L}\p{N}_]{2,}"
"""scikit-learn's usual words; left to itself, skl2onnx takes letters of English only."""


def to_onnx(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    example: Any = None,
    force: bool = False,
    target_opset: int | None = None,
    text_locale: str | None = None,
) -> Any:
    """Convert a fitted classifier, or a whole pipeline, to an ONNX graph.

    The graph computes in float32, and is compared with the model before it is returned, on the
    rows of `example` or on random ones. Its outputs are ``label`` and, where the model has
    probabilities, ``probabilities`` of shape (n, Q); else ``scores`` of shape (n, Q), whose column
    1 is the `decision_function` where there are two classes.

    Parameters
    ----------
    model : fitted classifier of this package, or a Pipeline that ends in one. Of a
        `SelfLabelingClassifier`, the learner is exported
    path : output file, if any
    example : a few rows to predict, which show the types of the columns. Needed for text, and where
        a ColumnTransformer takes columns by name. The graph then has one input of shape (n, 1) for
        each column, in which a missing category is the text "nan". Otherwise it has a single input,
        ``X``
    force : overwrite an existing file
    target_opset : version of the ONNX operators; None for the latest that skl2onnx supports
    text_locale : locale that lower-cases text, installed on the machine that runs the graph, such
        as "C.UTF-8"; None for US English (en_US)

    Returns
    -------
    The graph, an ``onnx.ModelProto``.

    Raises
    ------
    ExportError : if a part of the model has no counterpart in ONNX

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unconfused import UnconfusedLogisticRegression
    >>> from unconfused.persistence import to_onnx
    >>> clf = UnconfusedLogisticRegression(l2=1e-2).fit(*load_iris(return_X_y=True))
    >>> graph = to_onnx(clf)
    >>> [output.name for output in graph.graph.output]
    ['label', 'probabilities']
    """
    skl2onnx = import_extra("skl2onnx", "onnx", "Exporting to ONNX")
    onnx = import_extra("onnx", "onnx", "Exporting to ONNX")
    if path is not None:
        with os_errors_as(ExportError):
            refuse_target(Path(path), force=force)
    from unconfused.persistence.onnx_check import check_graph

    steps, last = _steps_and_classifier(model)
    if (why := export_obstacle(last)) is not None:
        raise ExportError(why)
    from unconfused.persistence.onnx_converters import register_dates

    register_dates()
    outcome = {"zipmap": False, "raw_scores": not hasattr(last, "predict_proba")}
    outputs = ["label", "scores" if outcome["raw_scores"] else "probabilities"]
    try:
        classifier = _plain(last)
        core, plain = (make_pipeline(*steps, one) if steps else one for one in (last, classifier))
        inputs = _inputs(core, example)
        graph = skl2onnx.convert_sklearn(
            plain,
            initial_types=inputs,
            options=_options(plain, text_locale) | {id(classifier): outcome},
            final_types=[(name, None) for name in outputs],
            target_opset=target_opset,
        )
        onnx.checker.check_model(graph)
        check_graph(core, graph, example, [name for name, _ in inputs])
    except (ExportError, ImportError):
        raise
    except Exception as error:  # every converter has its own way of giving up
        if "::Locale" in str(error):
            raise ExportError(
                f"The graph converts text to lower case by the locale {text_locale or 'en_US'}, "
                f"which this machine does not have; pass text_locale='{PLAIN_LOCALE}'."
            ) from error
        raise ExportError(_why([*steps, last], error)) from error
    if path is not None:
        with os_errors_as(ExportError), whole_file(path, force=force) as scratch:
            scratch.write_bytes(graph.SerializeToString())
    return graph


def export_obstacle(model: Any) -> str | None:
    """Return why a fitted classifier, or pipeline, cannot be exported; None if it may be.

    This needs none of the packages that make the graph.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unconfused import UMAClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> export_obstacle(UMAClassifier().fit(X, y))
    >>> export_obstacle(UMAClassifier().fit(X, y.astype(float)))
    'ONNX takes labels that are integers or text; these are [0.0, 1.0, 2.0]. Convert ...
    """
    classifier, _ = final_step(model)
    if isinstance(classifier, UnconfusedClassifier):
        return (
            f"{type(classifier.estimator).__name__} through a confusion matrix cannot be exported "
            "to ONNX; a logistic regression can."
        )
    classes = np.asarray(classifier.classes_)
    text = classes.dtype.kind == "U" or all(isinstance(one, str) for one in classes.tolist())
    if not text and classes.dtype.kind not in "iub":
        return (
            f"ONNX takes labels that are integers or text; these are {classes.tolist()[:5]}. "
            "Convert the labels before you fit."
        )
    weighted = getattr(classifier, "class_weight", None) is not None
    if weighted and isinstance(classifier, SoftmaxClassifier):
        return (
            "With class_weight the predicted class is the cheapest, not the likeliest one, which "
            "an ONNX graph cannot express. Export with set_params(class_weight=None), and decide "
            "by the probabilities."
        )
    return None


def _options(model: Any, text_locale: str | None) -> dict[Any, dict[str, Any]]:
    options: dict[Any, dict[str, Any]] = {}
    for vectorizer in _vectorizers(model):
        usual = vectorizer.token_pattern == CountVectorizer().token_pattern
        chosen = {"locale": text_locale, "tokenexp": WORDS if usual else None}
        options[id(vectorizer)] = {name: one for name, one in chosen.items() if one is not None}
    return options


def _vectorizers(part: Any) -> list[CountVectorizer]:
    """Return the vectorizers in a pipeline, wherever they are."""
    if isinstance(part, CountVectorizer):
        return [part]
    inner: list[Any] = []
    if isinstance(part, Pipeline):
        inner = [step for _, step in part.steps]
    elif isinstance(part, ColumnTransformer):
        inner = [step for _, step, _ in part.transformers_]
    return [found for step in inner for found in _vectorizers(step)]


def _steps_and_classifier(model: Any) -> tuple[list[Any], Any]:
    """Return the steps before the fitted classifier that predicts, and this one."""
    steps: list[Any] = []
    refuse_unfitted(model, ExportError, "exported")
    while (inner := getattr(model, "learner_", None)) is not None or isinstance(model, Pipeline):
        if inner is None:
            steps += [step for _, step in model.steps[:-1]]
            inner = model.steps[-1][1]
        model = inner
        refuse_unfitted(model, ExportError, "exported")
    if not hasattr(model, "classes_"):
        raise ExportError(f"{type(model).__name__} is not a classifier.")
    return steps, model


def _plain(classifier: Any) -> Any:
    """Return a classifier of scikit-learn with the same predictions, if ours is linear."""
    if not isinstance(classifier, LinearClassifier):
        return classifier
    plain = LogisticRegression()
    for name in ("coef_", "intercept_", "classes_", "n_features_in_"):
        setattr(plain, name, getattr(classifier, name))
    return plain


def _inputs(model: Any, example: Any) -> list[tuple[str, Any]]:
    """Return the names and types of the graph's inputs."""
    from skl2onnx.common.data_types import (
        DoubleTensorType,
        FloatTensorType,
        StringTensorType,
    )

    first = model
    while isinstance(first, Pipeline):
        first = first.steps[0][1]
    if isinstance(first, CountVectorizer):
        if example is None:
            raise ExportError("This model takes text: pass example=, a list of a few texts.")
        return [("X", StringTensorType([None, 1]))]
    if not isinstance(first, ColumnTransformer) or not hasattr(model, "feature_names_in_"):
        return [("X", FloatTensorType([None, model.n_features_in_]))]
    if not hasattr(example, "columns"):
        raise ExportError(
            "This model takes columns by name: pass example=, a frame with a few rows, so that "
            "their types are known."
        )
    missing = [name for name in model.feature_names_in_ if name not in list(example.columns)]
    if missing:
        raise ExportError(f"The example has no column {', '.join(map(repr, missing))}.")
    used = [name for name in model.feature_names_in_ if name in _used_columns(first)]
    kinds = {"M": DoubleTensorType} | dict.fromkeys("iufb", FloatTensorType)
    return [
        (name, kinds.get(np.asarray(example[name]).dtype.kind, StringTensorType)([None, 1]))
        for name in used
    ]


def _used_columns(transformer: ColumnTransformer) -> set[str]:
    """Return the columns that do not fall away; the graph need not ask for others."""
    kept: set[str] = set()
    for name, part, _ in transformer.transformers_:
        if not (isinstance(part, str) and part == "drop"):
            places = transformer._transformer_to_input_indices[name]
            kept.update(transformer.feature_names_in_[places])
    return kept


def _why(steps: list[Any], error: Exception) -> str:
    names = " > ".join(type(step).__name__ for step in steps)
    text = " ".join(str(error).split()).split(" It usually means")[0]
    return (
        f"{names} cannot be exported to ONNX: {text[:400]} Kernel projections and "
        "functions of your own have no counterpart there; unconfused.save keeps them."
    )
