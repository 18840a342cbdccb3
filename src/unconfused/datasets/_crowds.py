"""Data sets labelled by crowds, rules or distant supervision, which users supply as files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from unconfused._text import import_extra
from unconfused._typing import Labels
from unconfused.datasets._home import (
    DataHome,
    StoredSet,
    Subset,
    about,
    as_numbers,
    documented,
    find_data_home,
    hand_over,
    parts_of,
    what_is_missing,
)

ANSWERS = "answers.csv"


def read_supplied(
    stored: StoredSet,
    loader: Callable[..., Any],
    data_home: DataHome,
    parts: list[str],
    item: str = "item",
) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Return the columns of some parts, and the answers if training rows are among them.

    `item` is what the header of the answers calls a row.
    """
    folder = find_data_home(data_home) / stored.folder
    files = [f"{part}.csv" for part in parts]
    answered = ANSWERS in stored.checksums and "train" in parts
    missing = what_is_missing(folder, [*files, *[ANSWERS] * answered])
    if missing is not None:
        raise FileNotFoundError(f"{missing} It cannot be downloaded.\n\n{about(loader)}")
    tables = [stored.read(folder, name) for name in files]
    columns = {name: [cell for one in tables for cell in one[name]] for name in stored.columns}
    if not answered:
        return columns, {}
    said = stored.read(folder, ANSWERS, ["annotator", item, "label"])
    # Parts may number their rows alike; only training rows, which come first, have answers.
    row_of = {identifier: row for row, identifier in enumerate(tables[0]["id"])}
    if unknown := sorted(set(said[item]) - set(row_of)):
        raise ValueError(
            f"{folder / ANSWERS} has votes on {item}s that train.csv lacks, such as {unknown[0]}."
        )
    rows = np.array([row_of[identifier] for identifier in said[item]], dtype=np.intp)
    annotator, label = np.array(said["annotator"]), np.array(said["label"])
    if np.char.isdecimal(annotator).all():  # as in the public files
        annotator = annotator.astype(np.intp)
    annotators, column = np.unique(annotator, return_inverse=True)
    votes = np.full((len(columns["id"]), len(annotators)), None, dtype=object)
    votes[rows, column] = label.astype(object)
    if np.count_nonzero(votes != None) != len(rows):  # noqa: E711 (elementwise)
        raise ValueError(f"{folder / ANSWERS} has two answers of one annotator on one {item}.")
    answers = Bunch(item=rows, annotator=annotator, label=label)
    return columns, {"votes": votes, "annotators": annotators, "answers": answers}


def _empty_as_none(fields: list[str]) -> Labels:
    return np.array([field or None for field in fields], dtype=object)


SOUNDS = [f"feature{number}" for number in range(124)]
RULES = [f"rule_{number}" for number in range(1, 11)]

MUSIC = StoredSet(
    "music_genre",
    ["id", *SOUNDS, "class"],
    {
        "train.csv": "28cd73e9bf555e5847de0b0fc4c4998264d4a272d657c452edf2c93c206bda64",
        "test.csv": "952b423483bef4e0aa38b628815232b600a745d028fc8dfe8addd49e616931b8",
        ANSWERS: "b23dfbde216ce7a36d143ec6c1619d396cbf85b2b076dcfc84a8e1bd1511ef6e",
    },
)
SENTIMENT = StoredSet(
    "sentiment_polarity",
    ["id", "text", "class"],
    {
        "train.csv": "7aa5432ae8e797ef19f5cd2e8662a65693cd8cd841acf636e76cba3d3c7f9ed0",
        "test.csv": "cbcf61c816a09d615811f4a167f8b683a4dfc5e9f5e02e4894ea229c3ae94076",
        ANSWERS: "984aa13bdd4c3f5383df35919546ad514d14bfa1f67808875f62b62df79a515c",
    },
)
YOUTUBE = StoredSet(
    "youtube_spam",
    ["id", "text", "class", *RULES],
    {
        "train.csv": "ba63d2f3a2e7d22ff3efd34b074ee9608a455a7216470ec1abf3b4f3339ef4ba",
        "test.csv": "2d47873f34fe6a71f8b0779bc5dd5730337e5b0ad187f63e80061d314de93d52",
    },
)
MEDICAL = StoredSet(
    "medical_relations",
    ["id", "sentence", "term1", "term2", "distant_label", "crowd_label", "crowd_score", "truth"],
    {"cause.csv": "0f24ae0aee08fc8f6f277c2229216d5bc8b1a3c0f25cd85257242576c7f7b624"},
)


