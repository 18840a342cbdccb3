"""Music genres named by a crowd."""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused.datasets._answers import ANSWERS, SuppliedSet, supplied_file
from unconfused.datasets._home import DataHome, Subset, as_numbers, hand_over, parts_of

N_FEATURES = 124
FEATURE_NAMES = [f"feature{number}" for number in range(N_FEATURES)]
SONG_COLUMNS = ["id", *FEATURE_NAMES, "class"]
ANSWER_COLUMNS = ("annotator", "song", "label")

FILES = {
    "train": supplied_file(
        "train.csv",
        SONG_COLUMNS,
        "28cd73e9bf555e5847de0b0fc4c4998264d4a272d657c452edf2c93c206bda64",
    ),
    "test": supplied_file(
        "test.csv",
        SONG_COLUMNS,
        "952b423483bef4e0aa38b628815232b600a745d028fc8dfe8addd49e616931b8",
    ),
    ANSWERS: supplied_file(
        "answers.csv",
        [*ANSWER_COLUMNS],
        "b23dfbde216ce7a36d143ec6c1619d396cbf85b2b076dcfc84a8e1bd1511ef6e",
    ),
}
SET = SuppliedSet(
    "music_genre",
    "music genre",
    SONG_COLUMNS,
    FILES,
    f"Expected columns: id, feature0 to feature{N_FEATURES - 1}, class in train.csv and test.csv; "
    f"{', '.join(ANSWER_COLUMNS)} in answers.csv.",
    ANSWER_COLUMNS,
)

DESCRIPTION = """\
Music genres labelled by a crowd (F. Rodrigues, F. Pereira and B. Ribeiro, 2013). No licence is
stated, so the set is neither shipped nor downloaded.

Songs described by 124 features of their sound, in 10 genres: 700 training songs, each labelled by
1 to 7 of 44 people besides its true genre, and 300 test songs with the true genre alone.
"""


def fetch_music_genre(
    *,
    data_home: DataHome = None,
    subset: Subset = "train",
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Load the music genres labelled by a crowd, 124 features and 10 classes.

    Nothing is downloaded: the set has no public home with a licence. The sub-folder
    ``music_genre`` should hold ``train.csv`` and ``test.csv`` with the columns ``id``,
    ``feature0`` to ``feature123`` and ``class`` (the truth), and ``answers.csv`` with the columns
    ``annotator``, ``song`` (an ``id`` of ``train.csv``) and ``label``.

    Parameters
    ----------
    data_home : str, path or None, default=None
        Folder that contains ``music_genre``; None is the environment variable ``UNCONFUSED_DATA``
        or else a folder in the user's cache.
    subset : {"train", "test", "all"}, default="train"
        The songs with votes, those without, or the first then the second.
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.
    as_frame : bool, default=False
        Return pandas objects.

    Returns
    -------
    Bunch or (data, target)
        With ``data`` (floats), ``target`` (strings, the true genres), ``songs`` (their ids),
        ``frame``, ``feature_names``, ``target_names`` and ``DESCR``. Unless the subset is
        ``"test"``, also with ``votes``, one row per song and one column per annotator, None where
        an annotator did not hear a song; ``annotators``, the names of these columns; and
        ``answers``, the same votes in long form: ``item`` (the row of ``data``), ``annotator``
        and ``label``.

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If a file is damaged.

    Examples
    --------
    >>> from unconfused.datasets import fetch_music_genre
    >>> music = fetch_music_genre()  # doctest: +SKIP
    >>> music.votes.shape  # doctest: +SKIP
    (700, 44)
    """
    rows = SET.read(data_home, parts_of(subset))
    songs = np.array(rows.columns["id"])
    if len(set(rows.columns["id"])) != len(songs):
        raise ValueError(f"A song is listed twice in the files of {rows.folder}.")
    features = np.array([rows.columns[name] for name in FEATURE_NAMES]).T
    return hand_over(
        as_numbers(rows.folder, features),
        rows.target,
        feature_names=FEATURE_NAMES,
        target_names=np.unique(rows.target),
        description=DESCRIPTION,
        return_X_y=return_X_y,
        as_frame=as_frame,
        songs=songs,
        **({} if return_X_y else rows.votes(as_frame=as_frame)),
    )
