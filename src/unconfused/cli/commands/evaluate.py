"""`unconfused evaluate`: how good a model is, on a file with noisy labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Column, Table
from rich.text import Text

from unconfused._columns.row_hash import beginning_hash
from unconfused._text import printable
from unconfused.cli import options as opt
from unconfused.cli.commands.predict import Prediction
from unconfused.cli.console import Stages, say_notes, tell
from unconfused.cli.input.label_options import LabelOptions
from unconfused.cli.input.matrix_file import labelled, read_matrix
from unconfused.cli.input.task import common_labels, narrow
from unconfused.cli.options import ReadOptions, is_nameless

if TYPE_CHECKING:
    from unconfused.metrics import NoisyEvaluation

EXAMPLES = [
    "evaluate model.skops test.csv --label kind --confusion C.csv",
    "evaluate model.skops test.csv --label kind --confusion C.csv --truth checked",
]

OVERALL = ("accuracy", "balanced_accuracy", "macro_precision", "macro_f1")
BY_CLASS = ("prevalence", "precision", "recall", "f1")

TOO_CLEAN = (
    "The labels agree with the model more often than the confusion matrix allows even for a "
    "perfect model, so this is not the matrix of these labels. If they are clean, add --truth {}; "
    "otherwise pass their own matrix with --confusion."
)

NOT_KNOWN = (
    "How often the labels in {label!r} are wrong is not known{why}, so they cannot tell how good "
    "the model is. Check some rows drawn at random and name them with --truth, or pass a matrix "
    "with --confusion. If the labels are right, add --truth {label}."
)

SEEN = (
    "The model was fitted to these rows, so these scores are too high. Use rows it has not seen; "
    "`fit --truth` prints the accuracy on checked rows, each predicted without having seen it."
)


def evaluate(
    model: opt.Model,
    data: opt.Data,
    *,
    label: str | None = opt.plain("--label -l", "Column with the noisy labels.", "COLUMN"),
    confusion: Path | None = opt.confusion(),
    truth: str | None = opt.known(
        "--truth -t",
        "Column with the true class of some randomly drawn rows, empty elsewhere; or a file of "
        "verdicts on DATA from `unconfused review`, of which only those on randomly drawn rows "
        "count.",
        "COLUMN|VERDICTS.csv",
    ),
    identity: str | None = opt.identity(),
    level: float = opt.level(),
    missing: str | None = opt.missing(),
    rows: int = opt.rows(),
    reading: ReadOptions,
    seed: int = opt.seed(),
    as_json: bool = opt.as_json(),
) -> None:
    """Estimate accuracy, precision, recall and F1 from noisy test labels, with intervals.

    DATA must hold rows that the model was not fitted to. Scores are corrected for label noise by
    the matrix of --confusion; trusted rows (--truth) enter with their true class. With --truth
    alone, only the trusted rows count. With neither, the matrix of the fit is used, if it was given
    or counted on trusted rows. If the labels of the file are clean, name their column with --truth;
    no --label is needed.
    """
    from unconfused import load
    from unconfused.metrics import NoisyEvaluation
    from unconfused.persistence import read_header

    known = LabelOptions(truth if label is None else label, truth=truth, identity=identity)
    if known.label is None or (label is None and known.verdicts is not None):
        called = " (here they are called y)" if is_nameless(data, reading) else ""
        raise ValueError(
            f"Name the column with the labels{called} by --label, or by --truth if they are right."
        )
    all_clean, label = label is None, known.label
    loaded, saved, columns = load(model), read_header(model).metadata, [label, known.truth]
    if not is_nameless(data, reading):
        there = reading.first_row(data).columns
        known.refuse_other_file(there)
        columns.append(saved.get("label") if saved.get("label") in there else None)
    asked = Prediction(loaded, [*dict.fromkeys(filter(None, columns))], every_class=False)
    own = _own_matrix(asked.model, saved, label) if confusion is None and truth is None else None
    truths = [] if known.verdicts is None else _random_truths(data, reading, known)
    predicted, kept, begun = _predict(asked, data, reading, rows)
    columns_in = [kept[label], truths if known.truth is None else kept[known.truth]]
    given, classes, matrix = _with_matrix(
        [*columns_in, predicted, asked.model.classes_], confusion, own, missing
    )
    y, y_true, predicted = given
    if all_clean and confusion is None:
        classes = _with_unknown(classes, y_true)
    _refuse_other_labels([*y.tolist(), *y_true.tolist()], classes)
    found = NoisyEvaluation(
        y, predicted, matrix, y_true=None if truth is None else y_true, classes=classes,
        missing_label=None, level=level, random_state=seed,
    )  # fmt: skip
    if truth is None and found.accuracy.low >= 1:  # even a perfect model has an interval
        raise ValueError(TOO_CLEAN.format(label))
    if saved.get("rows") in begun:
        say_notes([SEEN])
    source = _source(confusion, truth, "counts" in saved)
    scores = [
        (name.replace("_", " ").replace("f1", "F1"), getattr(found, name)) for name in OVERALL
    ]
    kinds = {"rows with a noisy label": found.n_noisy, "trusted rows": found.n_trusted}
    counted = ", ".join(f"{number:,.0f} {kind}" for kind, number in kinds.items() if number)
    lines = [*(f"{name:<18}{score}" for name, score in scores), _table(found)]
    lines += [f"{counted}. Intervals: {100 * level:g} %.", f"Based on {source}."]
    tell(as_json, _as_dict(found, source), lines)


def _predict(
    asked: Prediction, data: Path, reading: ReadOptions, rows: int
) -> tuple[Any, Any, set[str]]:
    """Return predictions, the columns to keep, and hashes by which rows of a fit are recognised."""
    import pandas as pd

    predicted, kept, begun = list[Any](), list[Any](), set[str]()
    with Stages() as stage:
        stage(f"Labelling {data.name}")
        for part, columns in asked.inputs(data, reading, rows):
            if not kept:  # a fit leaves out rows without a label, in whichever column it was
                labelled = [columns[name].notna().to_numpy() for name in columns]
                begun = {
                    beginning_hash(part, one) for one in [*labelled, np.ones(len(columns), bool)]
                }
            predicted.append(asked.model.predict(part))
            kept.append(columns)
            stage.rows(len(columns))
    return np.concatenate(predicted), pd.concat(kept, ignore_index=True), begun


def _random_truths(data: Path, reading: ReadOptions, known: LabelOptions) -> Any:
    """Return the truth of rows with a verdict that were drawn evenly, None elsewhere."""
    from unconfused.cli.input.open_task import checked_in

    named = [one for one in (known.label, known.identity) if one is not None]
    checked = checked_in(reading.table(data, named), known)
    assert checked is not None
    say_notes(checked.notes)
    even = checked.representative & (checked.drawn_by == "random")
    if not even.any():
        raise ValueError(
            f"{known.verdicts} has no verdict on a row of {data} that was drawn at random; check "
            "some with `unconfused review --by random`."
        )
    return checked.only(np.flatnonzero(even)).y_true


def _own_matrix(model: Any, saved: dict[str, Any], label: str) -> Any:
    """Return the matrix given to `fit`, or a function that makes one of the counts it made."""
    from unconfused._matrix_labels import is_guess
    from unconfused._pipelines import final_step
    from unconfused.confusion.estimate import ConfusionEstimate

    fitted = saved.get("label", label)
    if fitted != label:
        why = f" (the model was fitted to the labels in {fitted!r})" if fitted else ""
        raise ValueError(NOT_KNOWN.format(label=label, why=why))
    if "counts" in saved and np.sum(saved["counts"], axis=1).all():
        return lambda classes: ConfusionEstimate.from_counts(saved["counts"], classes)
    learner, _ = final_step(model)
    given = getattr(learner, "confusion", None)
    kind = saved.get("verdict", {}).get("kind", "given")
    if kind != "given" or given is None or isinstance(given, str) or is_guess(given):
        raise ValueError(NOT_KNOWN.format(label=label, why=""))
    if np.shape(learner.confusion_) != (len(model.classes_),) * 2:
        raise ValueError(NOT_KNOWN.format(label=label, why=" (some are not classes)"))
    return lambda classes: learner.confusion_


def _with_matrix(
    columns: list[Any], path: Path | None, own: Any, missing: str | None
) -> tuple[list[Any], Any, Any]:
    """Return labels, truths and predictions of one type, the classes, and the matrix, if any."""
    if path is None:
        *given, classes = common_labels(columns, missing)
        return given, classes, None if own is None else own(classes)
    matrix, *names = read_matrix(path)
    *given, classes, rows, labels = common_labels([*columns, *names], missing)
    if len(rows):
        return given, rows, labelled(matrix, rows, labels)
    if len(matrix) != len(classes):
        raise ValueError(
            f"The matrix in {path} has {len(matrix)} rows, but the model knows {len(classes)} "
            "classes. Name its rows and columns."
        )
    return given, np.unique(classes), matrix


def _with_unknown(classes: Any, y_true: Any) -> Any:
    """Add true classes that the model cannot predict, if it knows others of them."""
    true = list(dict.fromkeys(one for one in y_true.tolist() if one is not None and one == one))
    new = [one for one in true if one not in classes.tolist()]
    if not new or len(new) == len(true):
        return classes
    shown = ", ".join(map(repr, new[:5])) + ", ..." * (len(new) > 5)
    say_notes(
        [
            f"The model was not fitted to these classes, so it is always wrong on them: {shown}. "
            "If one marks a missing truth, name it with --missing."
        ]
    )
    return narrow(np.sort(np.array([*classes.tolist(), *new], dtype=object)))


def _refuse_other_labels(labels: list[Any], classes: Any) -> None:
    """Raise if labels are neither classes nor missing."""
    known = {*classes.tolist(), None}
    outside = [repr(one) for one in dict.fromkeys(labels) if one == one and one not in known]
    if outside:
        raise ValueError(
            f"The data has labels that the model or its confusion matrix does not know: "
            f"{', '.join(outside[:5])}. Correct them, or name one that means 'missing' with "
            "--missing."
        )


def _source(confusion: Path | None, truth: str | None, counted: bool) -> str:
    if confusion is not None:
        matrix = f"the matrix of {confusion}, taken as exact"
        return matrix if truth is None else f"{matrix}, and the true classes in {truth!r}"
    if truth is not None:
        return f"the true classes in {truth!r} alone"
    if counted:
        return "the confusion matrix counted on the trusted rows of `fit`"
    return "the confusion matrix given to `fit`, taken as exact"


def _as_dict(found: NoisyEvaluation, source: str) -> dict[str, Any]:
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


def _table(found: NoisyEvaluation) -> Table:
    table = Table("class", *(Column(one, min_width=len("0.00 0.00-0.00")) for one in BY_CLASS))
    for place, name in enumerate(found.classes.tolist()):
        cells = []
        for score in (getattr(found, one) for one in BY_CLASS):
            value, low, high = (one[place] for one in (score.value, score.low, score.high))
            shown = "   -" if value != value else f"{value:.2f}"  # a class that does not occur
            cells.append(Text(f"{shown} {low:.2f}-{high:.2f}"))
        table.add_row(Text(printable(str(name))), *cells)
    return table
