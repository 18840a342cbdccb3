"""How many labels are probably wrong, in a sentence: `make_headline`."""

from __future__ import annotations

import numpy as np

from unconfused._report.analysis.case import Case
from unconfused._report.analysis.confusion_source import ConfusionSource
from unconfused._report.analysis.judge import Judgement
from unconfused._report.data import Headline
from unconfused._report.words import about, class_names, count, percent, shorten

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
