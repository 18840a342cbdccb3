"""Sentences of film reviews, their polarity named by a crowd."""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused.datasets._answers import ANSWERS, SuppliedSet, supplied_file
from unconfused.datasets._home import DataHome, Subset, hand_over, parts_of

COLUMNS = ["id", "text", "class"]
ANSWER_COLUMNS = ("annotator", "item", "label")

FILES = {
    "train": supplied_file(
        "train.csv", COLUMNS, "7aa5432ae8e797ef19f5cd2e8662a65693cd8cd841acf636e76cba3d3c7f9ed0"
    ),
    "test": supplied_file(
        "test.csv", COLUMNS, "cbcf61c816a09d615811f4a167f8b683a4dfc5e9f5e02e4894ea229c3ae94076"
    ),
    ANSWERS: supplied_file(
        "answers.csv",
        [*ANSWER_COLUMNS],
        "984aa13bdd4c3f5383df35919546ad514d14bfa1f67808875f62b62df79a515c",
    ),
}
SET = SuppliedSet(
    "sentiment_polarity",
    "sentiment polarity",
    COLUMNS,
    FILES,
    "No licence is stated. It comes from F. Rodrigues, F. Pereira and B. Ribeiro (2013). Expected "
    f"columns: {', '.join(COLUMNS)} in train.csv and test.csv; {', '.join(ANSWER_COLUMNS)} in "
    "answers.csv.",
    ANSWER_COLUMNS,
)

DESCRIPTION = """\
Polarity of sentences from film reviews, labelled by a crowd (F. Rodrigues, F. Pereira and
B. Ribeiro, 2013, on sentences of B. Pang and L. Lee). No licence is stated, so the set is neither
shipped nor downloaded.

Sentences, positive or negative: 4,999 training sentences, each labelled by some of 203 people
besides its true polarity, and 3,999 test sentences with the true polarity alone.
"""


def fetch_sentiment_polarity(
    *, data_home: DataHome = None, subset: Subset = "train", return_X_y: bool = False
) -> Any:
    """Load sentences of film reviews whose polarity was labelled by a crowd.

    Nothing is downloaded: the set has no public home with a licence. The sub-folder
    ``sentiment_polarity`` should hold ``train.csv`` and ``test.csv`` with the columns ``id``,
    ``text`` and ``class`` (the truth), and ``answers.csv`` with the columns ``annotator``, ``item``
    (an ``id`` of ``train.csv``) and ``label``.

    Parameters
    ----------
    data_home : str, path or None, default=None
        Folder that contains ``sentiment_polarity``; None is the environment variable
        ``UNCONFUSED_DATA`` or else a folder in the user's cache.
    subset : {"train", "test", "all"}, default="train"
        The sentences with votes, those without, or the first then the second.
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.

    Returns
    -------
    Bunch or (data, target)
        With ``data`` (an array of texts), ``target`` (the truth, "negative" or "positive"),
        ``target_names`` and ``DESCR``. Unless the subset is ``"test"``, also with ``votes``, one
        row per sentence and one column per annotator, None where there is no answer;
        ``annotators``, the names of these columns; and ``answers``, the same votes in long form:
        ``item`` (the row of ``data``), ``annotator`` and ``label``.

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If a file is damaged.

    Examples
    --------
    >>> from unconfused.datasets import fetch_sentiment_polarity
    >>> reviews = fetch_sentiment_polarity()  # doctest: +SKIP
    >>> reviews.votes.shape  # doctest: +SKIP
    (4999, 203)
    """
    rows = SET.read(data_home, parts_of(subset))
    return hand_over(
        rows.texts,
        rows.target,
        feature_names=None,
        target_names=np.unique(rows.target),
        description=DESCRIPTION,
        return_X_y=return_X_y,
        **({} if return_X_y else rows.votes()),
    )
