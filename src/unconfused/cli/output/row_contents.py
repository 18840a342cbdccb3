"""The rows behind a report, as they are in the file."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Literal

from unconfused.cli.input.verdict_truth import left_out

if TYPE_CHECKING:
    from unconfused._report.tables import RowContents
    from unconfused.cli.input.source import TaskSource
    from unconfused.cli.input.task import Task
    from unconfused.cli.model import Plan


def row_contents(
    task: Task,
    plan: Plan,
    source: TaskSource,
    *,
    shown: Collection[str] | None = None,
    of_sample: bool = False,
) -> RowContents | Literal[False]:
    """Return access to the rows of a task; False where a file cannot be asked for single rows.

    Parameters
    ----------
    task, plan, source : the rows, what is fitted to them, and where they come from
    shown : columns to show; None for the first few
    of_sample : whether rows are numbered within the sample of a plan
    """
    from unconfused._report.tables import RowContents

    known = source.known
    text = [] if plan.columns is None else plan.columns.text[:1]
    hidden = [one for one in (known.identity, known.truth, *text) if one is not None]
    given: dict[str, Any] = {
        "shown": shown,
        "leave_out": left_out(known),
        "hidden": [] if shown is not None else [*hidden, *known.annotators],
    }
    if plan.sample is None:
        table = task.table
        fetch = table.iloc.__getitem__ if task.is_frame else table.__getitem__
        return RowContents(fetch, **given)
    if plan.columns is None:
        return False
    from unconfused.cli.input.parts import Parts

    places = task.place[plan.sample.rows] if of_sample else task.place
    names = [one for one in (known.label, known.identity) if one is not None]

    def read(rows: list[int]) -> Any:
        parts = Parts(source.data, source.reading, lambda n: None)
        return parts.rows([int(places[row]) for row in rows], names)

    return RowContents(read, **given)
