"""Two data sets of UCI: handwritten digits and printed letters."""

from __future__ import annotations

from pathlib import Path
from string import ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml, load_digits

from unconfused._typing import FloatArray, IntArray
from unconfused.datasets._home import (
    RETRIES,
    DataHome,
    StoredSet,
    Subset,
    as_numbers,
    documented,
    downloading,
    find_data_home,
    hand_over,
    parts_of,
    what_is_missing,
)

DIGIT_FEATURES = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
DIGIT_FILES = {"train": "optdigits.tra", "test": "optdigits.tes"}
DIGITS = StoredSet(
    "optdigits",
    [*DIGIT_FEATURES, "class"],
    {
        "optdigits.tra": "e1b683cc211604fe8fd8c4417e6a69f31380e0c61d4af22e93cc21e9257ffedd",
        "optdigits.tes": "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8",
    },
    archived=True,
)

LETTER_FILE = "letter-recognition.data"
N_TRAINING_LETTERS = 16_000
LETTER_FEATURES = [
    "x-box", "y-box", "width", "high", "onpix", "x-bar", "y-bar", "x2bar",
    "y2bar", "xybar", "x2ybr", "xy2br", "x-ege", "xegvy", "y-ege", "yegvx",
]  # fmt: skip
LETTER = StoredSet(
    "letter",
    ["class", *LETTER_FEATURES],
    {LETTER_FILE: "2b89f3602cf768d3c8355267d2f13f2417809e101fc2b5ceee10db19a60de6e2"},
    archived=True,
)


@documented
def fetch_optdigits(
    *,
    data_home: DataHome = None,
    subset: Subset = "train",
    return_X_y: bool = False,
    as_frame: bool = False,
    download_if_missing: bool = True,
) -> Any:
    """Load the UCI handwritten digits, 64 features and 10 classes.

    Optical recognition of handwritten digits (E. Alpaydin and C. Kaynak, UCI, 1998; CC BY 4.0).
    Bitmaps of digits reduced to 8 x 8 counts of inked pixels, each from 0 to 16: 3,823 training
    rows written by 30 people and 1,797 test rows written by 13 others.

    The files ``optdigits.tra`` and ``optdigits.tes`` of UCI are read from the sub-folder
    ``optdigits``. Without them the test rows are those that scikit-learn ships as ``load_digits``,
    and the training rows are the others of OpenML's ``optdigits``, downloaded once.

    Parameters
    ----------
    $data_home
    subset : "train", "test" or "all", the training rows first
    $return_X_y
    $as_frame
    $download_if_missing

    Returns
    -------
    Bunch or (data, target)
        With ``data`` (floats), ``target`` (integers 0 to 9), ``frame``, ``feature_names``,
        ``target_names`` and ``DESCR``.

    $raises

    Examples
    --------
    >>> from unconfused.datasets import fetch_optdigits
    >>> X, y = fetch_optdigits(subset="test", return_X_y=True)
    >>> X.shape, y[:5]
    ((1797, 64), array([0, 1, 2, 3, 4]))
    """
    folder = find_data_home(data_home) / DIGITS.folder
    parts = [_digits(part, folder, download_if_missing) for part in parts_of(subset)]
    return hand_over(
        fetch_optdigits,
        np.concatenate([data for data, _ in parts]),
        np.concatenate([target for _, target in parts]),
        feature_names=DIGIT_FEATURES,
        target_names=np.arange(10),
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


def _digits(part: str, folder: Path, download: bool) -> tuple[FloatArray, IntArray]:
    name = DIGIT_FILES[part]
    missing = what_is_missing(folder, [name])
    if missing is None:
        rows = as_numbers(folder / name, [*DIGITS.read(folder, name).values()])
        return rows[:, :-1], rows[:, -1].astype(np.intp)
    if part == "test":
        data, target = load_digits(return_X_y=True)
        return data, target.astype(np.intp)
    data, classes = fetch_from_openml(folder, missing, download=download)
    return _without_test_rows(data, classes.astype(np.intp))


def _without_test_rows(data: FloatArray, target: IntArray) -> tuple[FloatArray, IntArray]:
    """Remove the rows of ``load_digits``: OpenML has both parts of UCI in one table.

    No row is in both parts, so comparing the rows finds them wherever OpenML put them.
    """
    test = np.column_stack(load_digits(return_X_y=True))
    test_rows = {row.tobytes() for row in test}
    rows = np.column_stack([data, target]).astype(np.float64)
    kept = np.array([row.tobytes() not in test_rows for row in rows])
    if len(rows) - kept.sum() != len(test):
        raise ValueError(
            f"OpenML's copy of 'optdigits' holds {len(rows) - kept.sum()} of the {len(test)} test "
            "rows, so its training rows cannot be told apart."
        )
    return data[kept], target[kept]


@documented
def fetch_letter(
    *,
    data_home: DataHome = None,
    subset: Subset = "all",
    return_X_y: bool = False,
    as_frame: bool = False,
    download_if_missing: bool = True,
) -> Any:
    """Load the UCI letters, 16 features and 26 classes.

    Letter recognition (P. W. Frey and D. J. Slate, UCI, 1991; CC BY 4.0). Images of the 26 capital
    letters in 20 fonts, randomly distorted and described by 16 integers from 0 to 15 (moments and
    counts of edges): 20,000 rows, about 770 of each letter, in random order.

    The file ``letter-recognition.data`` of UCI is read from the sub-folder ``letter``. Without it
    the set is downloaded once from OpenML, where it is called ``letter``.

    Parameters
    ----------
    $data_home
    subset : "all", or the donors' split: "train" (the first 16,000 rows) or "test" (the others)
    $return_X_y
    $as_frame
    $download_if_missing

    Returns
    -------
    Bunch or (data, target)
        With ``data`` (floats), ``target`` (strings "A" to "Z"), ``frame``, ``feature_names``,
        ``target_names`` and ``DESCR``.

    $raises
    """
    folder = find_data_home(data_home) / LETTER.folder
    parts_of(subset)  # refuses others
    missing = what_is_missing(folder, [LETTER_FILE])
    if missing is None:
        letters, *features = LETTER.read(folder, LETTER_FILE).values()
        data, target = as_numbers(folder / LETTER_FILE, features), np.array(letters)
    else:
        data, target = fetch_from_openml(folder, missing, download=download_if_missing)
    if unknown := set(target.tolist()) - set(ascii_uppercase):
        raise ValueError(f"The Letter data in {folder} has classes that are no letters: {unknown}.")
    n_train = N_TRAINING_LETTERS
    chosen = {"all": slice(None), "train": slice(n_train), "test": slice(n_train, None)}[subset]
    return hand_over(
        fetch_letter,
        data[chosen],
        target[chosen].astype("U1"),
        feature_names=LETTER_FEATURES,
        target_names=np.array(list(ascii_uppercase)),
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


def fetch_from_openml(
    folder: Path, missing: str, *, download: bool
) -> tuple[FloatArray, NDArray[np.str_]]:
    """Fetch the set that the folder is named after; scikit-learn keeps and checks its file."""
    if not download and not (folder / "openml").is_dir():
        raise FileNotFoundError(missing)
    with downloading("OpenML", missing):
        bunch = fetch_openml(
            folder.name,
            version=1,
            data_home=str(folder),
            as_frame=False,
            parser="liac-arff",  # which needs no pandas
            **RETRIES,
        )
    return np.asarray(bunch.data, dtype=np.float64), np.asarray(bunch.target).astype(str)
