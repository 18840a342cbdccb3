"""Make confusion matrices and corrupt labels with them, to test methods for noisy labels.

Rows of every matrix are true classes, columns are observed labels, and rows sum to 1.
"""

from unconfused.noise._corrupt import boundary, corrupt_labels
from unconfused.noise._matrices import (
    drift_family,
    label_sets,
    pairwise,
    random_confusion,
    symmetric,
)

__all__ = [
    "boundary",
    "corrupt_labels",
    "drift_family",
    "label_sets",
    "pairwise",
    "random_confusion",
    "symmetric",
]
