"""Results kept on disk as they come, so that a run cut short loses little."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Key = tuple[str, ...]
Record = dict[str, Any]


class Store:
    """Records of finished work in one file, a line of JSON each.

    Parameters
    ----------
    path : the file; it and its folder are made when the first record comes
    names : the fields that tell one record from another
    """

    def __init__(self, path: Path, names: tuple[str, ...]) -> None:
        self.path, self.names = path, names
        self._records: dict[Key, Record] = {}
        if path.exists():
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                self._keep(self._parse(line, number))

    def _parse(self, line: str, number: int) -> Record | None:
        try:
            record = json.loads(line)
            self.key_of(record)
        except (ValueError, KeyError, TypeError):
            # A line cut off by a crash is work to be done again, not a reason to stop.
            print(f"{self.path}, line {number}: not a whole record; it will be made again.")
            return None
        return dict(record)

    def _keep(self, record: Record | None) -> None:
        if record is not None:
            self._records[self.key_of(record)] = record

    def key_of(self, record: Record) -> Key:
        """Return what tells this record from others."""
        return tuple(str(record[name]) for name in self.names)

    def __contains__(self, key: Key) -> bool:
        """Whether this work is done."""
        return key in self._records

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self._records)

    def add(self, record: Record) -> None:
        """Keep a record, on disk at once."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps(record, sort_keys=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
        self._keep(record)

    def count_too(self, records: Iterable[Record]) -> None:
        """Take records kept elsewhere as done, unless this store has its own."""
        for record in records:
            self._records.setdefault(self.key_of(record), record)

    def records(self) -> list[Record]:
        """Return all records, in the order of their keys."""
        return [self._records[key] for key in sorted(self._records)]
