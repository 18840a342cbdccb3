"""`unconfused audit --probabilities`: judge labels by probabilities from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import typer

from unconfused._files import DataFileError
from unconfused._typing import Labels
from unconfused.cli.console import console, print_json, say_notes
from unconfused.cli.errors import in_options
from unconfused.cli.input.label_options import LabelOptions
from unconfused.cli.input.task import common_labels
from unconfused.cli.options import ReadOptions, names_in


def rank_rows(
    data: Path,
    probabilities: Path,
    of_labels: bool,
    known: LabelOptions,
    reading: ReadOptions,
    columns: tuple[str, ...],
) -> tuple[Any, dict[str, Any]]:
    """Rank the rows of a table by probabilities from another file, one row for each of its own.

    Returns
    -------
    The ranked rows as a frame, and what to tell of them.
    """
    import pandas as pd

    from unconfused.cli.input.open_task import open_task
    from unconfused.cli.model import warnings_as_notes
    from unconfused.confusion.probabilities import rank_from_probabilities

    if known.annotators or known.votes is not None:
        raise typer.BadParameter("--probabilities goes with --label, not with several annotators.")
    task = open_task(data, known, reading, [])
    values, names = read_probabilities(probabilities)
    if len(values) <= int(task.place.max()):
        raise DataFileError(
            f"{probabilities} has {len(values):,} rows, fewer than {data}; both need the same rows "
            "in the same order."
        )
    y, classes = task.y, task.classes
    if names is not None:
        y, classes, _ = common_labels([y, names, [] if task.y_true is None else task.y_true])
    values = values if len(task.place) == len(values) else values[task.place]
    predicts: Any = "label" if of_labels else "class"
    caught: list[str] = []
    with warnings_as_notes(caught):
        given = {"predicts": predicts, "classes": classes}
        issues = rank_from_probabilities(values, y, task.confusion, **given)
    issues = issues[~task.trusted[issues.row]]
    frame: dict[str, Any] = {columns[0]: task.place[issues.row]}
    if known.identity is not None:
        frame[known.identity] = task.table[known.identity].to_numpy()[issues.row]
    frame |= dict(
        zip(columns[1:], (issues.observed, issues.suggested, issues.probability), strict=True)
    )
    told = {
        "labels": len(issues),
        "expected_wrong": issues.expected_errors,
        "criterion": issues.criterion,
        "notes": task.notes_with([in_options(note) for note in caught]),
    }
    return pd.DataFrame(frame), told


def read_probabilities(path: Path) -> tuple[Any, Labels | None]:
    """Return probabilities, and the names of their columns if the file has them.

    An NPY file is mapped, not read.
    """
    if path.suffix.lower() == ".npy":
        try:
            values = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise DataFileError(f"{path} cannot be read as NPY ({error}).") from None
        return values, None
    table = ReadOptions().table(path, [])
    if not hasattr(table, "columns"):
        raise DataFileError(f"{path}: probabilities are read from .csv, .tsv, .parquet or .npy.")
    text = [str(name) for name in table.columns if table[name].dtype.kind not in "fiu"]
    if text:
        raise DataFileError(
            f"{path}: the columns {', '.join(map(repr, names_in(text)[:5]))} hold no numbers. Each "
            "column must hold the probabilities of the class it is named after, and nothing else."
        )
    return table.to_numpy(dtype=np.float64), np.asarray(table.columns)


def tell_ranked(told: dict[str, Any], rows: Any, output: Path, as_json: bool) -> None:
    """Print what was found."""
    if as_json:
        print_json({**told, "rows": len(rows), "output": str(output)})
        return
    out = console()
    share = told["expected_wrong"] / max(1, told["labels"])
    if told["criterion"] == "posterior":
        out.print(f"About {share:.1%} of the labels are wrong.", style="bold")
    else:
        out.print("No confusion matrix explains these labels better than none:", style="bold")
        out.print("rows are ranked by how unlikely the model finds their label.")
    out.print(f"Rows: {output} ({len(rows):,} rows)")
    say_notes(told["notes"])
