"""Where the confusion matrix comes from."""

from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.confusion.trusted import from_trusted

__all__ = ["ConfusionEstimate", "from_trusted"]
