"""Files that are written completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}
"""Errors of the target folder or disk, not of what is written."""


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str], *, force: bool = False) -> Iterator[Path]:
    """Yield a scratch file to write; when the block ends well, it takes the place of `path`.

    Readers never see an incomplete file: the scratch file, in the same folder, is flushed to the
    disk and then renamed. It is removed if the block fails or is interrupted. A replaced file keeps
    its permissions.

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
        refuse_target(target, force=force)  # another process may have made it
        with contextlib.suppress(FileNotFoundError):
            scratch.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(scratch, target)
        with contextlib.suppress(OSError):  # not every system can flush a folder
            _flush(target.parent)
    except OSError as error:
        if error.errno not in FULL:
            raise
        why = os.strerror(error.errno)
        raise OSError(
            f"{target} cannot be written ({why}); make room, or choose another place."
        ) from error
    finally:
        scratch.unlink(missing_ok=True)


@contextlib.contextmanager
def os_errors_as(kind: type[Exception]) -> Iterator[None]:
    """Raise OS errors, whose messages say what to do, as errors of another kind."""
    try:
        yield
    except OSError as error:
        raise kind(str(error)) from None


def refuse_target(target: Path, *, force: bool) -> None:
    """Raise if a file could not, or should not, be written here."""
    try:
        if not target.parent.is_dir():
            raise FileNotFoundError(f"There is no folder {target.parent}; create it first.")
        if target.is_dir():
            raise IsADirectoryError(f"{target} is a folder; name a file in it.")
        if not target.exists():
            return
        if not target.is_file():
            raise OSError(f"{target} is not an ordinary file; choose another place.")
        if not force:
            raise FileExistsError(f"{target} exists already; force=True replaces it.")
        any_write = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH  # root could write to others too
        if not (target.stat().st_mode & any_write and os.access(target, os.W_OK)):
            raise PermissionError(f"{target} is read-only; make it writable, or choose another.")
    except ValueError as error:  # a NUL in the name
        raise OSError(f"{str(target)!r} cannot be a file name ({error}).") from None


def refuse_folder(target: Path) -> None:
    """Raise if nothing can be written beside a file."""
    _scratch(target).unlink()


def _scratch(target: Path) -> Path:
    """Make an empty file in the folder where a file is to be."""
    scratch = target.with_name(f".unconfused-{secrets.token_hex(8)}.tmp")
    try:
        # Made here, not by the writer: so the name is ours alone, with the usual permissions.
        scratch.touch(exist_ok=False)
        with contextlib.suppress(FileNotFoundError):
            # What replaces a private file is private from the beginning.
            scratch.chmod(stat.S_IMODE(target.stat().st_mode) | stat.S_IRUSR | stat.S_IWUSR)
    except OSError as error:
        raise OSError(
            f"Cannot write into {target.parent} ({error.strerror}); choose another place."
        ) from None
    return scratch


def _flush(path: Path) -> None:
    """Flush a file to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
