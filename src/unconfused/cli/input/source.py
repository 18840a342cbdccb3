"""A data file as a task, read whole or in chunks: `TaskSource`."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unconfused.cli.input.label_options import LabelOptions, ReadOptions, Settings
from unconfused.cli.input.open_task import open_task
from unconfused.cli.input.parts import is_streamed
from unconfused.cli.input.task import Task
from unconfused.cli.model import Plan, make_plan
from unconfused.cli.progress import Stages

if TYPE_CHECKING:
    from unconfused.cli.input.stream import Stream

PASSES = 2
"""Stages of a fit in parts, besides those of a fit in memory."""


@dataclass(frozen=True)
class TaskSource:
    """A data file, how to read it, and a folder for features that do not fit into memory."""

    data: Path
    known: LabelOptions
    reading: ReadOptions
    settings: Settings
    stage: Stages
    files: ExitStack
    """Closes and removes temporary files."""

    scratch: Path
    stream: bool | None = None

    def open(self) -> tuple[Task, Plan]:
        """Read the data, and plan the fit."""
        if is_streamed(self.data, self.reading, self.stream):
            self.stage.more(PASSES)
            return self._parts().open()
        task = self._whole()
        return task, make_plan(task, self.settings)

    def open_labels(self) -> tuple[Task, Plan | None]:
        """Read the labels only where that suffices to count them; else also plan a fit."""
        if not is_streamed(self.data, self.reading, self.stream):
            return self._whole(), None
        parts = self._parts()
        task = parts.open_labels()
        if task is not None:
            return task, None
        self.stage.more(PASSES)
        return parts.open()

    def _whole(self) -> Task:
        settings = self.settings
        columns = [*settings.text, *settings.categories]
        return open_task(self.data, self.known, self.reading, columns)

    def _parts(self) -> Stream:
        from unconfused.cli.input.stream import Stream

        return Stream(
            self.data, self.known, self.reading, self.settings, self.scratch, self.files, self.stage
        )
