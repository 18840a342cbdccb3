"""`unconfused apply`: write verdicts back into the labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from unconfused._columns.kinds import require_columns
from unconfused._columns.row_hash import PROVENANCE
from unconfused._files import LabelledRows
from unconfused._files.write import check_table_target, write_table
from unconfused.cli import options as opt
from unconfused.cli.console import tell
from unconfused.cli.errors import refuse_same_target
from unconfused.cli.input.label_options import LabelOptions
from unconfused.cli.input.task import label_texts
from unconfused.cli.options import ReadOptions

EXAMPLES = [
    "apply pets.csv verdicts.csv --label kind -o corrected.csv",
    "apply pets.csv verdicts.csv --label kind --id name -o corrected.csv",
]


def apply(
    data: opt.Data,
    verdicts: Annotated[
        Path, typer.Argument(metavar="VERDICTS.csv", help="File of verdicts.", show_default=False)
    ],
    *,
    output: Path = opt.output(f"Output file: {opt.TABLE_FILES}."),
    label: str | None = opt.plain("--label -l", "Column with the labels.", "COLUMN"),
    identity: str | None = opt.column(
        "--id", "Column that identifies the rows, as in the review.", "COLUMN"
    ),
    reading: ReadOptions,
    escape: bool = opt.escape(),
    force: bool = opt.force(),
    as_json: bool = opt.as_json(),
) -> None:
    """Write the labels of a verdict file into a copy of the data.

    The column `label_source` says where each label comes from: `given` (not checked), `confirmed`,
    `corrected`, `conflict` (verdicts contradict each other; the label stays) or `skipped`. Verdicts
    on rows that have changed since are ignored, with a note.
    """
    from unconfused.review.verdicts import is_verdict_file

    if label is None:
        raise typer.BadParameter("Which column holds the labels? Name it with --label.")
    if not verdicts.is_file():
        raise FileNotFoundError(f"There is no file {verdicts}.")
    if not is_verdict_file(verdicts):
        raise ValueError(f"{verdicts} is not a file of verdicts.")
    refuse_same_target(data, output)
    refuse_same_target(verdicts, output)
    check_table_target(output, force=force)
    named = [one for one in (label, identity) if one is not None]
    table = reading.table(data, named)
    if isinstance(table, LabelledRows):
        raise ValueError(f"{data} has no column names; use a format that has them.")
    require_columns(table, named)
    known = LabelOptions(label, identity=identity, verdicts=verdicts)
    changed, counts, notes = _applied(table, known)
    changed[PROVENANCE] = changed.pop(PROVENANCE)
    write_table(changed, output, force=force, escape=escape)
    corrected = f"{counts['corrected']:,} labels corrected, {counts['confirmed']:,} confirmed."
    found = {**counts, "output": str(output), "notes": notes}
    tell(as_json, found, [corrected, f"Corrected data: {output}"], notes)


def _applied(table: Any, known: LabelOptions) -> tuple[Any, dict[str, int], list[str]]:
    """Return the table with labels corrected, how many of each kind, and what was left out."""
    from unconfused.cli.input.open_task import checked_in

    assert known.label is not None
    checked = checked_in(table, known)
    assert checked is not None
    settled = checked.known
    labels = np.array(label_texts(table[known.label]), dtype=object)
    new = np.where(settled, checked.y_true, labels)
    source = np.full(len(table), "given", dtype=object)
    if PROVENANCE in table.columns:  # what an earlier run said stays true of other rows
        source = table[PROVENANCE].astype(object).to_numpy(copy=True)
    corrected = (new.astype(str) != labels.astype(str)) | (source == "corrected")
    source[settled] = np.where(corrected[settled], "corrected", "confirmed")
    source[checked.conflicts], source[checked.skipped] = "conflict", "skipped"
    changed = table.assign(**{known.label: new, PROVENANCE: source})
    kinds = ("corrected", "confirmed", "conflict", "skipped", "given")
    counts = {kind: int((source == kind).sum()) for kind in kinds}
    return changed, counts, checked.notes
