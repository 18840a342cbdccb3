"""Verdict files: what people decided about rows, one line each, never rewritten."""

from __future__ import annotations

import csv
import io
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, Literal

from unconfused._files.types import escape_cell, unescape_cell

Action = Literal["label", "skip", "undo"]

REQUIRED = ("id", "key", "row_hash", "action", "verdict")
"""Columns without which a file is no verdict file."""


@dataclass(frozen=True)
class Verdict:
    """One line of a verdict file.

    Attributes
    ----------
    key : the row: its value in the column of --id, or its number from 0
    row_hash : of the row's content, the label left out
    label : the label the row had
    action : "label", "skip" (seen and left open) or "undo" (takes back what it replaces)
    verdict : the true class, if the action is "label"
    drawn_by : how the row was chosen: "suspicion", "gain", "random", "confusion", ...
    probability : with which the row was drawn, among those with its label; None if unknown
    suggested : the class the model suggested
    shown : whether the suggestion was visible before the answer
    time : UTC, ISO 8601
    reviewer : who answered
    replaces : ids of lines that this one supersedes
    id : unique, so that a line that occurs twice in merged files counts once
    """

    key: str
    row_hash: str
    label: str
    action: Action
    verdict: str = ""
    drawn_by: str = ""
    probability: float | None = None
    suggested: str = ""
    shown: bool = True
    time: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    reviewer: str = ""
    replaces: tuple[str, ...] = ()
    id: str = field(default_factory=lambda: secrets.token_hex(6))

    def as_cells(self) -> list[str]:
        """Return the line's cells, in the order of `COLUMNS`."""
        told = {
            "probability": "" if self.probability is None else repr(float(self.probability)),
            "shown": "yes" if self.shown else "no",
            "replaces": " ".join(self.replaces),
        }
        return [escape_cell(str(told.get(name, getattr(self, name)))) for name in COLUMNS]


COLUMNS = ("id", *(one.name for one in fields(Verdict) if one.name != "id"))


class VerdictError(ValueError):
    """A verdict file that cannot be used, and why."""


