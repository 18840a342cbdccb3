"""Comments under videos, called spam or ham by rules that mostly abstain."""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused.datasets._answers import SuppliedSet, supplied_file
from unconfused.datasets._home import DataHome, Subset, empty_as_none, hand_over, parts_of

RULES = [f"rule_{number}" for number in range(1, 11)]
COLUMNS = ["id", "text", "class", *RULES]

FILES = {
    "train": supplied_file(
        "train.csv", COLUMNS, "ba63d2f3a2e7d22ff3efd34b074ee9608a455a7216470ec1abf3b4f3339ef4ba"
    ),
    "test": supplied_file(
        "test.csv", COLUMNS, "2d47873f34fe6a71f8b0779bc5dd5730337e5b0ad187f63e80061d314de93d52"
    ),
}
SET = SuppliedSet(
    "youtube_spam",
    "YouTube spam",
    COLUMNS,
    FILES,
    "The texts are UCI's 'YouTube Spam Collection' (CC BY 4.0), the rules those of the WRENCH "
    "collection (data set 'youtube'). Expected columns: id, text, class, rule_1 to rule_10, empty "
    "where a rule abstains.",
)

DESCRIPTION = """\
Comments under YouTube videos, spam or ham (T. C. Alberto, J. V. Lochter and T. A. Almeida, 2015;
UCI, CC BY 4.0), with the answers of ten rules written for them (the WRENCH collection of weak
supervision, J. Zhang and others, 2021).

1,586 training and 250 test comments. A rule says "spam" or "ham", or abstains; of 12 % of the
training comments no rule says anything.
"""


def fetch_youtube_spam(
    *, data_home: DataHome = None, subset: Subset = "train", return_X_y: bool = False
) -> Any:
    """Load comments on videos, with the answers of ten rules that may abstain.

    Nothing is downloaded: the texts are public at UCI, but not together with the rules. The
    sub-folder ``youtube_spam`` should hold ``train.csv`` and ``test.csv`` with the columns ``id``,
    ``text``, ``class`` (the truth) and ``rule_1`` to ``rule_10``, empty where a rule abstains.

    Parameters
    ----------
    data_home : str, path or None, default=None
        Folder that contains ``youtube_spam``; None is the environment variable
        ``UNCONFUSED_DATA`` or else a folder in the user's cache.
    subset : {"train", "test", "all"}, default="train"
        The training comments, the test comments, or the first then the second.
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.

    Returns
    -------
    Bunch or (data, target)
        With ``data`` (an array of texts), ``target`` (the truth, "ham" or "spam"), ``votes``, one
        row per comment and one column per rule, None where it abstains; ``annotators``, the names
        of these columns; ``target_names`` and ``DESCR``.

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If a file is damaged.

    Examples
    --------
    >>> from unconfused.datasets import fetch_youtube_spam
    >>> comments = fetch_youtube_spam()  # doctest: +SKIP
    >>> comments.votes.shape  # doctest: +SKIP
    (1586, 10)
    """
    rows = SET.read(data_home, parts_of(subset))
    return hand_over(
        rows.texts,
        rows.target,
        feature_names=None,
        target_names=np.unique(rows.target),
        description=DESCRIPTION,
        return_X_y=return_X_y,
        votes=np.stack([empty_as_none(rows.columns[rule]) for rule in RULES], axis=1),
        annotators=np.array(RULES),
    )
