"""What can go wrong with files of models."""

from __future__ import annotations

from unconfused._text.printable import printable


class ModelFileError(ValueError):
    """A model cannot be saved, or a file cannot be loaded as one; the message says why."""


class ExportError(ValueError):
    """A model cannot be written in another format; the message says why."""


def in_words(error: BaseException) -> str:
    """Return what an error is and says, on one line."""
    text = printable(" ".join(str(error).split()))
    return f"{type(error).__name__}: {text}"[:300] if text else type(error).__name__
