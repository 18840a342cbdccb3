"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str], *, force: bool = False) -> Iterator[Path]:
    """Yield a scratch file to write; when the block ends well, it takes the place of `path`.

    Nobody ever sees half a file: the scratch file lies in the same folder, is flushed to the
    disk and then renamed. When the block fails, or is interrupted, nothing is left behind.

    Parameters
    ----------
    path : where the file is to be
    force : replace a file that is there already

    Raises
    ------
    OSError : with a message that says what to do, if nothing can be written there

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with whole_file(folder / "note.txt") as scratch:
    ...     _ = scratch.write_text("all of it")
    >>> [file.name for file in folder.iterdir()]
    ['note.txt']
    """
    target = Path(os.path.realpath(path))  # a link is followed, not replaced
    refuse_target(target, force=force)
    scratch = _scratch(target)
    try:
        yield scratch
        _flush(scratch)
        refuse_target(target, force=force)  # it may have come into being meanwhile
        os.replace(scratch, target)
        with contextlib.suppress(OSError):  # not every system can flush a folder
            _flush(target.parent)
    finally:
        scratch.unlink(missing_ok=True)


def refuse_target(target: Path, *, force: bool) -> None:
    """Raise if a file could not, or should not, be written here."""
    try:
        if not target.parent.is_dir():
            raise FileNotFoundError(f"There is no folder {target.parent}; create it first.")
        if target.is_dir():
            raise IsADirectoryError(f"{target} is a folder; name a file in it.")
        if target.exists() and not target.is_file():
            raise OSError(f"{target} is not an ordinary file; choose another place.")
        if target.exists() and not force:
            raise FileExistsError(f"{target} exists already; force=True replaces it.")
    except ValueError as error:  # a NUL in the name
        raise OSError(f"{str(target)!r} cannot be a file name ({error}).") from None


def refuse_folder(target: Path) -> None:
    """Raise if nothing can be written beside a file."""
    scratch = _scratch(target)
    scratch.unlink()


def _scratch(target: Path) -> Path:
    """Make an empty file in the folder where a file is to be."""
    scratch = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        # Made here, not by the writer: so the name is ours alone, with the usual permissions.
        scratch.touch(exist_ok=False)
    except OSError as error:
        raise OSError(
            f"Cannot write into {target.parent} ({error.strerror}); choose another place."
        ) from None
    return scratch


def _flush(path: Path) -> None:
    """Wait until the disk has it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
