"""The Reuters news of RCV1-v2, one topic each."""

from __future__ import annotations

import json
import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import fetch_rcv1, load_svmlight_file

from unconfused._typing import IntArray, Labels, Rows
from unconfused.datasets._home import (
    RETRIES,
    DataHome,
    Subset,
    documented,
    downloading,
    find_data_home,
    hand_over,
    parts_of,
    what_is_missing,
)

FILES = {"train": "rcv1_train.multiclass.bz2", "test": "rcv1_test.multiclass.bz2"}
CLASSES_FILE = "classes.json"
N_FEATURES = 47_236
ROOTS = ("CCAT", "ECAT", "GCAT", "MCAT")


@documented
def fetch_reuters(
    *,
    data_home: DataHome = None,
    subset: Subset = "train",
    n_largest: int | None = None,
    return_X_y: bool = False,
    download_if_missing: bool = True,
) -> Any:
    """Load the Reuters news as a problem of one topic per document.

    Reuters Corpus Volume 1, version 2 (D. D. Lewis, Y. Yang, T. G. Rose and F. Li, 2004), for
    research use. News stories as 47,236 sparse weights of terms, each row of norm 1. The class is
    the story's topic on the second level of the hierarchy of topics (such as C15, GSPO or M14);
    stories with several topics on that level, or with none, are left out.

    The files ``rcv1_train.multiclass.bz2`` and ``rcv1_test.multiclass.bz2``, in the format and
    under the names of LIBSVM's collection, are read from the sub-folder ``rcv1``; a list of topics
    in ``classes.json`` names the classes that the files number from 0 (without it the numbers, as
    strings, are the classes). Without these files the corpus is downloaded once by scikit-learn's
    ``fetch_rcv1`` (some 650 MB) and reduced as :func:`one_topic_per_document` says. A sample on
    disk and the whole corpus have different numbers of rows.

    Parameters
    ----------
    $data_home
    subset : "train" (the earlier stories), "test" (the later ones) or "all"
    n_largest : keep only this many classes, those with the most training rows (ties by name)
    $return_X_y
    $download_if_missing

    Returns
    -------
    Bunch or (data, target)
        With ``data`` (CSR matrix of floats), ``target`` (strings), ``target_names`` (the chosen
        classes; else those of ``classes.json``; else those of the rows), ``DESCR``, and
        ``feature_names`` and ``frame``, which are None.

    $raises
    """
    folder = find_data_home(data_home) / "rcv1"
    wanted = parts_of(subset)
    # Which classes are large is decided on the training rows, whatever is asked for.
    needed = wanted if n_largest is None else sorted({"train", *wanted}, reverse=True)
    missing = what_is_missing(folder, [FILES[part] for part in needed])
    if missing is None:
        names = _read_classes(folder / CLASSES_FILE)
        parts = {part: _read_part(folder / FILES[part], names) for part in needed}
    else:
        names = None
        parts = {part: _download(part, folder, download_if_missing, missing) for part in needed}
    classes = np.unique(names or np.concatenate([labels for _, labels in parts.values()]))
    if n_largest is not None:
        classes = largest_classes(parts["train"][1], n_largest)
    data = sparse.vstack([parts[part][0] for part in wanted], format="csr")
    target = np.concatenate([parts[part][1] for part in wanted])
    kept = np.isin(target, classes)
    return hand_over(
        fetch_reuters, data[kept], target[kept], target_names=classes, return_X_y=return_X_y
    )


def second_level_topic(code: str) -> str | None:
    """Return the ancestor of a topic on the second level, or itself; None for the four roots.

    C1511 is below C151, which is below C15, which is below the root CCAT; below GCAT are G15, with
    its children, and codes in letters, which have none.

    Examples
    --------
    >>> from unconfused.datasets._reuters import second_level_topic
    >>> [second_level_topic(code) for code in ["C1511", "G15", "GSPO", "M14", "MCAT"]]
    ['C15', 'G15', 'GSPO', 'M14', None]
    """
    if code in ROOTS:
        return None
    return code[:3] if code[1:].isdigit() else code


def one_topic_per_document(topics: Rows, names: Sequence[str]) -> tuple[IntArray, Labels]:
    """Return the documents whose topics have one ancestor on the second level, and this ancestor.

    Parameters
    ----------
    topics : (n_documents, n_topics), nonzero where a document has a topic
    names : codes of the topics
    """
    ancestors = [second_level_topic(str(name)) for name in names]
    classes = np.array(sorted({ancestor for ancestor in ancestors if ancestor is not None}))
    belongs = np.array([[ancestor == name for name in classes] for ancestor in ancestors])
    present = sparse.csr_matrix(topics, dtype=np.int64) @ sparse.csr_matrix(belongs.astype(int))
    present.eliminate_zeros()
    rows = np.flatnonzero(np.diff(present.indptr) == 1)
    return rows, classes[present[rows].indices]


def largest_classes(labels: Labels, n_largest: int) -> Labels:
    """Name the classes with most rows, in sorted order; ties go to the earlier name."""
    classes, counts = np.unique(labels, return_counts=True)
    if not 1 <= operator.index(n_largest) <= classes.size:
        raise ValueError(f"n_largest must be from 1 to {classes.size}, got {n_largest!r}.")
    # Classes are sorted and the sort is stable, so ties stay in the order of names.
    return np.sort(classes[np.argsort(-counts, kind="stable")[:n_largest]])


def _read_classes(path: Path) -> list[str] | None:
    if not path.is_file():
        return None
    try:
        names = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{path} is damaged: not a JSON list of topics.")
    return names


def _read_part(path: Path, names: list[str] | None) -> tuple[Rows, Labels]:
    # No checksum: LIBSVM's own files, and samples of them, bear the same names.
    try:
        data, numbers = load_svmlight_file(str(path), n_features=N_FEATURES, zero_based=False)
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(
            f"{path} is damaged: rows in svmlight format with at most {N_FEATURES} features, "
            f"numbered from 1 and compressed by bzip2, were expected ({error})."
        ) from error
    if data.shape[0] == 0:
        raise ValueError(f"{path} is empty.")
    numbers = numbers.astype(np.intp)
    if names is None:
        return data, numbers.astype(str)
    if numbers.min() < 0 or numbers.max() >= len(names):
        raise ValueError(
            f"{path} has classes from {numbers.min()} to {numbers.max()}, but {CLASSES_FILE} "
            f"beside it names {len(names)}. Remove that list if it is not about this file."
        )
    return data, np.array(names)[numbers]


def _download(part: str, folder: Path, download: bool, missing: str) -> tuple[Rows, Labels]:
    with downloading("the home of RCV1-v2", missing):
        try:
            corpus = fetch_rcv1(
                data_home=str(folder), subset=part, download_if_missing=download, **RETRIES
            )
        except OSError as error:
            # scikit-learn's own way to say that nothing is here and nothing may be downloaded.
            if download:
                raise
            raise FileNotFoundError(missing) from error
    rows, labels = one_topic_per_document(corpus.target, list(corpus.target_names))
    return sparse.csr_matrix(corpus.data[rows], dtype=np.float64), labels
