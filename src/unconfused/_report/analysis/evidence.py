"""What labels, truths and votes say of the rows of a report."""

from __future__ import annotations

import numpy as np

from unconfused._report.analysis.case import Case
from unconfused._typing import FloatArray
from unconfused.estimators.annotators.crowd import evidence_of, join_silence


def evidence_for(
    case: Case, matrix: FloatArray, annotator_matrices: FloatArray | None = None
) -> FloatArray:
    """Return the chance of what was seen on each row given each true class, (n, Q)."""
    if case.votes is not None:
        if annotator_matrices is None:
            annotator_matrices = case.final.annotator_confusion_
        silence = getattr(case.final, "annotator_silence_", None)
        return evidence_of(case.crowd, join_silence(annotator_matrices, silence))[0]
    evidence = np.ones((len(case.observed), case.n_classes))
    evidence[case.labelled] = matrix[:, case.observed[case.labelled]].T
    evidence[case.trusted] = np.eye(case.n_classes)[case.truth[case.trusted]]
    return evidence
