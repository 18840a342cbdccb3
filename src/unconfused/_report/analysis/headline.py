"""How many labels are probably wrong, and how good the model is, in a few sentences."""

from __future__ import annotations

from unconfused._report.analysis.accuracy import accuracy_words
from unconfused._report.analysis.case import Case
from unconfused._report.analysis.confusion_source import ConfusionSource
from unconfused._report.analysis.judge import Judgement
from unconfused._report.data import CheckedAccuracy, Headline
from unconfused._text.words import about, class_names, count, percent
from unconfused._text.wrong_labels import SOURCES
from unconfused.confusion.votes import Votes


def make_headline(
    case: Case, source: ConfusionSource, judged: Judgement, accuracy: CheckedAccuracy | None
) -> Headline:
    """Say how many labels are probably wrong, which, how we know, and how good the model is."""
    what = "answers" if case.votes is not None else "labels"
    found = source.wrong
    claim = found.claim(class_names(case.classes), what)
    detail = [source_words(case, source)]
    if source.kind != "assumed":
        if case.votes is not None:
            detail.append(_most_frequent(case, judged))
        else:
            n_labels = int(case.labelled.sum())
            detail[0] = (
                f"That is about {about(found.share * n_labels)} of {n_labels:,} labels. {detail[0]}"
            )
        detail.append("These are estimates: check a row before you change its label.")
    certain = source.kind not in ("guessed", "assumed")
    return Headline(found.number, claim, detail, certain, accuracy_words(accuracy))


def source_words(case: Case, source: ConfusionSource) -> str:
    """Say what the share of wrong labels is based on."""
    where = {
        "given": "the confusion matrix given with the model",
        "estimated": "the confusion matrix given with the model",
        "trusted": _checked(case),
        "votes": "" if case.votes is None else crowd_words(case.votes),
    }
    return SOURCES[source.kind].format(where=where.get(source.kind, ""), option="")


def crowd_words(votes: Votes) -> str:
    """Say how many annotators gave how many answers."""
    return f"{count(votes.n_annotators, 'annotator')} in {count(len(votes), 'answer')}"


def _checked(case: Case) -> str:
    both = case.trusted & case.labelled
    wrong = int((case.truth[both] != case.observed[both]).sum())
    return f"{count(both.sum(), 'checked row')}, of which {wrong:,} carry a wrong label"


def _most_frequent(case: Case, judged: Judgement) -> str:
    """Say how many of the most frequent answers are wrong, and how many of them tie."""
    said = (
        f"The most frequent answer is wrong on at least about {percent(judged.wrong_share)} of the "
        f"{int(case.labelled.sum()):,} rows, and on more if annotators share mistakes."
    )
    return f"{said} {case.ties_in_words}".strip()