def as_line(cells: Iterable[str]) -> str:
    """Return one line of CSV; a cell with a line break is refused."""
    cells = list(cells)
    broken = [cell for cell in cells if "\n" in cell or "\r" in cell]
    if broken:
        raise VerdictError(f"{broken[0]!r} has a line break, which a verdict file cannot hold.")
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def append_verdicts(path: str | os.PathLike[str], verdicts: Iterable[Verdict]) -> None:
    """Append lines to a verdict file, and wait until they are on the disk.

    A new file gets a header. All lines are written by one call, so that several processes may
    append to the same file.
    """
    lines = "".join(as_line(one.as_cells()) for one in verdicts)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o666)
    try:
        size = os.fstat(descriptor).st_size
        if size == 0:
            lines = as_line(COLUMNS) + lines
        else:
            os.lseek(descriptor, size - 1, os.SEEK_SET)
            if os.read(descriptor, 1) != b"\n":  # a line cut off by a power failure
                lines = "\n" + lines
        content = lines.encode()
        while content:
            content = content[os.write(descriptor, content) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class Verdicts:
    """The lines of one or more verdict files, and the verdicts that follow from them."""

    records: list[Verdict]
    notes: list[str] = field(default_factory=list)

    @cached_property
    def live(self) -> list[Verdict]:
        """Lines that no other live line replaces, without undos; copies of a line count once."""
        unique = {one.id: one for one in self.records}
        replaced_by: dict[str, set[str]] = {name: set() for name in unique}
        for one in unique.values():
            for other in one.replaces:
                replaced_by.setdefault(other, set()).add(one.id)
        try:
            order = list(TopologicalSorter(replaced_by).static_order())
        except CycleError as error:
            raise VerdictError(f"Lines {' and '.join(error.args[1])} replace each other.") from None
        dead: set[str] = set()
        for name in order:  # those that replace others come before them
            if name in unique and name not in dead:
                dead.update(unique[name].replaces)
        return [one for one in unique.values() if one.id not in dead and one.action != "undo"]

    @cached_property
    def by_key(self) -> dict[str, list[Verdict]]:
        """Live lines of each row."""
        found: dict[str, list[Verdict]] = {}
        for one in self.live:
            found.setdefault(one.key, []).append(one)
        return found

    @cached_property
    def answers(self) -> dict[str, list[Verdict]]:
        """Live answers of each row that has any."""
        given = {k: [v for v in lines if v.action == "label"] for k, lines in self.by_key.items()}
        return {key: lines for key, lines in given.items() if lines}

    @cached_property
    def settled(self) -> dict[str, Verdict]:
        """One verdict for each row with an answer that nobody contradicts.

        Of several that agree, the one with a known probability of being drawn.
        """
        return {
            key: max(given, key=lambda one: one.probability or 0.0)
            for key, given in self.answers.items()
            if len({(one.verdict, one.row_hash) for one in given}) == 1
        }

    @cached_property
    def conflicts(self) -> dict[str, list[Verdict]]:
        """Rows whose answers contradict each other."""
        return {key: given for key, given in self.answers.items() if key not in self.settled}

    @cached_property
    def skipped(self) -> set[str]:
        """Rows that were seen and left open."""
        return set(self.by_key) - set(self.answers)

    def __len__(self) -> int:
        """Return the number of rows with a settled verdict."""
        return len(self.settled)


def is_verdict_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins like a verdict file.

    Examples
    --------
    >>> is_verdict_file("no such file.csv")
    False
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            head = next(csv.reader([file.readline(4096)]), [])
    except (OSError, UnicodeDecodeError, csv.Error, ValueError):
        return False
    return set(REQUIRED) <= set(head)


def read_verdicts(*paths: str | os.PathLike[str]) -> Verdicts:
    """Read one or more verdict files, as if they were one.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "verdicts.csv"
    >>> append_verdicts(path, [Verdict("7", "0f", "cat", "label", "dog")])
    >>> read_verdicts(path).settled["7"].verdict
    'dog'
    """
    records: list[Verdict] = []
    notes: list[str] = []
    for path in paths:
        _read(Path(path), records, notes)
    return Verdicts(records, notes)


def _read(path: Path, records: list[Verdict], notes: list[str]) -> None:
    try:
        text = path.read_bytes().decode("utf-8").replace("\ufeff", "")
    except UnicodeDecodeError as error:
        raise VerdictError(f"{path} is not UTF-8 text ({error.reason}).") from None
    head: list[str] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        cells = next(csv.reader([line.rstrip("\r")]), [])
        if set(REQUIRED) <= set(cells):
            head = cells  # again at the start of each file that was put together into one
        elif head is None:
            raise VerdictError(
                f"{path} is not a verdict file: its first line must name the columns "
                f"{', '.join(REQUIRED)}."
            )
        elif len(cells) != len(head):
            notes.append(f"{path}, line {number}: cut off, and left out.")
        else:
            try:
                records.append(_verdict(dict(zip(head, cells, strict=True))))
            except VerdictError as error:
                raise VerdictError(f"{path}, line {number}: {error}") from None


def _verdict(cells: dict[str, str]) -> Verdict:
    told: dict[str, Any] = {name: unescape_cell(cells.get(name, "")) for name in COLUMNS}
    if told["action"] not in ("label", "skip", "undo"):
        raise VerdictError(f"the action is {told['action']!r}, not label, skip or undo.")
    if told["action"] == "label" and not told["verdict"]:
        raise VerdictError("an action 'label' needs a class in the column 'verdict'.")
    if not told["id"]:
        raise VerdictError("the column 'id' is empty.")
    try:
        chance = float(told["probability"] or 0.0)
    except ValueError:
        chance = -1.0
    if not 0 <= chance <= 1:
        raise VerdictError(f"the probability is {told['probability']!r}, not from 0 to 1.")
    return Verdict(
        **told
        | {
            "probability": chance or None,
            "shown": told["shown"] != "no",
            "replaces": tuple(told["replaces"].split()),
        }
    )
