"""A task whose rows do not fit into memory: read in chunks, features kept on disk."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from unconfused._columns.kinds import require as require_columns
from unconfused._columns.prepare import columns_as_text, prepare_frame
from unconfused._columns.streamed import ColumnsInBlocks
from unconfused._files.disk_rows import DiskRows, scratch_file
from unconfused._files.errors import DataFileError
from unconfused._files.formats import find_source
from unconfused._files.sparse import LabelledRows, iter_svmlight, plain_labels
from unconfused._typing import IntArray
from unconfused.cli.input.open_task import refuse_unknown_columns, task_of_rows, task_of_table
from unconfused.cli.input.parts import FirstPass, Parts
from unconfused.cli.input.task import Task
from unconfused.cli.input.verdict_truth import checked_in_parts
from unconfused.cli.learners import make_learner
from unconfused.cli.model import Plan, Sample, refuse_as_is, refuse_column_options
from unconfused.cli.scaling import SparseColumns, as_they_are

if TYPE_CHECKING:
    from unconfused.cli.input.source import TaskSource

SAMPLE = 50_000
"""Maximum number of rows in a report."""

ENTRIES = 2**22
"""Entries of a sparse matrix scaled at a time."""


class Stream:
    """A file to stream; its features go to temporary files, removed when its source is closed."""

    def __init__(self, source: TaskSource) -> None:
        self.path, self.known, self.reading = source.data, source.known, source.reading
        self.settings, self.scratch, self.files = source.settings, source.scratch, source.files
        self.stage = source.stage
        self.format = find_source(self.path, self.reading.format).format

    def open(self) -> tuple[Task, Plan]:
        """Read the file in chunks."""
        if self.format == "svmlight":
            return self._open_svmlight()
        refuse_as_is(self.settings)
        parts = Parts(self.path, self.reading, self.stage.rows)
        task, words = self._labels(parts)
        self.stage("Looking at the columns")
        kept = np.zeros(parts.n_rows, dtype=bool)
        kept[task.place] = True
        return task, self._features(parts, kept, task, words)

    def open_labels(self) -> Task | None:
        """Read the labels only; None if the features are needed too."""
        known = self.known
        counted = known.truth or known.verdicts or known.annotators or known.votes
        if not counted or self.format == "svmlight":
            return None
        return self._labels(Parts(self.path, self.reading, self.stage.rows))[0]

    def _labels(self, parts: Parts) -> tuple[Task, list[str]]:
        """Read the label columns; also return the columns to be read as text."""
        import pandas as pd

        known, chosen = self.known, [*self.settings.text, *self.settings.categories]
        if self.format != "jsonl":
            # A line of JSON may lack a name that others have; elsewhere the first row tells all.
            self._refuse_names(parts.first_row())
        self.stage(f"Reading the labels of {self.path.name}")
        names = known.columns()
        # Names of rows are many, and needed here only to find the answers that belong to them.
        wanted = [n for n in names if known.votes is not None or n != known.identity]
        first = FirstPass(parts, wanted, [*names, *chosen])
        self._refuse_names(pd.DataFrame(columns=parts.names))
        checked = None
        if known.verdicts is not None:
            labels = None if known.label is None else first.labels.get(known.label)
            checked = checked_in_parts(parts, labels, known)
        if known.votes is not None:
            task = task_of_table(self.path, first.labels, known, self.reading, checked)
        else:
            nameless = replace(known, identity=None)
            task = task_of_table(self.path, first.labels, nameless, self.reading, checked)
            identity = [] if known.identity is None else [known.identity]
            task = replace(task, reserved=[*task.reserved, *identity])
        return task, [*names, *chosen, *first.words]

    def _refuse_names(self, table: Any) -> None:
        refuse_unknown_columns(self.path, table, self.known)
        settings = self.settings
        named = [*settings.text, *settings.categories, *settings.numbers, *settings.ignore]
        require_columns(table, named)

    def _features(self, parts: Parts, kept: Any, task: Task, words: list[str]) -> Plan:
        import pandas as pd

        settings = self.settings
        with scratch_file(self.scratch) as file:
            columns = ColumnsInBlocks(
                pd.DataFrame(columns=parts.names),
                file,
                reserved=[*task.reserved, *settings.ignore],
                text=settings.text,
                categories=settings.categories,
                numbers=settings.numbers,
            )
            for part in parts(words, kept):
                columns.add(part)
            transformer, plan = columns.finish()
        self.stage("Making features")
        model = Pipeline([("columns", transformer), ("learner", make_learner(task, settings))])
        n_nonzero = columns.n_nonzero(plan) if transformer.sparse_output_ else None
        width = len(transformer.get_feature_names_out())
        rows = self.files.enter_context(DiskRows(self.scratch, width, n_nonzero))
        shown = [name for name in (self.known.identity, *plan.text[:1]) if name is not None]
        chosen, cells, begun = self._sample(len(task.place)), [], 0
        for part in parts([*columns_as_text(model), *shown], kept):
            rows.append(transformer.transform(prepare_frame(model, part)))
            here = chosen[(chosen >= begun) & (chosen < begun + len(part))] - begun
            cells.append(part[shown].iloc[here])
            begun += len(part)
        return Plan(model, rows.matrix(), plan, Sample(chosen, pd.concat(cells)))

    def _sample(self, n_rows: int) -> IntArray:
        if n_rows <= SAMPLE:
            return np.arange(n_rows)
        rng = np.random.RandomState(self.settings.seed)
        return np.sort(rng.choice(n_rows, SAMPLE, replace=False))

    def _open_svmlight(self) -> tuple[Task, Plan]:
        refuse_column_options(self.settings)
        source = find_source(self.path, self.reading.format)
        self.stage(f"Reading the labels of {self.path.name}")
        labels, lowest, highest, n_nonzero = [], 1, -1, 0
        for X, y in iter_svmlight(source):
            labels.append(y)
            if X.nnz:
                lowest, highest = min(lowest, X.indices.min()), max(highest, X.indices.max())
            n_nonzero += X.nnz
            self.stage.rows(len(y))
        if not labels:
            raise DataFileError(f"{self.path}: it holds no rows.")
        y = plain_labels(np.concatenate(labels))
        task = task_of_rows(self.path, LabelledRows(np.empty((len(y), 0)), y), self.known)
        kept = np.zeros(len(y), dtype=bool)
        kept[task.place] = True
        self.stage("Making features")
        counts_from = 1 if lowest > 0 and n_nonzero else 0
        width = int(highest) + 1 - counts_from
        rows = self.files.enter_context(DiskRows(self.scratch, width, n_nonzero))
        columns, begun = SparseColumns(width), 0
        for X, y in iter_svmlight(source):
            shape = (X.shape[0], width)
            X = sparse.csr_matrix((X.data, X.indices - counts_from, X.indptr), shape=shape)
            X = X[kept[begun : begun + len(y)]]
            columns.add(X)
            rows.append(X)
            begun += len(y)
            self.stage.rows(len(y))
        scaler = as_they_are().fit(X) if self.settings.as_is else columns.scaler()
        matrix = rows.matrix()
        if hasattr(scaler, "scale_"):
            _scale(matrix, scaler.scale_)
        model = Pipeline([("scale", scaler), ("learner", make_learner(task, self.settings))])
        return task, Plan(model, matrix, None, Sample(self._sample(len(task.place)), None))


def _scale(rows: Any, scale: Any) -> None:
    """Scale the columns in place, a block of entries at a time."""
    for start in range(0, rows.nnz, ENTRIES):
        some = slice(start, start + ENTRIES)
        rows.data[some] *= 1.0 / scale[rows.indices[some]]
