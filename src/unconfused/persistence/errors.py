"""Errors about model files."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from unconfused._text import printable


class ModelFileError(ValueError):
    """A model cannot be saved, or a file cannot be loaded as one; the message says why."""


class ExportError(ValueError):
    """A model cannot be written in another format; the message says why."""


def in_words(error: BaseException) -> str:
    """Return type and message of an error, on one line."""
    text = printable(" ".join(str(error).split()))
    return f"{type(error).__name__}: {text}"[:300] if text else type(error).__name__


def refuse_unfitted(model: Any, kind: type[ValueError], done: str) -> None:
    """Raise an error of this kind if a model is not a fitted estimator; `done` is "saved", say."""
    if not isinstance(model, BaseEstimator):
        raise kind(f"Only scikit-learn estimators can be {done}; this is a {type(model).__name__}.")
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise kind(
            f"This {type(model).__name__} is not fitted; only fitted models can be {done}."
        ) from None
