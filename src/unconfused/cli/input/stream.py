"""A task whose rows do not fit into memory: read in chunks, features kept on disk."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils import gen_batches

from unconfused._columns.kinds import require_columns
from unconfused._columns.steps import columns_as_text, prepare_frame
from unconfused._columns.streamed import ColumnsInBlocks
from unconfused._files import DataFileError, LabelledRows, find_source
from unconfused._files.disk_rows import DiskRows
from unconfused._files.sparse import MOST_FEATURES, iter_svmlight, plain_labels
from unconfused._files.types import kinds_of
from unconfused.cli.input.open_task import (
    checked_in,
    refuse_names,
    refuse_unknown_columns,
    task_of_rows,
    task_of_table,
)
from unconfused.cli.input.task import Plan, Task, label_texts
from unconfused.cli.model import CHUNK, make_learner, scaler_for
from unconfused.cli.options import ReadOptions, is_nameless

if TYPE_CHECKING:
    from unconfused.cli.input.source import TaskSource

CELLS = 2**22
"""Cells per chunk, roughly: 32 MB of numbers."""

FEWEST_ROWS, MOST_ROWS = 2**8, 2**16
"""Bounds on the rows per chunk."""


class Parts:
    """The chunks of a file as frames with the same columns, indexed by row number."""

    def __init__(self, path: Path, reading: ReadOptions, count: Callable[[int], None]) -> None:
        self._path, self._reading, self._count = path, reading, count
        self._rows, self.names, self.n_rows = 0, list[str](), 0
        """Known after the first pass."""

    def __call__(
        self, as_text: Collection[str] = (), kept: np.ndarray[Any, Any] | None = None
    ) -> Iterator[Any]:
        """Yield the chunks; with `kept`, a mask over the rows of the file, only those rows."""
        if not self._rows:
            width = self._reading.first_row(self._path).shape[1]
            self._rows = int(np.clip(CELLS // width, FEWEST_ROWS, MOST_ROWS))
        for part in self._reading.parts(self._path, self._rows, as_text):
            self._count(len(part))  # of the rows read, for those who wait
            if kept is None:
                yield part
            elif (rows := kept[part.index]).any():
                # Names that no line of this part has are those of other lines (JSON).
                yield part.reindex(columns=self.names)[rows]

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


def first_pass(parts: Parts, wanted: list[str], as_text: list[str]) -> tuple[Any, list[str]]:
    """Return the columns asked for that are there, as text, and the names of columns of words.

    Columns of words are those in which not all parts of the file are numbers, or dates.
    """
    import pandas as pd

    found: list[Any] = []
    kinds: dict[str, set[str]] = {}
    for part in parts(as_text):
        for name in part.columns:
            kinds.setdefault(str(name), set()).update(kinds_of(part[name]))
        there = [name for name in wanted if name in part.columns]
        # One object for each text: labels repeat.
        cells = {name: [text and sys.intern(text) for text in label_texts(part[name])]
                 for name in there}  # fmt: skip
        found.append(pd.DataFrame(cells, index=part.index, dtype=object))
    labels = pd.concat(found)
    parts.names, parts.n_rows = list(kinds), len(labels)
    words = [name for name, sorts in kinds.items() if len(sorts) > 1 or "words" in sorts]
    return labels, words


def open_stream(source: TaskSource) -> tuple[Task, Plan]:
    """Read a file in chunks; its features go to files that are removed when `source` is closed."""
    if source.settings.learner == "trees":
        raise ValueError("Trees need all rows in memory: drop --stream, or use --learner logistic.")
    if is_nameless(source.data, source.reading):
        return _open_svmlight(source)
    parts = source.parts()
    task, words = open_labels(source, parts)
    source.stage("Looking at the columns")
    kept = np.zeros(parts.n_rows, dtype=bool)
    kept[task.place] = True
    return task, _features(source, parts, kept, task, words)


def open_labels(source: TaskSource, parts: Parts) -> tuple[Task, list[str]]:
    """Read the label columns; also return the columns to be read as text."""
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
    labels, words = first_pass(parts, wanted, as_text)
    _refuse_names(source, pd.DataFrame(columns=parts.names))
    texts = [one for one in (known.label, known.identity) if one is not None]
    checked = checked_in(
        labels, known, lambda rows: parts.rows(rows, texts).reindex(columns=parts.names)
    )
    nameless = known if named else replace(known, identity=None)
    task = task_of_table(source.data, labels, nameless, source.reading, checked)
    if nameless.identity != known.identity:
        task.reserved.append(str(known.identity))
    return task, [*as_text, *words]


def _refuse_names(source: TaskSource, table: Any) -> None:
    refuse_unknown_columns(source.data, table, source.known)
    settings = source.settings
    named = [*settings.text, *settings.categories, *settings.numbers, *settings.ignore]
    require_columns(table, named)


def _features(source: TaskSource, parts: Parts, kept: Any, task: Task, words: list[str]) -> Plan:
    import pandas as pd

    settings = source.settings
    names = pd.DataFrame(columns=parts.names)
    columns = ColumnsInBlocks(names, settings.roles(task.reserved))
    for part in parts(words, kept):
        columns.add(part)
    transformer, plan = columns.finish()
    source.stage("Making features")
    learner, steps = make_learner(task, settings), [("columns", transformer)]
    made = Plan(steps, learner, None, plan, on_disk=True)
    is_sparse, model = transformer.sparse_output_, made.model
    rows = source.files.enter_context(DiskRows(source.scratch, is_sparse=is_sparse))
    for part in parts(columns_as_text(model), kept):
        rows.append(transformer.transform(prepare_frame(model, part)))
    return replace(made, rows=rows.matrix(len(transformer.get_feature_names_out())))


ENTRIES = 2**22
"""Entries of a sparse matrix scaled at a time."""


def _open_svmlight(source: TaskSource) -> tuple[Task, Plan]:
    settings, known = source.settings, source.known
    settings.refuse_names()
    refuse_names(source.data, known)
    source.stage(f"Reading {source.data.name}")
    rows = source.files.enter_context(DiskRows(source.scratch, is_sparse=True))
    labels, kept, lowest, width = [], list[bool](), MOST_FEATURES, 0
    for X, y in iter_svmlight(find_source(source.data, source.reading.format)):
        present = [one is not None for one in label_texts(y, known.missing)]
        rows.append(X[present])
        labels.append(y)
        kept += present
        lowest, width = X.indices.min(initial=lowest), max(width, X.shape[1])
        source.stage.rows(len(y))
    if not labels:
        raise DataFileError(f"{source.data}: it holds no rows.")
    y = plain_labels(np.concatenate(labels))
    matrix, place = rows.matrix(width, begins=int(0 < lowest < MOST_FEATURES)), np.cumsum(kept) - 1
    no_columns = LabelledRows(np.empty((len(y), 0)), y)
    task = task_of_rows(source.data, no_columns, known, lambda wanted: matrix[place[wanted]])
    source.stage("Scaling")
    scaler = scaler_for(matrix)
    if isinstance(scaler, MaxAbsScaler):
        for some in gen_batches(matrix.shape[0], CHUNK):
            scaler.partial_fit(matrix[some])
        for some in gen_batches(matrix.nnz, ENTRIES):  # in place
            matrix.data[some] /= scaler.scale_[matrix.indices[some]]
    else:
        scaler.fit(matrix)
    learner = make_learner(task, settings)
    return task, Plan([("scale", scaler)], learner, matrix, None, on_disk=True)
