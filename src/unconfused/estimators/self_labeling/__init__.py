"""Few labels, many unlabelled rows."""

from unconfused.estimators.self_labeling.classifier import SelfLabelingClassifier

__all__ = ["SelfLabelingClassifier"]
