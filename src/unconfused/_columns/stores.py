"""What is kept of columns that come block by block: numbers on disk, counts of words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import IO

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from unconfused._typing import FloatArray


class NumberStore:
    """Columns larger than memory, each of which fits, in an open file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     store = NumberStore(file)
    ...     store.add({"a": np.array([1.0, 2.0]), "b": np.array([5.0, 6.0])}, 2)
    ...     store.add({"a": np.array([3.0])}, 1)
    ...     store.column("a"), store.column("b")
    (array([1., 2., 3.]), array([ 5.,  6., nan]))
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._blocks: list[tuple[int, dict[str, int]]] = []
        """The rows of each block, and where each column of it begins."""

    def add(self, columns: dict[str, FloatArray], n_rows: int) -> None:
        """Write a block of rows; a column that it lacks is missing in all of them."""
        starts: dict[str, int] = {}
        for name, column in columns.items():
            starts[name] = self._file.tell()
            self._file.write(np.ascontiguousarray(column, dtype=np.float64).tobytes())
        self._blocks.append((n_rows, starts))

    def column(self, name: str) -> FloatArray:
        """Read a column."""
        found = np.full(sum(n_rows for n_rows, _ in self._blocks), np.nan)
        begun = 0
        for n_rows, starts in self._blocks:
            if name in starts:
                self._file.seek(starts[name])
                found[begun : begun + n_rows] = np.frombuffer(self._file.read(8 * n_rows))
            begun += n_rows
        self._file.seek(0, 2)  # where the next block goes
        return found


class WordCounts:
    """How often words occur, and in how many texts, for TF-IDF; the `most` frequent are kept.

    Examples
    --------
    >>> counts = WordCounts(most=2)
    >>> counts.add(["the cat", "the dog"])
    >>> counts.add(["the cat"])
    >>> counts.kept()
    ['cat', 'the']
    """

    def __init__(self, most: int) -> None:
        self._most, self._n_texts = most, 0
        self._times: Counter[str] = Counter()
        self._texts: Counter[str] = Counter()
        self._split = TfidfVectorizer().build_analyzer()

    def add(self, texts: Iterable[str]) -> None:
        """Count some more texts."""
        for text in texts:
            words = self._split(text)
            self._times.update(words)
            self._texts.update(set(words))
            self._n_texts += 1

    def kept(self) -> list[str]:
        """Return the words that become features, sorted."""
        words = sorted(self._times)
        if len(words) <= self._most:
            return words
        times = np.array([self._times[word] for word in words])
        # As scikit-learn does it, down to which of several equally frequent words are kept.
        return [words[place] for place in np.sort((-times).argsort()[: self._most])]

    def n_nonzero(self) -> int:
        """Return how many features of all texts together will not be zero."""
        return sum(self._texts[word] for word in self.kept())

    def inverse_frequencies(self) -> FloatArray:
        """Return scikit-learn's smooth inverse document frequency of every word kept."""
        texts = np.array([self._texts[word] for word in self.kept()], dtype=np.float64)
        return np.asarray(np.log((self._n_texts + 1) / (texts + 1)) + 1.0)
