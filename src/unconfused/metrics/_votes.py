"""How likely a model makes the votes of several annotators on rows it has not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp

from unconfused._labels import label_array
from unconfused._pipelines import last_step
from unconfused._typing import ArrayLike, Rows
from unconfused.metrics._confusion_rate import _check_weight
from unconfused.metrics._fitted import (
    classes_of,
    mean_of,
    probabilities_of,
    refuse_other_length,
    safe_log,
)


def several_columns(y: Any) -> bool:
    """Return whether labels come from several annotators."""
    shape = y.shape if hasattr(y, "shape") else label_array(y).shape
    return len(shape) == 2 and shape[1] > 1


def votes_likelihood(
    estimator: Any, X: Rows, y: Any, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean log-likelihood of the votes on a row; rows without a vote are left out."""
    model = last_step(estimator)
    if not hasattr(model, "annotator_confusion_"):
        raise ValueError(
            f"y holds votes, but the {type(model).__name__} was not fitted to votes, so it does "
            "not know the annotators. Score it against one label per row."
        )
    chances = probabilities_of(estimator, X, classes_of(estimator))
    logs, voted = model._log_vote_chances(y)
    refuse_other_length(chances, logs)
    values = logsumexp(safe_log(chances) + logs, axis=1)[voted]
    return mean_of(np.asarray(values), _check_weight(sample_weight, len(voted)), voted, "vote")
