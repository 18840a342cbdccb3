"""What TF-IDF needs to know of a text, counted block by block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from unconfused._typing import FloatArray


class WordCounts:
    """How often words occur, and in how many texts.

    Parameters
    ----------
    most : how many words to keep, the most frequent

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
