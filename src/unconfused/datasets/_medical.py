"""Sentences about two medical terms, labelled by distant supervision and by a crowd."""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused.datasets._answers import SuppliedSet, supplied_file
from unconfused.datasets._home import DataHome, as_numbers, empty_as_none, hand_over

COLUMNS = [
    "id",
    "sentence",
    "term1",
    "term2",
    "distant_label",
    "crowd_label",
    "crowd_score",
    "truth",
]

SET = SuppliedSet(
    "medical_relations",
    "medical relations",
    COLUMNS,
    {
        "all": supplied_file(
            "cause.csv", COLUMNS, "0f24ae0aee08fc8f6f277c2229216d5bc8b1a3c0f25cd85257242576c7f7b624"
        )
    },
    "No licence is stated. It comes from the CrowdTruth project's medical relation extraction. "
    f"Expected columns: {', '.join(COLUMNS)}.",
)

DESCRIPTION = """\
Sentences with two medical terms: does one cause the other? (CrowdTruth, A. Dumitrache, L. Aroyo
and C. Welty.) No licence is stated, so the set is neither shipped nor downloaded.

3,984 sentences, "cause" or "none", with a label by distant supervision (the terms are so related
in a knowledge base) and one by a crowd, with the crowd's score. The truth, by experts, is known for
929 of them.
"""


def fetch_medical_relations(*, data_home: DataHome = None, return_X_y: bool = False) -> Any:
    """Load sentences about medical terms with distant labels, crowd labels and some truths.

    Nothing is downloaded: the set has no public home with a licence. The sub-folder
    ``medical_relations`` should hold ``cause.csv`` with the columns ``id``, ``sentence``,
    ``term1``, ``term2``, ``distant_label``, ``crowd_label``, ``crowd_score`` and ``truth`` (empty
    where unknown).

    Parameters
    ----------
    data_home : str, path or None, default=None
        Folder that contains ``medical_relations``; None is the environment variable
        ``UNCONFUSED_DATA`` or else a folder in the user's cache.
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.

    Returns
    -------
    Bunch or (data, target)
        With ``data`` (an array of sentences), ``target`` (the truth, "cause" or "none"; None where
        unknown), ``distant_labels``, ``crowd_labels``, ``crowd_scores`` (of "cause"), ``terms``
        (two per sentence), ``target_names`` and ``DESCR``.

    Raises
    ------
    FileNotFoundError
        If the file is missing.
    ValueError
        If it is damaged.

    Examples
    --------
    >>> from unconfused.datasets import fetch_medical_relations
    >>> medical = fetch_medical_relations()  # doctest: +SKIP
    >>> medical.data.shape  # doctest: +SKIP
    (3984,)
    """
    rows = SET.read(data_home, ["all"])
    columns = rows.columns
    scores = as_numbers(rows.folder, np.array(columns["crowd_score"]))
    distant, crowd = np.array(columns["distant_label"]), np.array(columns["crowd_label"])
    return hand_over(
        np.array(columns["sentence"], dtype=object),
        empty_as_none(columns["truth"]),
        feature_names=None,
        target_names=np.union1d(distant, crowd),
        description=DESCRIPTION,
        return_X_y=return_X_y,
        distant_labels=distant,
        crowd_labels=crowd,
        crowd_scores=scores,
        terms=np.array([columns["term1"], columns["term2"]], dtype=object).T,
    )
