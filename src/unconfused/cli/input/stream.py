"""A task whose rows do not fit into memory: read in chunks, features kept on disk."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._columns.kinds import require_columns
from unconfused._columns.steps import build_pipeline, columns_as_text, prepare_frame
from unconfused._files import find_source
from unconfused._files.disk_rows import DiskRows
from unconfused._files.types import kinds_of
from unconfused._typing import BoolArray
from unconfused.cli.input.open_task import checked_in, refuse_unknown_columns, task_of_table
from unconfused.cli.input.task import Plan, Task, label_texts
from unconfused.cli.model import make_learner
from unconfused.cli.options import ReadOptions

if TYPE_CHECKING:
    from unconfused.cli.input.source import TaskSource

CELLS = 2**22
"""Cells per chunk, roughly: 32 MB of numbers."""

FEWEST_ROWS, MOST_ROWS = 2**8, 2**16
"""Bounds on the rows per chunk."""

SAMPLE = 2
"""Chunks' worth of rows from which means, categories and words are learnt; 100,000 rows tell a mean
to 0.3 % of a standard deviation."""


class Parts:
    """The chunks of a file as frames with the same columns, indexed by row number."""

    def __init__(self, path: Path, reading: ReadOptions, count: Callable[[int], None]) -> None:
        self._path, self._reading, self._count = path, reading, count
        self.rows_each, self.n_rows = 0, 0
        self.names, self.words, self.exceptions = list[str](), list[str](), list[int]()
        """Known after the first pass."""

    def __call__(
        self, as_text: Collection[str] = (), kept: BoolArray | None = None
    ) -> Iterator[Any]:
        """Yield the chunks; with `kept`, a mask over the rows of the file, only those rows."""
        if not self.rows_each:
            width = self._reading.first_row(self._path).shape[1]
            self.rows_each = int(np.clip(CELLS // width, FEWEST_ROWS, MOST_ROWS))
        for part in self._reading.parts(self._path, self.rows_each, as_text):
            self._count(len(part))  # of the rows read, for those who wait
            if kept is None:
                yield part
            elif (rows := kept[part.index]).any():
                # Names that no line of this part has are those of other lines (JSON).
                yield part.reindex(columns=self.names)[rows]

    def first_pass(self, wanted: list[str], as_text: list[str]) -> Any:
        """Return the columns asked for that are there, as text; learn what the file holds.

        Columns of `words` are those in which not all parts are numbers, or dates. `exceptions` are
        the rows of a part with words, where others have none: a sample might miss what is odd.
        """
        import pandas as pd

        found: list[Any] = []
        kinds: dict[str, set[str]] = {}
        worded: dict[str, Any] = {}
        for part in self(as_text):
            for name in map(str, part.columns):
                here = kinds_of(part[name])
                kinds.setdefault(name, set()).update(here)
                if "words" in here:
                    worded.setdefault(name, part.index)
            there = [name for name in wanted if name in part.columns]
            # One object for each text: labels repeat.
            cells = {name: [text and sys.intern(text) for text in label_texts(part[name])]
                     for name in there}  # fmt: skip
            found.append(pd.DataFrame(cells, index=part.index, dtype=object))
        labels = pd.concat(found)
        mixed = [name for name, sorts in kinds.items() if len(sorts) > 1]
        self.names, self.n_rows = list(kinds), len(labels)
        self.words = [name for name in kinds if name in mixed or name in worded]
        self.exceptions = [row for name in mixed for row in worded.get(name, ())]
        return labels

    def rows(self, rows: Any, as_text: Collection[str] = (), columns: Collection[str] = ()) -> Any:
        """Return the rows with these numbers as a frame, in this order; all columns, or some."""
        import pandas as pd

        wanted = np.unique(np.asarray(rows, dtype=np.int64))
        found = []
        for part in self(as_text):
            here = wanted[(wanted >= part.index[0]) & (wanted <= part.index[-1])]
            # A line of JSON may lack a name that others have: parts without a row count for theirs.
            some = part[part.columns.intersection(columns)] if columns else part
            found.append(some.loc[here].astype(object))
        return pd.concat(found).loc[list(rows)]


def open_stream(source: TaskSource) -> tuple[Task, Plan]:
    """Read a file in chunks; its features go to files that are removed when `source` is closed."""
    if source.settings.learner == "trees":
        raise ValueError("Trees need all rows in memory: drop --stream, or use --learner logistic.")
    parts = source.parts()
    task = open_labels(source, parts)
    kept = np.zeros(parts.n_rows, dtype=bool)
    kept[task.place] = True
    source.stage("Looking at the columns")
    learner, roles = make_learner(task, source.settings), source.settings.roles(task.reserved)
    model, columns = build_pipeline(some := _sample(source, parts, kept), learner, roles)
    steps = model[:-1].fit(prepare_frame(model, some))
    source.stage("Making features")
    is_sparse, width = steps[0].sparse_output_, len(steps.get_feature_names_out())
    rows = DiskRows(source.scratch, source.files, is_sparse=is_sparse)
    for part in parts(columns_as_text(model), kept):
        rows.append(steps.transform(prepare_frame(model, part)))
    return task, Plan(steps.steps, learner, rows.matrix(width), columns, on_disk=True)


def _sample(source: TaskSource, parts: Parts, kept: BoolArray) -> Any:
    """Return rows drawn at random, all of them if they are few, and those that are exceptions."""
    import pandas as pd

    drawn, wanted = np.random.RandomState(source.settings.seed), np.zeros_like(kept)
    wanted[drawn.permutation(np.flatnonzero(kept))[: SAMPLE * parts.rows_each]] = True
    wanted[parts.exceptions] = True
    settings = source.settings
    as_text = [*source.known.columns(), *settings.text, *settings.categories, *parts.words]
    # A column that is empty in a part has the type that it has in the others.
    found = [part.dropna(axis=1, how="all") for part in parts(as_text, wanted & kept)]
    return pd.concat(found).reindex(columns=parts.names)


def open_labels(source: TaskSource, parts: Parts) -> Task:
    """Read the label columns."""
    import pandas as pd

    known, settings = source.known, source.settings
    as_text = [*known.columns(), *settings.text, *settings.categories]
    if find_source(source.data, source.reading.format).format != "jsonl":
        # A line of JSON may lack a name that others have; elsewhere the first row tells all.
        _refuse_names(source, source.reading.first_row(source.data))
    source.stage(f"Reading the labels of {source.data.name}")
    # Names of rows are many, and needed only to find the answers or verdicts that belong to them.
    named = known.votes is not None or known.verdicts is not None
    wanted = [one for one in known.columns() if named or one != known.identity]
    labels = parts.first_pass(wanted, as_text)
    _refuse_names(source, pd.DataFrame(columns=parts.names))
    texts = [one for one in (known.label, known.identity) if one is not None]
    checked = checked_in(
        labels, known, lambda rows: parts.rows(rows, texts).reindex(columns=parts.names)
    )
    nameless = known if named else replace(known, identity=None)
    task = task_of_table(source.data, labels, nameless, source.reading, checked)
    if nameless.identity != known.identity:
        task.reserved.append(str(known.identity))
    return task


def _refuse_names(source: TaskSource, table: Any) -> None:
    refuse_unknown_columns(source.data, table, source.known)
    settings = source.settings
    named = [*settings.text, *settings.categories, *settings.numbers, *settings.ignore]
    require_columns(table, named)
