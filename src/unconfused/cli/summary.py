"""Labels and columns in words: `summarize`, `show_columns` and others."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from unconfused._columns.kinds import ColumnPlan
from unconfused._report.source import checked_in_words
from unconfused._text import class_names, count, printable, short_names
from unconfused._text.wrong_labels import SOURCES, Basis, WrongLabels, wrong_labels
from unconfused._typing import FloatArray, Labels
from unconfused.cli.console import console
from unconfused.cli.errors import in_options
from unconfused.cli.input.label_options import LabelOptions
from unconfused.cli.input.task import Plan, Task, label_texts, present_labels
from unconfused.confusion.estimate import ConfusionEstimate

HARDLY_SO_MANY = 0.5
"""Share of wrong labels from which an estimate without trusted rows is not credible."""

MANY_DRAWN = 100
"""Rows drawn at random from which their count says enough."""

TOO_CLEAN = 0.02
"""Upper end of the interval below which checked rows without a wrong label are pointed out."""

MOST_LISTED = 12
"""Columns of a kind that the table of columns lists."""

KINDS = {
    "numbers": "--categories, --ignore",
    "categories": "--text, --ignore",
    "text": "--categories, --ignore",
    "dates": "--categories, --ignore",
}
"""Kinds of columns, and the options that make another kind of them."""


def basis_of(task: Task) -> Basis:
    """Return what a summary of the labels is based on."""
    return "guessed" if task.kind == "nothing" else task.kind


def summarize(
    task: Task, known: LabelOptions, classes: Labels, found: WrongLabels | None = None
) -> dict[str, Any]:
    """Say how many labels are wrong, in numbers and words; without numbers, say why there are none.

    `--json` prints this, and a saved model keeps it.
    """
    found = wrong_labels(np.zeros((0, 0)), "assumed") if found is None else found
    unknown, names, pair = found.basis == "assumed", classes.tolist(), found.pair
    source, what = _source_words(task, known), "answers" if task.kind == "votes" else "labels"
    sentence = found.sentence(class_names(classes), what)
    if unknown and task.kind == "nothing":
        source = "How many are wrong could not be estimated. A few dozen checked rows per class "
        source += "(--truth) would tell."
    if unknown and task.kind == "given":
        sentence = "Some labels are not classes, so how many are wrong is not counted."
    return {
        "wrong_share": 0.0 if unknown else found.share,
        "low": None if unknown else found.low,
        "high": None if unknown else found.high,
        "true": None if pair is None else names[pair[0]],
        "label": None if pair is None else names[pair[1]],
        "pair_share": found.pair_share,
        "kind": task.kind,
        "source": source,
        "sentence": sentence,
    }


def doubts(told: dict[str, Any]) -> list[str]:
    """Return a note if the numbers of a summary are not credible."""
    if told["kind"] == "trusted" and told["wrong_share"] == 0 and (told["high"] or 1) < TOO_CLEAN:
        return ["No checked label is wrong. Is the column of --truth a copy of the labels?"]
    if told["kind"] != "nothing" or told["wrong_share"] < HARDLY_SO_MANY:
        return []
    return [
        "An estimate this high usually means that the features say little about the classes "
        "(is there a text column to pass to --text?), not that the labels are this bad."
    ]


def _source_words(task: Task, known: LabelOptions) -> str:
    """Say what the summary is based on, in terms of files and options."""
    where, option = "", " (--truth)"
    if task.kind == "assumed":
        option = " (--trust-labels)"
    elif task.kind == "given":
        where = f"the confusion matrix in {known.confusion}"
    elif task.kind == "trusted" and task.checked is not None:
        return _of_verdicts(task, str(known.verdicts))
    elif task.kind == "trusted":
        where = f"{_checked(task, task.y_true)} (column {known.truth!r})"
    elif task.kind == "votes":
        where = f"{count(task.y.n_annotators, 'annotator')} in {count(len(task.y), 'answer')} on "
        where += count(len(task.place), "row")
        several = int((np.bincount(task.y.item) > 1).sum())
        if 2 * several < len(task.place):
            where += f", only {several:,} of them with several answers"
    return SOURCES[basis_of(task)].format(where=where, option=option)


def _of_verdicts(task: Task, where: str) -> str:
    """Say on which verdicts the summary is based, and how many are on rows drawn at random."""
    from unconfused.review.checked import FEWEST_DRAWN

    checked = task.verdicts()
    n_known, n_drawn = int(checked.known.sum()), int(checked.representative.sum())
    if n_drawn < FEWEST_DRAWN:
        return (
            f"Only {n_drawn} of {count(n_known, 'verdict')} ({where}) can be counted as drawn at "
            "random, so this is an estimate by the model. Check more rows with `unconfused review "
            "--by random`."
        )
    others = f" The model also learns from the other {n_known - n_drawn:,}, which are not counted."
    found = f"Based on {_checked(task, checked.y_random)}, drawn at random ({where})."
    found += others if n_known > n_drawn else ""
    if n_drawn < MANY_DRAWN and task.kind == "trusted":
        found += " `unconfused review --when-to-stop` also uses the model, and may be more certain."
    return found


def _checked(task: Task, truth: Any) -> str:
    y = np.asarray(task.y)
    return checked_in_words(truth, y, present_labels(truth) & present_labels(y))


def columns_as_dict(columns: ColumnPlan | None) -> dict[str, Any] | None:
    """Return the kind of each column, for --json."""
    if columns is None:
        return None
    return {kind: getattr(columns, kind) for kind in KINDS} | {
        "left_out": columns.left_out,
        "notes": [in_options(note) for note in columns.notes],
    }


def show_columns(plan: Plan) -> None:
    """Print on stderr what each column was taken for, and the options that change it."""
    if plan.columns is None:
        return
    table = Table(title="Columns", title_justify="left")
    table.add_column("read as", no_wrap=True)
    table.add_column("columns", overflow="fold")
    table.add_column("to change", no_wrap=True)
    for kind, options in KINDS.items():
        if names := getattr(plan.columns, kind):
            more = len(names) - MOST_LISTED
            shown = ", ".join(names[:MOST_LISTED]) + (f" and {more:,} more" if more > 0 else "")
            table.add_row(kind, Text(printable(shown)), options)
    left = list(plan.columns.left_out.items())
    for name, why in left[:MOST_LISTED]:
        options = "--numbers" if "as numbers" in why else "--text, --categories"
        reason = why.split(". ")[0].rstrip(".")
        table.add_row("left out", Text(printable(f"{name}: {reason}")), options)
    if len(left) > MOST_LISTED:
        table.add_row("left out", f"{len(left) - MOST_LISTED:,} more (--json lists all)", "")
    console(stderr=True).print(table)


def suspicious_columns(
    plan: Plan, classes: Labels, instead: str = "--truth or --ignore"
) -> list[str]:
    """Warn of feature columns that hold class names, perhaps true labels.

    `instead` : the options to pass such a column to.
    """
    if plan.columns is None:
        return []
    names = {str(one) for one in classes.tolist()}
    # With two classes, any column of 0 and 1 would do.
    numbers = plan.columns.numbers if len(names) > 2 else []
    found = []
    for column in [*plan.columns.categories, *numbers]:
        values = set(label_texts(plan.columns.values.get(column, []))) - {None}
        # Small counts look like some of the classes 0 to 9, but hardly like all of them.
        many = column in plan.columns.categories and len(values) > max(1, len(names) / 2)
        if values == names or (many and values <= names):
            found.append(
                f"The column {column!r} holds class names, and is used as a feature. If it holds "
                f"true or other labels, pass it to {instead}."
            )
    return found


WIDEST = 9
"""Width of an interval such as 0.12-0.34."""

MOST_IN_MATRIX, MOST_IN_LIST = 5, 20
"""Classes whose matrix fits into 80 columns, and lines of the table by class, least accurate first.
"""

LONGEST_ROW_NAME = 20
"""Characters of a name before its row of the matrix."""

NUMBERS_WIDTH = 58
"""What a line of the table by class takes without its two names."""


def confusion_table(found: ConfusionEstimate, level: float, width: int) -> Table:
    """Return the matrix, or one line per class if there are many of them."""
    if len(found.classes) <= MOST_IN_MATRIX:
        return _matrix_table(found, level)
    return _class_table(found, level, width)


def _names_of(found: ConfusionEstimate, longest: int) -> list[str]:
    """Return the classes as text that is safe to print, shortened but different."""
    return short_names([printable(str(one)) for one in found.classes.tolist()], longest)


def _matrix_table(found: ConfusionEstimate, level: float) -> Table:
    """Return the matrix, with the interval below each entry."""
    low, high = found.interval(level)
    table = Table(
        title="How true classes (rows) are labelled (columns)",
        caption=f"Below each share: its {100 * level:g} % interval.",
        show_lines=True,
    )
    table.add_column("true", no_wrap=True)
    for name in _names_of(found, WIDEST):
        table.add_column(Text(name), justify="right", no_wrap=True)
    for t, name in enumerate(_names_of(found, LONGEST_ROW_NAME)):
        cells = [
            Text(
                f"{found.matrix[t, k]:.2f}\n{_interval(low, high, t, k)}",
                style="bold" if t == k else "" if found.matrix[t, k] >= 0.05 else "dim",
            )
            for k in range(len(found.classes))
        ]
        table.add_row(Text(name), *cells)
    return table


def _class_table(found: ConfusionEstimate, level: float, width: int) -> Table:
    """Return one line per class: its accuracy and its most frequent wrong label.

    Names are shortened to the `width` of the terminal; numbers never are.
    """
    low, high = found.interval(level)
    names, right = _names_of(found, max(5, (width - NUMBERS_WIDTH) // 2)), np.diag(found.matrix)
    order = np.argsort(right, kind="stable")[:MOST_IN_LIST]
    left = len(names) - len(order)
    more = f" {left} classes that are right more often are not shown." if left else ""
    table = Table(
        title="How true classes are labelled",
        caption=f"{100 * level:g} % intervals.{more} -o C.csv writes the whole matrix.",
    )
    for title in ("true", "right", "interval", "main error", "share", "interval", "rows"):
        name = title in ("true", "main error")
        least = None if name else WIDEST if title == "interval" else len(title)
        table.add_column(title, justify="left" if name else "right", no_wrap=True, min_width=least)
    for t in order.tolist():
        k = int(np.argmax(np.where(np.arange(len(names)) == t, -1.0, found.matrix[t])))
        table.add_row(
            Text(names[t]),
            f"{right[t]:.2f}",
            _interval(low, high, t, t),
            Text(names[k] if found.matrix[t, k] > 0 else "none seen"),
            f"{found.matrix[t, k]:.2f}",
            _interval(low, high, t, k),
            f"{found.counts[t].sum():,.0f}",
        )
    return table


def _interval(low: FloatArray, high: FloatArray, true: int, label: int) -> str:
    return f"{low[true, label]:.2f}-{high[true, label]:.2f}"
