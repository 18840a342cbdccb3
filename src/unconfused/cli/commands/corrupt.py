"""`unconfused corrupt`: labels with known noise, for experiments."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

from unconfused._atomic import refuse_folder, refuse_target
from unconfused._columns.kinds import require_columns
from unconfused._files import LabelledRows
from unconfused._files.types import clean_name
from unconfused._files.write import check_table_target, write_table
from unconfused.cli import options as opt
from unconfused.cli.console import console, print_json
from unconfused.cli.errors import refuse_same_target
from unconfused.cli.input.matrix_file import labelled, read_matrix
from unconfused.cli.input.task import common_labels, narrow, present_labels, refuse_measurements
from unconfused.cli.options import ReadOptions, is_nameless

EXAMPLES = [
    "corrupt pets.csv --label kind --symmetric 0.2 -o noisy.csv",
    "corrupt pets.csv --label kind --pairwise 0.3 --reveal 0.05 -o noisy.csv",
    "corrupt pets.csv --label kind --symmetric 0.4 --annotators 3 -o crowd.csv",
]


def corrupt(
    data: opt.Data,
    *,
    output: Path = opt.output("Output file for the noisy data."),
    label: str | None = opt.plain(
        "--label -l", "Column with the true labels; not for files without column names.", "COLUMN"
    ),
    symmetric: float | None = opt.plain(
        "--symmetric", "Noise rate; all wrong labels are equally likely.", min=0.0, max=1.0
    ),
    pairwise: float | None = opt.plain(
        "--pairwise", "Share of each class labelled as the next one.", min=0.0, max=1.0
    ),
    confusion: Path | None = opt.plain("--confusion -c", "Confusion matrix of the noise.", "C.csv"),
    reveal: float = opt.plain(
        "--reveal",
        "Share of rows that keep their true label; by default the column is dropped. For .svm and "
        ".npz, these labels are written to a file for `fit --truth`.",
        min=0.0,
        max=1.0,
        default=0.0,
    ),
    annotators: int = opt.plain(
        "--annotators", "Number of noisy labels per row, one column each.", min=1, default=1
    ),
    column: str | None = opt.plain(
        "--column",
        "Name of the new column; numbered if there are several.",
        show_default="noisy_COLUMN",
    ),
    missing: str | None = opt.missing(),
    reading: ReadOptions,
    seed: int = opt.seed(),
    force: bool = opt.force(),
    as_json: bool = opt.as_json(),
) -> None:
    """Corrupt labels with known noise.

    The noisy labels go into a new column. The truth is removed, except from the rows of --reveal: a
    model could learn from it.
    """
    if sum(one is not None for one in (symmetric, pairwise, confusion)) != 1:
        raise typer.BadParameter("Name exactly one of --symmetric, --pairwise and --confusion.")
    refuse_same_target(data, output)
    nameless = is_nameless(data, reading)
    if nameless and (label or column or annotators > 1):
        raise typer.BadParameter(
            f"{data} has no column names and one label per row: --label, --column and "
            "--annotators do not apply."
        )
    if not nameless and label is None:
        raise typer.BadParameter("Which column holds the true labels? Name it with --label.")
    if not nameless:
        check_table_target(output, force=force)
    refuse_target(output, force=force)
    refuse_folder(output)
    truths = output.with_name(output.stem + "_truth.csv") if nameless and reveal else None
    if truths is not None:
        refuse_target(truths, force=force)
    # All as it is written: what is not noise must come out as it went in.
    table = rows = reading.table(data, [label] if label else [])
    if nameless:  # the noisy labels take the place of the true ones
        import pandas as pd

        if rows.y is None:
            raise ValueError(f"{data} holds no labels to corrupt.")
        table = pd.DataFrame({"y": rows.y})
    label = label or "y"
    require_columns(table, [label])
    base = clean_name(column or "") or f"noisy_{clean_name(label)}"
    names = [base] if annotators == 1 else [f"{base}_{k}" for k in range(1, annotators + 1)]
    taken = [name for name in names if name in table.columns]
    if taken:
        raise ValueError(f"The column {taken[0]!r} exists already; choose another --column.")
    rates = (symmetric, pairwise)
    noisy, wrong = _add_noise(table, label, names, rates, confusion, reveal, missing, seed)
    if nameless:
        from unconfused._files.sparse import write_rows

        rows = replace(rows, y=narrow(noisy[base].to_numpy()))
        write_rows(rows, output, force=force)
        if truths is not None:
            _write_truths(
                noisy[label], replace(reading, format=None).table(output, []), truths, reveal
            )
    else:
        write_table(noisy, output, force=force)
    known = int(noisy[label].notna().sum()) if reveal > 0 else 0
    if as_json:
        found = {"output": str(output), "rows": len(table), "wrong_share": wrong}
        found |= {} if nameless else {"columns": names}
        found |= {} if truths is None else {"truth": str(truths)}
        print_json(found | {"rows_with_truth": known})
        return
    where = f"column {names[0]!r}" if len(names) == 1 else f"{names[0]} to {names[-1]}"
    what = f" --label {names[0]}" if len(names) == 1 else f" --annotators {','.join(names)}"
    if nameless:
        where, what = str(output), ""
    kept = label if truths is None else truths
    out = console()
    out.print(f"{100 * wrong:.1f} % of the labels in {where} are wrong.", style="bold")
    if known:
        out.print(f"{known:,} of {len(noisy):,} rows keep their truth in {str(kept)!r}.")
    elif not nameless:
        out.print(f"The truth ({label!r}) is left out.")
    out.print(f"Data: {output}")
    out.print(f"Next: unconfused fit {output}{what}{f' --truth {kept}' if known else ''}")


def _write_truths(truth: Any, written: LabelledRows, path: Path, share: float) -> None:
    """Write the known truths of rows as verdicts, which need no column names."""
    from unconfused._columns.row_hash import row_hashes
    from unconfused.review.checked import as_text
    from unconfused.review.verdicts import Verdict, append_verdicts

    known = np.flatnonzero(truth.notna())
    labels, hashes = np.asarray(written.y)[known], row_hashes(written.X[known])
    marks: dict[str, Any] = {"drawn_by": "random", "probability": share, "shown": False}
    cells = zip(known.tolist(), hashes, labels, strict=True)
    path.unlink(missing_ok=True)
    verdicts = (
        Verdict(str(row), seen, as_text(one), "label", as_text(truth[row]), **marks)
        for row, seen, one in cells
    )
    append_verdicts(path, verdicts)


def _add_noise(
    table: Any,
    label: str,
    names: list[str],
    rates: tuple[float | None, float | None],
    path: Path | None,
    reveal: float,
    missing: str | None,
    seed: int,
) -> tuple[Any, float]:
    """Return the table with noisy columns, and the share of wrong labels."""
    from unconfused._arguments import own_stream
    from unconfused.noise import corrupt_labels, pairwise, symmetric

    matrix: Any
    matrix, *classes = (None, [], []) if path is None else read_matrix(path)
    truth, rows, columns = common_labels([table[label], *classes], missing)
    refuse_measurements(truth, label)
    there = present_labels(truth)
    known = narrow(truth[there])
    noise: Any = labelled(matrix, rows, columns) if len(rows) else matrix
    if path is None:
        make = pairwise if rates[0] is None else symmetric
        if len(found := np.unique(known)) < 2:
            raise ValueError(
                f"All labels in {label!r} are {found[0]!r}: noise needs at least two classes."
            )
        noise = make(len(found), rates[0] or rates[1] or 0.0)
    rng = own_stream(seed, "unconfused corrupt")
    noisy, wrong = table.copy(), []
    for name in names:
        seen = corrupt_labels(known, noise, rng)
        filled = np.full(len(table), None, dtype=object)
        filled[there] = seen.tolist()
        noisy[name] = filled
        wrong.append(float(np.mean(seen != known)))
    if reveal > 0:
        noisy[label] = noisy[label].astype(object).where(rng.random_sample(len(noisy)) < reveal)
    else:
        noisy = noisy.drop(columns=label)
    return noisy, float(np.mean(wrong))
