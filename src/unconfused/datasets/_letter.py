"""The printed letters of UCI."""

from __future__ import annotations

from string import ascii_uppercase
from typing import Any

import numpy as np

from unconfused.datasets._download import fetch_from_openml
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
    read_table,
)

FILE = TableFile(
    "letter-recognition.data",
    17,
    20_000,
    "2b89f3602cf768d3c8355267d2f13f2417809e101fc2b5ceee10db19a60de6e2",
)
OPENML_SHAPE = (20_000, 16)
N_TRAIN = 16_000
FEATURE_NAMES = [
    "x-box", "y-box", "width", "high", "onpix", "x-bar", "y-bar", "x2bar",
    "y2bar", "xybar", "x2ybr", "xy2br", "x-ege", "xegvy", "y-ege", "yegvx",
]  # fmt: skip
LETTERS = np.array(list(ascii_uppercase))

DESCRIPTION = """\
Letter recognition (P. W. Frey and D. J. Slate, UCI, 1991; CC BY 4.0).

Images of the 26 capital letters in 20 fonts, randomly distorted and described by 16 integers from
0 to 15 (moments and counts of edges). 20,000 rows, about 770 of each letter, in random order.
"""


def fetch_letter(
    *,
    data_home: DataHome = None,
    subset: Subset = "all",
    return_X_y: bool = False,
    as_frame: bool = False,
    download_if_missing: bool = True,
) -> Any:
    """Load the UCI letters, 16 features and 26 classes.

    The file ``letter-recognition.data`` of UCI is read from the sub-folder ``letter``. Without it
    the set is downloaded once from OpenML, where it is called ``letter``.

    Parameters
    ----------
    data_home : str, path or None, default=None
        Folder that contains ``letter``; None is the environment variable ``UNCONFUSED_DATA`` or
        else a folder in the user's cache.
    subset : {"train", "test", "all"}, default="all"
        All 20,000 rows; or the split its donors used, the first 16,000 rows and the last 4,000.
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.
    as_frame : bool, default=False
        Return pandas objects.
    download_if_missing : bool, default=True
        Download the set where no file is found, rather than raise ``FileNotFoundError``.

    Returns
    -------
    Bunch or (data, target)
        With ``data`` (floats), ``target`` (strings "A" to "Z"), ``frame``, ``feature_names``,
        ``target_names`` and ``DESCR``.

    Raises
    ------
    ConnectionError
        If the set must be downloaded and cannot be.
    ValueError
        If a file is damaged.

    Examples
    --------
    >>> from unconfused.datasets import fetch_letter
    >>> X, y = fetch_letter(return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (20000, 16)
    """
    folder = find_data_home(data_home) / "letter"
    parts = parts_of(subset)
    if has_files(folder, [FILE.name]):
        rows = read_table(folder, FILE)
        data, target = as_numbers(folder / FILE.name, rows[:, 1:]), rows[:, 0]
    else:
        message = not_found("Letter", folder, [FILE.name])
        data, target = fetch_from_openml(
            "letter", folder, shape=OPENML_SHAPE, download=download_if_missing, message=message
        )
    if unknown := set(target.tolist()) - set(LETTERS.tolist()):
        raise ValueError(f"The Letter data in {folder} has classes that are no letters: {unknown}.")
    chosen = slice(
        0 if "train" in parts else N_TRAIN,
        None if "test" in parts else N_TRAIN,
    )
    return hand_over(
        data[chosen],
        target[chosen].astype("U1"),
        feature_names=FEATURE_NAMES,
        target_names=LETTERS,
        description=DESCRIPTION,
        return_X_y=return_X_y,
        as_frame=as_frame,
    )
