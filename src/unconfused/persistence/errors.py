"""What can go wrong with files of models."""

from __future__ import annotations

import importlib
from types import ModuleType

from unconfused._text.extras import pip_install
from unconfused._text.printable import printable


class ModelFileError(ValueError):
    """A model cannot be saved, or a file cannot be loaded as one; the message says why."""


class ExportError(ValueError):
    """A model cannot be written in another format; the message says why."""


def import_extra(module: str, extra: str, purpose: str) -> ModuleType:
    """Import a module that an extra brings, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{purpose} needs {module.split('.')[0]}: {pip_install(extra)} ({error})"
        ) from None


def in_words(error: BaseException) -> str:
    """Return what an error is and says, on one line."""
    text = printable(" ".join(str(error).split()))
    return f"{type(error).__name__}: {text}"[:300] if text else type(error).__name__
