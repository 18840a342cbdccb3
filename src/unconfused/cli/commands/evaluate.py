"""`unconfused evaluate`: how good a model is, on a file with noisy labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unconfused.cli import options as opt
from unconfused.cli.commands.predict import Prediction
from unconfused.cli.console import RowCount, console, print_json, say_notes
from unconfused.cli.input.label_options import LabelOptions, ReadOptions

if TYPE_CHECKING:
    from rich.table import Table

    from unconfused.metrics import NoisyEvaluation

EXAMPLES = [
    "evaluate model.skops test.csv --label kind --confusion C.csv",
    "evaluate model.skops test.csv --label kind --confusion C.csv --truth checked",
]

OVERALL = ("accuracy", "balanced_accuracy", "macro_precision", "macro_f1")
BY_CLASS = ("prevalence", "precision", "recall", "f1")

TOO_CLEAN = (
    "The labels agree with the model more often than the confusion matrix allows, so these scores "
    "are too high. If the labels are clean, add --truth {}; otherwise pass their own matrix with "
    "--confusion."
)

OWN_MATRIX = (
    "The confusion matrix was estimated by the fit itself, which takes some of the model's "
    "mistakes for wrong labels: these scores may be far too high. Check rows and name them with "
    "--truth, or pass a matrix from another source with --confusion."
)

LABELS_BELIEVED = (
    "The model took its labels as right, and so does this evaluation: it counts wrong labels as "
    "mistakes of the model. Check rows and name them with --truth, or pass a matrix with "
    "--confusion."
)


def evaluate(
    model: opt.Model,
    data: opt.Data,
    *,
    label: Annotated[
        str, typer.Option("--label", "-l", metavar="COLUMN", help="Column with the noisy labels.")
    ],
    confusion: opt.Confusion = None,
    truth: Annotated[
        str | None,
        opt.known(
            "--truth -t",
            "Column with the true class of some rows, drawn at random, empty elsewhere; or a file "
            "of verdicts on DATA from `unconfused review`, of which those on rows drawn at random "
            "count.",
            "COLUMN|VERDICTS.csv",
        ),
    ] = None,
    identity: opt.Identity = None,
    level: opt.Level = 0.95,
    missing: opt.Missing = None,
    rows: opt.Rows = 2**16,
    reading: ReadOptions,
    seed: opt.Seed = 0,
    as_json: opt.AsJson = False,
) -> None:
    """Estimate how good a model is against the truth, on rows it was not fitted on.

    The noise of the labels is taken out with the matrix of --confusion, and trusted rows (--truth)
    are used with their true class. With --truth alone only the trusted rows count; with neither,
    the confusion matrix that the model was fitted with is taken, which favours the model. If the
    labels of the file are clean, name their column with both --label and --truth.
    """
    from unconfused import load
    from unconfused.metrics import NoisyEvaluation

    known = LabelOptions(label, truth=truth, identity=identity)
    columns = [label] if known.truth is None else list(dict.fromkeys([label, known.truth]))
    asked = Prediction(load(model), columns, every_class=False)
    own = _own_matrix(asked.model) if confusion is None and truth is None else None
    truths = [] if known.verdicts is None else _random_truths(data, reading, known)
    predicted, kept = _predict(asked, data, reading, rows)
    columns_in = [kept[label], truths if known.truth is None else kept[known.truth]]
    given, classes, matrix = _with_matrix(
        [*columns_in, predicted, asked.model.classes_], confusion, own, missing
    )
    y, y_true, predicted = given
    _refuse_other_labels(y, classes)
    found = NoisyEvaluation(
        y, predicted, matrix, y_true=None if truth is None else y_true, classes=classes,
        missing_label=None, level=level, random_state=seed,
    )  # fmt: skip
    source = _source(confusion, truth)
    if truth is None and found.accuracy.low >= 1:  # even a perfect model has an interval
        say_notes([TOO_CLEAN.format(label)])
    elif own is not None and not _was_given(asked.model):
        say_notes([LABELS_BELIEVED if _is_identity(own) else OWN_MATRIX])
    if as_json:
        print_json(_as_dict(found, source))
    else:
        _show(found, source)


def _predict(asked: Prediction, data: Path, reading: ReadOptions, rows: int) -> tuple[Any, Any]:
    import numpy as np
    import pandas as pd

    predicted, kept = [], []
    with RowCount(f"Labelling {data.name}") as count:
        for part, columns in asked.inputs(data, reading, rows):
            predicted.append(asked.model.predict(part))
            kept.append(columns)
            count(len(columns))
    return np.concatenate(predicted), pd.concat(kept, ignore_index=True)


def _random_truths(data: Path, reading: ReadOptions, known: LabelOptions) -> Any:
    """Return the truth of rows with a verdict that were drawn evenly, None elsewhere."""
    import numpy as np

    from unconfused.cli.input.verdict_truth import checked_in

    named = [one for one in (known.label, known.identity) if one is not None]
    checked = checked_in(reading.table(data, named), known)
    say_notes(checked.notes)
    even = checked.representative & (checked.drawn_by == "random")
    if not even.any():
        raise ValueError(
            f"{known.verdicts} has no verdict on a row of {data} that was drawn at random; check "
            "some with `unconfused review --by random`."
        )
    return checked.only(np.flatnonzero(even)).y_true


def _learner(model: Any) -> Any:
    return model[-1] if getattr(model, "steps", None) else model


def _is_identity(matrix: Any) -> bool:
    import numpy as np

    table = np.asarray(matrix)
    return np.array_equal(table, np.eye(len(table)))


def _was_given(model: Any) -> bool:
    """Return whether the model was fitted through a matrix that was passed to it."""
    from unconfused.confusion.estimate import is_guess

    given = getattr(_learner(model), "confusion", None)
    return given is not None and not isinstance(given, str) and not is_guess(given)


def _own_matrix(model: Any) -> Any:
    """Return the matrix that the model was fitted with."""
    import numpy as np

    matrix, size = getattr(_learner(model), "confusion_", None), len(model.classes_)
    if matrix is None or np.shape(matrix) != (size, size):
        raise ValueError(
            "This model has no suitable confusion matrix; pass --confusion, as written "
            "by `unconfused estimate -o`, or a column of true classes with --truth."
        )
    return matrix


def _with_matrix(
    columns: list[Any], path: Path | None, own: Any, missing: str | None
) -> tuple[list[Any], Any, Any]:
    """Return labels, truths and predictions of one type, the classes, and the matrix, if any."""
    import numpy as np

    from unconfused.cli.input.label_columns import common_labels
    from unconfused.cli.input.matrix_file import labelled, read_matrix

    if path is None:
        *given, classes = common_labels(columns, missing)
        return given, classes, own
    matrix, *names = read_matrix(path)
    *given, classes, rows, labels = common_labels([*columns, *names], missing)
    if len(rows):
        return given, rows, labelled(matrix, rows, labels)
    return given, np.unique(classes), matrix


def _refuse_other_labels(y: Any, classes: Any) -> None:
    """Raise if labels are neither classes nor missing."""
    known = {*classes.tolist(), None}
    outside = [repr(one) for one in dict.fromkeys(y.tolist()) if one == one and one not in known]
    if outside:
        raise ValueError(
            f"The data has labels that the model or its confusion matrix does not know: "
            f"{', '.join(outside[:5])}. Correct them, or name one that means 'missing' with "
            "--missing."
        )


def _source(confusion: Path | None, truth: str | None) -> str:
    if confusion is not None:
        matrix = f"the matrix of {confusion}, taken as exact"
        return matrix if truth is None else f"{matrix}, and the true classes in {truth!r}"
    if truth is not None:
        return f"the true classes in {truth!r} alone"
    return "the confusion matrix the model was fitted with, taken as exact"


def _as_dict(found: NoisyEvaluation, source: str) -> dict[str, Any]:
    import numpy as np

    def plain(numbers: Any) -> Any:
        array = np.asarray(numbers, dtype=object)
        array[np.asarray(np.isnan(numbers))] = None  # JSON has no NaN
        return array.tolist()

    told: dict[str, Any] = {
        "classes": found.classes.tolist(),
        "level": found.level,
        "noisy_rows": found.n_noisy,
        "trusted_rows": found.n_trusted,
        "source": source,
    }
    for name in (*OVERALL, *BY_CLASS, "confusion_matrix"):
        score = getattr(found, name)
        told[name] = {end: plain(getattr(score, end)) for end in ("value", "low", "high")}
    return told


def _show(found: NoisyEvaluation, source: str) -> None:
    from unconfused._text.printable import printable

    out = console()
    for name in OVERALL:
        words = name.replace("_", " ").replace("f1", "F1")
        out.print(f"{words:<18}{getattr(found, name)}", markup=False)
    out.print(_table(found))
    rows = f"{found.n_noisy:,.0f} rows with a noisy label, {found.n_trusted:,.0f} trusted rows."
    out.print(f"{rows} Intervals: {100 * found.level:g} %.", markup=False)
    out.print(printable(f"Based on {source}."), markup=False)


def _table(found: NoisyEvaluation) -> Table:
    from rich.table import Table
    from rich.text import Text

    from unconfused._text.printable import printable

    table = Table("class", *BY_CLASS)
    for place, name in enumerate(found.classes.tolist()):
        cells = []
        for score in (getattr(found, one) for one in BY_CLASS):
            low, high = score.low[place], score.high[place]
            cells.append(Text(f"{score.value[place]:.2f} {low:.2f}-{high:.2f}"))
        table.add_row(Text(printable(str(name))), *cells)
    return table
