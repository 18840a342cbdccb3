"""How many labels are wrong, which, and how that is known: `NoiseSummary`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unconfused._text.words import class_names, count
from unconfused._text.wrong_labels import SOURCES, Basis, WrongLabels, wrong_labels
from unconfused._typing import Labels
from unconfused.cli.input.label_columns import present_labels
from unconfused.cli.input.task import Kind, Task

HARDLY_SO_MANY = 0.5
"""Share of wrong labels from which an estimate without trusted rows is not credible."""

BASES: dict[Kind, Basis] = {
    "given": "given",
    "trusted": "trusted",
    "votes": "votes",
    "nothing": "guessed",
    "assumed": "assumed",
}


@dataclass(frozen=True)
class NoiseSummary:
    """The share of wrong labels, and the most frequent mix-up, in words."""

    found: WrongLabels
    classes: Labels
    """What the mix-up's places refer to."""

    kind: Kind
    source: str

    @property
    def wrong_share(self) -> float:
        """Share of wrong labels; 0 if all were taken as right."""
        return 0.0 if self.found.basis == "assumed" else self.found.share

    def sentence(self) -> str:
        """Return a one-line summary."""
        if self.found.basis == "assumed" and self.kind == "given":
            return "Some labels are not classes, so how many are wrong is not counted."
        what = "answers" if self.kind == "votes" else "labels"
        return self.found.sentence(class_names(self.classes), what)

    def as_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        names, pair = self.classes.tolist(), self.found.pair
        known = self.found.basis != "assumed"
        return {
            "wrong_share": self.wrong_share,
            "low": self.found.low if known else None,
            "high": self.found.high if known else None,
            "true": None if pair is None else names[pair[0]],
            "label": None if pair is None else names[pair[1]],
            "pair_share": self.found.pair_share,
            "kind": self.kind,
            "source": self.source,
            "sentence": self.sentence(),
        }


def not_examined(classes: Labels) -> NoiseSummary:
    """Return the summary of labels that were taken as right."""
    source = SOURCES["assumed"].format(option=" (--trust-labels)")
    return _nothing_counted(classes, "assumed", source)


def not_counted(task: Task, known: Any, classes: Labels) -> NoiseSummary:
    """Return the summary of labels that are not classes."""
    return _nothing_counted(classes, "given", source_words(task, known))


def _nothing_counted(classes: Labels, kind: Kind, source: str) -> NoiseSummary:
    nothing = wrong_labels(np.zeros((len(classes), len(classes))), "assumed")
    return NoiseSummary(nothing, classes, kind, source)


def doubts(verdict: NoiseSummary) -> list[str]:
    """Return a note if an estimate without trusted rows is not credible."""
    if verdict.kind != "nothing" or verdict.wrong_share < HARDLY_SO_MANY:
        return []
    return [
        "An estimate this high usually means that the features say little about the classes (is "
        "there a text column to pass to --text?), not that the labels are this bad."
    ]


def source_words(task: Task, known: Any) -> str:
    """Say what the summary is based on, in terms of files and options."""
    where = ""
    if task.kind == "given":
        where = f"the confusion matrix in {known.confusion}"
    elif task.kind == "trusted" and task.checked is not None:
        return _of_verdicts(task, str(known.verdicts))
    elif task.kind == "trusted":
        where = f"{_checked(task, task.y_true)} (column {known.truth!r})"
    elif task.kind == "votes":
        where = f"{count(task.y.n_annotators, 'annotator')} in {count(len(task.y), 'answer')} on "
        where += count(len(task.place), "row")
    return SOURCES[BASES[task.kind]].format(where=where, option=" (--truth)")


def _of_verdicts(task: Task, where: str) -> str:
    """Say on which verdicts the summary is based: those on rows drawn by chance."""
    checked = task.verdicts()
    n_known, n_drawn = int(checked.known.sum()), int(checked.representative.sum())
    if not n_drawn:
        return (
            f"None of the {n_known:,} verdicts ({where}) is on a row drawn at random, so this is "
            "an estimate from features and labels alone. Check some rows with `unconfused review`."
        )
    found = f"{_checked(task, checked.y_random)}, drawn at random ({where})"
    others = f" The other {n_known - n_drawn:,} verdicts are learnt from, and not counted."
    return f"Based on {found}.{others if n_known > n_drawn else ''}"


def _checked(task: Task, truth: Labels | None) -> str:
    """Return how many labels of trusted rows are wrong."""
    assert truth is not None
    both = present_labels(truth) & present_labels(np.asarray(task.y))
    wrong = int(np.sum(np.asarray(task.y)[both] != truth[both]))
    return f"{count(both.sum(), 'checked row')}, of which {wrong:,} carry a wrong label"
