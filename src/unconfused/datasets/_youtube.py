"""Comments under videos, called spam or ham by rules that mostly abstain."""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused.datasets._home import (
    DataHome,
    Subset,
    TableFile,
    empty_as_none,
    find_data_home,
    hand_over,
    has_files,
    not_found,
    parts_of,
    read_columns,
)

RULES = [f"rule_{number}" for number in range(1, 11)]
COLUMNS = ["id", "text", "class", *RULES]

FILES = {
    "train": TableFile(
        "train.csv",
        len(COLUMNS),
        None,
        "ba63d2f3a2e7d22ff3efd34b074ee9608a455a7216470ec1abf3b4f3339ef4ba",
        own_copies=True,
    ),
    "test": TableFile(
        "test.csv",
        len(COLUMNS),
        None,
        "2d47873f34fe6a71f8b0779bc5dd5730337e5b0ad187f63e80061d314de93d52",
        own_copies=True,
    ),
}

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
    folder = find_data_home(data_home) / "youtube_spam"
    parts = parts_of(subset)
    names = [FILES[part].name for part in parts]
    if not has_files(folder, names):
        raise FileNotFoundError(
            f"{not_found('YouTube spam', folder, names)} It cannot be downloaded in this form. The "
            "texts are UCI's 'YouTube Spam Collection' (CC BY 4.0), the rules those of the WRENCH "
            "collection (data set 'youtube'). Expected columns: id, text, class, rule_1 to "
            "rule_10, empty where a rule abstains."
        )
    tables = [read_columns(folder, FILES[part], COLUMNS) for part in parts]
    joined = {name: [entry for table in tables for entry in table[name]] for name in COLUMNS}
    target = np.array(joined["class"])
    return hand_over(
        np.array(joined["text"], dtype=object),
        target,
        feature_names=None,
        target_names=np.unique(target),
        description=DESCRIPTION,
        return_X_y=return_X_y,
        votes=np.stack([empty_as_none(joined[rule]) for rule in RULES], axis=1),
        annotators=np.array(RULES),
    )
