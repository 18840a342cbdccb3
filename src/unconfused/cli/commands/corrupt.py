"""`unconfused corrupt`: labels with known noise, for experiments."""

from __future__ import annotations

from dataclasses import MISSING
from pathlib import Path
from typing import Any

import numpy as np
import typer

from unconfused._arguments import own_stream
from unconfused._columns.kinds import require_columns
from unconfused._files import LabelledRows
from unconfused._files.write import check_table_target, write_table
from unconfused._typing import Labels
from unconfused.cli import options as opt
from unconfused.cli.console import tell
from unconfused.cli.errors import refuse_same_target
from unconfused.cli.input.matrix_file import labelled, read_matrix
from unconfused.cli.input.task import common_labels, narrow, present_labels, refuse_measurements
from unconfused.cli.options import ReadOptions

EXAMPLES = [
    "corrupt pets.csv --label kind --symmetric 0.2 -o noisy.csv",
    "corrupt pets.csv --label kind --pairwise 0.3 --reveal 0.05 -o noisy.csv",
    "corrupt pets.csv --label kind --symmetric 0.4 --annotators 3 -o crowd.csv",
]


def corrupt(
    data: opt.Data,
    *,
    output: Path = opt.output("Output file for the noisy data."),
    label: str = opt.plain("--label -l", "Column with the true labels.", "COLUMN", default=MISSING),
    symmetric: float | None = opt.plain(
        "--symmetric", "Noise rate; all wrong labels are equally likely.", min=0.0, max=1.0
    ),
    pairwise: float | None = opt.plain(
        "--pairwise", "Share of each class labelled as the next one.", min=0.0, max=1.0
    ),
    confusion: Path | None = opt.plain("--confusion -c", "Confusion matrix of the noise.", "C.csv"),
    reveal: float = opt.plain(
        "--reveal",
        "Share of rows that keep their true label; by default the column is dropped.",
        min=0.0,
        max=1.0,
        default=0.0,
    ),
    annotators: int = opt.plain(
        "--annotators", "Number of noisy labels per row, one column each.", min=1, default=1
    ),
    missing: str | None = opt.missing(),
    reading: ReadOptions,
    seed: int = opt.seed(),
    force: bool = opt.force(),
    as_json: bool = opt.as_json(),
) -> None:
    """Corrupt labels with known noise.

    The noisy labels go into a new column, `noisy_COLUMN`, numbered if there are several. The truth
    is removed, except from the rows of --reveal: a model could learn from it.
    """
    if sum(one is not None for one in (symmetric, pairwise, confusion)) != 1:
        raise typer.BadParameter("Name exactly one of --symmetric, --pairwise and --confusion.")
    refuse_same_target(data, output)
    check_table_target(output, force=force)
    # All as it is written: what is not noise must come out as it went in.
    table = reading.table(data, [label])
    if isinstance(table, LabelledRows):
        raise ValueError(
            f"{data} has no column names; for such rows use unconfused.noise.corrupt_labels."
        )
    require_columns(table, [label])
    base = f"noisy_{label}"
    names = [base] if annotators == 1 else [f"{base}_{k}" for k in range(1, annotators + 1)]
    taken = [name for name in names if name in table.columns]
    if taken:
        raise ValueError(f"The column {taken[0]!r} exists already; rename it.")
    rng = own_stream(seed, "unconfused corrupt")
    noise, truth = _noise(table[label], symmetric, pairwise, confusion, missing)
    added = {name: _corrupted(truth, noise, rng) for name in names}
    noisy = table.assign(**added) if reveal > 0 else table.drop(columns=label).assign(**added)
    if reveal > 0:
        noisy[label] = noisy[label].astype(object).where(rng.random_sample(len(noisy)) < reveal)
    write_table(noisy, output, force=force)
    there = present_labels(truth)
    wrong = float(np.mean([labels[there] != truth[there] for labels in added.values()]))
    known = int(noisy[label].notna().sum()) if reveal > 0 else 0
    where = f"column {names[0]!r}" if len(names) == 1 else f"{names[0]} to {names[-1]}"
    what = f"--label {names[0]}" if len(names) == 1 else f"--annotators {','.join(names)}"
    lines = [
        f"{100 * wrong:.1f} % of the labels in {where} are wrong.",
        f"The truth ({label!r}) is left out.",
        f"Data: {output}",
        f"Next: unconfused fit {output} {what}",
    ]
    if known:
        lines[1] = f"{known:,} of {len(table):,} rows keep their truth in {label!r}."
        lines[-1] += f" --truth {label}"
    found = {"output": str(output), "rows": len(table), "wrong_share": wrong, "columns": names}
    tell(as_json, found | {"rows_with_truth": known}, lines)


def _noise(
    labels: Any,
    symmetric: float | None,
    pairwise: float | None,
    path: Path | None,
    missing: str | None,
) -> tuple[Any, Labels]:
    """Return the matrix of the noise, and the labels in the type of its classes."""
    from unconfused import noise

    matrix: Any
    matrix, *classes = (None, [], []) if path is None else read_matrix(path)
    truth, rows, columns = common_labels([labels, *classes], missing)
    refuse_measurements(truth, labels.name)
    if path is not None:
        return labelled(matrix, rows, columns) if len(rows) else matrix, truth
    found = np.unique(truth[present_labels(truth)])
    if len(found) < 2:
        raise ValueError(
            f"All labels in {labels.name!r} are {found[0]!r}: noise needs at least two classes."
        )
    if symmetric is not None:
        return noise.symmetric(len(found), symmetric), truth
    return noise.pairwise(len(found), pairwise or 0.0), truth


def _corrupted(truth: Labels, noise: Any, rng: Any) -> Labels:
    """Return noisy labels, none where the truth is missing."""
    from unconfused.noise import corrupt_labels

    there = present_labels(truth)
    filled = np.full(len(truth), None, dtype=object)
    filled[there] = corrupt_labels(narrow(truth[there]), noise, rng).tolist()
    return filled
