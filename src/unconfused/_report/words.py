"""Numbers and verdicts in words."""

from __future__ import annotations

import math

import numpy as np

from unconfused._report.analysis.case import Case
from unconfused._report.analysis.confusion_source import ConfusionSource
from unconfused._report.analysis.judge import Judgement
from unconfused._report.data import Headline
from unconfused._typing import Labels

LONGEST_NAME = 60
"""Characters of a label or a row's name that are shown."""


def percent(share: float) -> str:
    """Write a share with as many digits as it deserves.

    Examples
    --------
    >>> percent(0.2347), percent(0.0123), percent(0.00004), percent(0.0)
    ('23 %', '1.2 %', '< 0.1 %', '0 %')
    """
    if not math.isfinite(share):
        return "unknown"
    if share == 0:
        return "0 %"
    if share < 0.001:
        return "< 0.1 %"
    # Just below 1 is not 1: that would say there is no doubt.
    if 0.995 <= share < 1:
        return "> 99.9 %" if share > 0.999 else f"{100 * share:.1f} %"
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"


def about(number: float) -> str:
    """Write an estimated number with the digits it deserves.

    Examples
    --------
    >>> about(22031.4), about(157.2), about(0.2)
    ('22,000', '157', '0')
    """
    digits = max(0, len(str(round(number))) - 3)
    return f"{round(number, -digits):,.0f}"


def points(change: float) -> str:
    """Write a change of a share in percentage points, with its sign.

    Examples
    --------
    >>> points(0.012), points(-0.012), points(0.0)
    ('+1.2', '−1.2', '0.0')
    """
    written = f"{100 * change:+.1f}"
    return "0.0" if written[1:] == "0.0" else written.replace("-", "−")


def shorten(text: str, longest: int = LONGEST_NAME) -> str:
    """Cut a text that is too long to show, and say so."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def class_names(classes: Labels) -> list[str]:
    """Write classes as text; whole numbers that a missing value turned into floats as such.

    Examples
    --------
    >>> class_names(np.array([0.0, 1.0])), class_names(np.array(["a", "b"]))
    (['0', '1'], ['a', 'b'])
    """
    if classes.dtype.kind == "f" and np.all(classes % 1 == 0):
        classes = classes.astype(np.int64)
    return [str(name) for name in classes.tolist()]


def count(number: float, noun: str) -> str:
    """Write a number with its noun: "1 row", "2,000 rows"."""
    whole = round(number)
    return f"{whole:,} {noun}" if whole == 1 else f"{whole:,} {noun}s"


SOURCES = {
    "given": "The number follows from the confusion matrix you gave, taken as exact, and from a "
    "model of the features.",
    "estimated": "The number follows from the estimated confusion matrix you gave, and from a "
    "model of the features.",
    "trusted": "The number follows from how the rows with a known truth were labelled, and from a "
    "model of the features.",
    "votes": "The number follows from how the annotators agree with one another and with a model "
    "of the features. Mistakes that many of them share cannot be seen this way.",
    "fitted": "The number follows from the confusion matrix the fit found, and from a model of the "
    "features.",
    "guessed": "Nothing is known here beyond the labels, and the model was fitted as if all of "
    "them were right. The number is a guess from rows that look like another class: where classes "
    "overlap, or where mistakes follow the features, it misleads. A few dozen checked rows of "
    "every class would tell more.",
    "assumed": "Nothing is known here beyond the labels, so all of them were taken as right. Pass "
    "a confusion matrix, or the truth of some rows, to learn which are wrong.",
}


def make_headline(case: Case, source: ConfusionSource, judged: Judgement) -> Headline:
    """Say how many labels are probably wrong, which, and how we know."""
    share, pairs = judged.wrong_share, judged.pairs.copy()
    np.fill_diagonal(pairs, 0.0)
    what = "most frequent answers" if case.votes is not None else "labels"
    if source.kind == "assumed":
        return Headline(
            "?", f"of the {what} are wrong: nothing here can tell", [SOURCES["assumed"]], False
        )
    certain = source.kind != "guessed"
    likely = "are probably wrong" if certain else "may be wrong"
    sentence = f"of the {what} {likely}"
    true, label = divmod(int(np.argmax(pairs)), len(pairs))
    if pairs[true, label] >= 0.5:
        sentence += f"; most often {_name(case, true)} → {_name(case, label)}"
    n_labels = int(case.labelled.sum())
    detail = [f"About {about(judged.wrong.sum())} of {n_labels:,} {what}. " + SOURCES[source.kind]]
    if case.trusted.any():
        detail.append(_checked(case))
    detail.append("These are probabilities: no row counts as wrong until someone has looked.")
    return Headline(percent(share), sentence, detail, certain)


def _checked(case: Case) -> str:
    both = case.trusted & case.labelled
    wrong = int((case.truth[both] != case.observed[both]).sum())
    if not both.any():
        return f"The truth of {count(case.trusted.sum(), 'row')} is known."
    return (
        f"Where the truth is known, {wrong:,} of {int(both.sum()):,} labels are wrong "
        f"({percent(wrong / both.sum())})."
    )


def _name(case: Case, code: int) -> str:
    return shorten(class_names(case.classes)[code], 30)
