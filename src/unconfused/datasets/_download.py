"""Fetching sets from OpenML, with errors that say what to do without a network."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml

from unconfused._typing import FloatArray

N_RETRIES = 3
DELAY = 1.0
"""Seconds between two attempts."""

CACHED_NAME = "openml.npz"


@contextmanager
def explained_network_errors(home_page: str, message: str) -> Iterator[None]:
    """Turn a failed download into one ``ConnectionError`` that carries ``message``."""
    try:
        yield
    except (URLError, TimeoutError, ConnectionError) as error:
        raise ConnectionError(f"{message} Downloading from {home_page} failed: {error}") from error


def fetch_from_openml(
    name: str, folder: Path, *, shape: tuple[int, int], download: bool, message: str
) -> tuple[FloatArray, NDArray[np.str_]]:
    """Fetch a table of numbers and its classes, from our copy or from OpenML.

    scikit-learn checks OpenML's own checksum. What it parsed is kept beside its cache as one small
    file, which is quicker to read and is how a set is known to be here without asking anybody.
    """
    kept = folder / CACHED_NAME
    if kept.is_file():
        return _read_kept(kept, shape)
    if not download:
        raise FileNotFoundError(message)
    with explained_network_errors("OpenML", message):
        bunch = fetch_openml(
            name,
            version=1,
            data_home=str(folder),
            as_frame=False,
            # This parser needs no pandas.
            parser="liac-arff",
            n_retries=N_RETRIES,
            delay=DELAY,
        )
    data = np.asarray(bunch.data, dtype=np.float64)
    target = np.asarray(bunch.target).astype(str)
    _check_shape(f"OpenML's copy of {name!r}", data, target, shape)
    _keep(kept, data, target)
    return data, target


def _check_shape(
    source: str, data: FloatArray, target: NDArray[np.str_], shape: tuple[int, int]
) -> None:
    if data.shape != shape or target.shape != shape[:1]:
        raise ValueError(
            f"{source} has data of shape {data.shape} and {target.shape[0]} classes, expected "
            f"shape {shape}."
        )


def _keep(path: Path, data: FloatArray, target: NDArray[np.str_]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Written aside and then renamed: an interrupted write must not leave half a file.
    aside = path.with_name(f"{path.stem}.{os.getpid()}.npz")
    np.savez_compressed(aside, data=data, target=target)
    aside.replace(path)


def _read_kept(path: Path, shape: tuple[int, int]) -> tuple[FloatArray, NDArray[np.str_]]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            data, target = arrays["data"], arrays["target"]
    except (OSError, EOFError, ValueError, KeyError, BadZipFile) as error:
        raise ValueError(
            f"{path} is damaged ({error}). Remove it to have the set downloaded again."
        ) from error
    _check_shape(str(path), data, target, shape)
    return data, target
