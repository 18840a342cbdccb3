"""The handwritten digits of UCI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from unconfused._typing import FloatArray, IntArray
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

FILES = {
    "train": TableFile(
        "optdigits.tra",
        65,
        3823,
        "e1b683cc211604fe8fd8c4417e6a69f31380e0c61d4af22e93cc21e9257ffedd",
    ),
    "test": TableFile(
        "optdigits.tes",
        65,
        1797,
        "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8",
    ),
}
OPENML_SHAPE = (5620, 64)
FEATURE_NAMES = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]

DESCRIPTION = """\
Optical recognition of handwritten digits (E. Alpaydin and C. Kaynak, UCI, 1998; CC BY 4.0).

Bitmaps of digits reduced to 8 x 8 counts of inked pixels, each from 0 to 16. 3,823 training rows
written by 30 people and 1,797 test rows written by 13 others; 10 classes.
"""


def fetch_optdigits(
    *,
    data_home: DataHome = None,
    subset: Subset = "train",
    return_X_y: bool = False,
    as_frame: bool = False,
    download_if_missing: bool = True,
) -> Any:
    """Load the UCI handwritten digits, 64 features and 10 classes.

    The files ``optdigits.tra`` and ``optdigits.tes`` of UCI are read from the sub-folder
    ``optdigits``. Without them the test rows are those that scikit-learn ships as ``load_digits``,
    and the training rows are the others of OpenML's ``optdigits``, downloaded once.

    Parameters
    ----------
    data_home : str, path or None, default=None
        Folder that contains ``optdigits``; None is the environment variable ``UNCONFUSED_DATA``
        or else a folder in the user's cache.
    subset : {"train", "test", "all"}, default="train"
        3,823 training rows, 1,797 test rows written by other people, or the first then the second.
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.
    as_frame : bool, default=False
        Return pandas objects.
    download_if_missing : bool, default=True
        Download the set where no file is found, rather than raise ``FileNotFoundError``.

    Returns
    -------
    Bunch or (data, target)
        With ``data`` (floats), ``target`` (integers 0 to 9), ``frame``, ``feature_names``,
        ``target_names`` and ``DESCR``.

    Raises
    ------
    ConnectionError
        If the set must be downloaded and cannot be.
    ValueError
        If a file is damaged.

    Examples
    --------
    >>> from unconfused.datasets import fetch_optdigits
    >>> X, y = fetch_optdigits(subset="test", return_X_y=True)
    >>> X.shape, y[:5]
    ((1797, 64), array([0, 1, 2, 3, 4]))
    """
    folder = find_data_home(data_home) / "optdigits"
    parts = [_load_part(part, folder, download_if_missing) for part in parts_of(subset)]
    return hand_over(
        np.concatenate([data for data, _ in parts]),
        np.concatenate([target for _, target in parts]),
        feature_names=FEATURE_NAMES,
        target_names=np.arange(10),
        description=DESCRIPTION,
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


def _load_part(part: str, folder: Path, download: bool) -> tuple[FloatArray, IntArray]:
    table = FILES[part]
    if has_files(folder, [table.name]):
        rows = as_numbers(folder / table.name, read_table(folder, table))
        return rows[:, :-1], rows[:, -1].astype(np.intp)
    if part == "test":
        data, target = load_digits(return_X_y=True)
        return data, target.astype(np.intp)
    message = not_found("Optdigits", folder, [table.name])
    data, classes = fetch_from_openml(
        "optdigits", folder, shape=OPENML_SHAPE, download=download, message=message
    )
    return _without_test_rows(data, classes.astype(np.intp))


def _without_test_rows(data: FloatArray, target: IntArray) -> tuple[FloatArray, IntArray]:
    """Remove the rows of ``load_digits``: OpenML has both parts of UCI in one table.

    No row is in both parts, so comparing the rows finds them wherever OpenML put them.
    """
    test_data, test_target = load_digits(return_X_y=True)
    test_rows = {row.tobytes() for row in np.column_stack([test_data, test_target])}
    rows = np.column_stack([data, target]).astype(np.float64)
    kept = np.array([row.tobytes() not in test_rows for row in rows])
    if data.shape[0] - kept.sum() != test_data.shape[0]:
        raise ValueError(
            f"OpenML's copy of 'optdigits' holds {data.shape[0] - kept.sum()} of the "
            f"{test_data.shape[0]} test rows, so its training rows cannot be told apart."
        )
    return data[kept], target[kept]
