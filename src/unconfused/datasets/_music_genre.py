"""Music genres named by a crowd."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from unconfused._typing import FloatArray, Labels
from unconfused.datasets._answers import read_answers
from unconfused.datasets._home import (
    DataHome,
    Subset,
    TableFile,
    as_numbers,
    find_data_home,
    hand_over,
    has_files,
    not_found,
    parts_of,
    read_columns,
)

N_FEATURES = 124
FEATURE_NAMES = [f"feature{number}" for number in range(N_FEATURES)]
SONG_COLUMNS = ["id", *FEATURE_NAMES, "class"]
ANSWER_COLUMNS = ["annotator", "song", "label"]

FILES = {
    "train": TableFile(
        "train.csv",
        len(SONG_COLUMNS),
        None,
        "28cd73e9bf555e5847de0b0fc4c4998264d4a272d657c452edf2c93c206bda64",
        own_copies=True,
    ),
    "test": TableFile(
        "test.csv",
        len(SONG_COLUMNS),
        None,
        "952b423483bef4e0aa38b628815232b600a745d028fc8dfe8addd49e616931b8",
        own_copies=True,
    ),
}
ANSWERS = TableFile(
    "answers.csv",
    len(ANSWER_COLUMNS),
    None,
    "b23dfbde216ce7a36d143ec6c1619d396cbf85b2b076dcfc84a8e1bd1511ef6e",
    own_copies=True,
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
    folder = find_data_home(data_home) / "music_genre"
    parts = parts_of(subset)
    _check_files(folder, parts)
    songs, data, target = _read_songs(folder, parts)
    more = {}
    if not return_X_y and parts != ["test"]:
        more = read_answers(folder, ANSWERS, ANSWER_COLUMNS, songs, as_frame=as_frame)
    return hand_over(
        data,
        target,
        feature_names=FEATURE_NAMES,
        target_names=np.unique(target),
        description=DESCRIPTION,
        return_X_y=return_X_y,
        as_frame=as_frame,
        songs=songs,
        **more,
    )


def _check_files(folder: Path, parts: list[str]) -> None:
    names = [FILES[part].name for part in parts]
    if "train" in parts:
        names.append(ANSWERS.name)
    if not has_files(folder, names):
        raise FileNotFoundError(
            f"{not_found('music genre', folder, names)} It cannot be downloaded. Expected columns: "
            f"id, feature0 to feature{N_FEATURES - 1}, class in train.csv and test.csv; "
            f"{', '.join(ANSWER_COLUMNS)} in answers.csv."
        )


def _read_songs(folder: Path, parts: list[str]) -> tuple[Labels, FloatArray, Labels]:
    songs: list[str] = []
    target: list[str] = []
    data = []
    for part in parts:
        columns = read_columns(folder, FILES[part], SONG_COLUMNS)
        songs += columns["id"]
        target += columns["class"]
        features = np.array([columns[name] for name in FEATURE_NAMES]).T
        data.append(as_numbers(folder / FILES[part].name, features))
    if len(set(songs)) != len(songs):
        raise ValueError(f"A song is listed twice in the files of {folder}.")
    return np.array(songs), np.concatenate(data), np.array(target)