@documented
def fetch_music_genre(
    *,
    data_home: DataHome = None,
    subset: Subset = "train",
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Load the music genres labelled by a crowd, 124 features and 10 classes.

    Songs described by 124 features of their sound (F. Rodrigues, F. Pereira and B. Ribeiro, 2013):
    700 training songs, each labelled by 1 to 7 of 44 people besides its true genre, and 300 test
    songs with the true genre alone.

    Nothing is downloaded, as no licence is stated. The sub-folder ``music_genre`` should hold
    ``train.csv`` and ``test.csv`` with the columns ``id``, ``feature0`` to ``feature123`` and
    ``class`` (the truth), and ``answers.csv`` with the columns ``annotator``, ``song`` (an ``id``
    of ``train.csv``) and ``label``.

    Parameters
    ----------
    $data_home
    subset : "train" (the songs with votes), "test" (those without) or "all"
    $return_X_y
    $as_frame

    Returns
    -------
    Bunch or (data, target)
        With ``data`` (floats), ``target`` (strings, the true genres), ``songs`` (their ids),
        ``frame``, ``feature_names``, ``target_names`` and ``DESCR``. Unless the subset is
        ``"test"``, also with $votes.

    $refusals
    """
    columns, votes = read_supplied(MUSIC, fetch_music_genre, data_home, parts_of(subset), "song")
    if as_frame and votes:
        frame = import_extra("pandas", "data", "as_frame=True").DataFrame
        votes["answers"] = frame(dict(votes["answers"]))
        votes["votes"] = frame(votes["votes"], columns=votes["annotators"], dtype=object)
    songs = np.array(columns["id"])
    if len(np.unique(songs)) != len(songs):
        raise ValueError(f"A song is listed twice in the files of {MUSIC.folder}.")
    return hand_over(
        fetch_music_genre,
        as_numbers(MUSIC.folder, [columns[name] for name in SOUNDS]),
        np.array(columns["class"]),
        feature_names=SOUNDS,
        return_X_y=return_X_y,
        as_frame=as_frame,
        songs=songs,
        **votes,
    )


@documented
def fetch_sentiment_polarity(
    *, data_home: DataHome = None, subset: Subset = "train", return_X_y: bool = False
) -> Any:
    """Load sentences of film reviews whose polarity was labelled by a crowd.

    Sentences of B. Pang and L. Lee, positive or negative, with labels collected by F. Rodrigues,
    F. Pereira and B. Ribeiro (2013): 4,999 training sentences, each labelled by some of 203 people
    besides its true polarity, and 3,999 test sentences with the true polarity alone.

    Nothing is downloaded, as no licence is stated. The sub-folder ``sentiment_polarity`` should
    hold ``train.csv`` and ``test.csv`` with the columns ``id``, ``text`` and ``class`` (the truth),
    and ``answers.csv`` with the columns ``annotator``, ``item`` (an ``id`` of ``train.csv``) and
    ``label``.

    Parameters
    ----------
    $data_home
    subset : "train" (the sentences with votes), "test" (those without) or "all"
    $return_X_y

    Returns
    -------
    Bunch or (data, target)
        With ``data`` (an array of texts), ``target`` (the truth, "negative" or "positive"),
        ``target_names`` and ``DESCR``. Unless the subset is ``"test"``, also with $votes.

    $refusals
    """
    columns, votes = read_supplied(SENTIMENT, fetch_sentiment_polarity, data_home, parts_of(subset))
    texts, truth = np.array(columns["text"], dtype=object), np.array(columns["class"])
    return hand_over(fetch_sentiment_polarity, texts, truth, return_X_y=return_X_y, **votes)


@documented
def fetch_youtube_spam(
    *, data_home: DataHome = None, subset: Subset = "train", return_X_y: bool = False
) -> Any:
    """Load comments on videos, with the answers of ten rules that may abstain.

    Comments under YouTube videos, spam or ham (UCI's "YouTube Spam Collection" of T. C. Alberto,
    J. V. Lochter and T. A. Almeida, 2015; CC BY 4.0), with the answers of ten rules written for
    them (data set "youtube" of the WRENCH collection of weak supervision, J. Zhang and others,
    2021): 1,586 training and 250 test comments. On 12 % of the training comments all rules abstain.

    Nothing is downloaded, as the texts are not public together with the rules. The sub-folder
    ``youtube_spam`` should hold ``train.csv`` and ``test.csv`` with the columns ``id``, ``text``,
    ``class`` (the truth) and ``rule_1`` to ``rule_10``, empty where a rule abstains.

    Parameters
    ----------
    $data_home
    subset : "train", "test" or "all", the training comments first
    $return_X_y

    Returns
    -------
    Bunch or (data, target)
        With ``data`` (an array of texts), ``target`` (the truth, "ham" or "spam"), ``votes``, one
        row per comment and one column per rule, None where it abstains; ``annotators``, the names
        of these columns; ``target_names`` and ``DESCR``.

    $refusals
    """
    columns, _ = read_supplied(YOUTUBE, fetch_youtube_spam, data_home, parts_of(subset))
    return hand_over(
        fetch_youtube_spam,
        np.array(columns["text"], dtype=object),
        np.array(columns["class"]),
        return_X_y=return_X_y,
        votes=np.stack([_empty_as_none(columns[rule]) for rule in RULES], axis=1),
        annotators=np.array(RULES),
    )


@documented
def fetch_medical_relations(*, data_home: DataHome = None, return_X_y: bool = False) -> Any:
    """Load sentences about medical terms with distant labels, crowd labels and some truths.

    Does one of two medical terms in a sentence cause the other? (CrowdTruth, A. Dumitrache,
    L. Aroyo and C. Welty.) There are 3,984 sentences, labelled "cause" or "none". Each has a label
    by distant supervision, which says whether the terms are related in this way in a knowledge
    base, and a label by a crowd, with the crowd's score. The truth, by experts, is known for 929.

    Nothing is downloaded, as no licence is stated. The sub-folder ``medical_relations`` should hold
    ``cause.csv`` with the columns ``id``, ``sentence``, ``term1``, ``term2``, ``distant_label``,
    ``crowd_label``, ``crowd_score`` and ``truth`` (empty where unknown).

    Parameters
    ----------
    $data_home
    $return_X_y

    Returns
    -------
    Bunch or (data, target)
        With ``data`` (an array of sentences), ``target`` (the truth, "cause" or "none"; None where
        unknown), ``distant_labels``, ``crowd_labels``, ``crowd_scores`` (of "cause"), ``terms``
        (two per sentence), ``target_names`` and ``DESCR``.

    $refusals
    """
    columns, _ = read_supplied(MEDICAL, fetch_medical_relations, data_home, ["cause"])
    distant, crowd = np.array(columns["distant_label"]), np.array(columns["crowd_label"])
    return hand_over(
        fetch_medical_relations,
        np.array(columns["sentence"], dtype=object),
        _empty_as_none(columns["truth"]),
        target_names=np.union1d(distant, crowd),
        return_X_y=return_X_y,
        distant_labels=distant,
        crowd_labels=crowd,
        crowd_scores=as_numbers(MEDICAL.folder, [columns["crowd_score"]])[:, 0],
        terms=np.array([columns["term1"], columns["term2"]], dtype=object).T,
    )
