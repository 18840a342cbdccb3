"""How many labels are wrong, which, and how that is known: `NoiseSummary`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv

from unconfused._report.words import percent
from unconfused._typing import FloatArray, Labels
from unconfused.cli.input.label_columns import present_labels
from unconfused.cli.input.task import Kind, Task

HARDLY_SO_MANY = 0.5
"""Share of wrong labels from which an estimate without trusted rows is not credible."""


@dataclass(frozen=True)
class NoiseSummary:
    """The share of wrong labels, and the most frequent confusion."""

    wrong_share: float
    true: Any
    label: Any
    pair_share: float
    """Share of all labels that are this confusion."""

    kind: Kind
    source: str

    def sentence(self) -> str:
        """Return a one-line summary."""
        what = "answers" if self.kind == "votes" else "labels"
        if self.kind == "assumed":
            return "Every label was assumed to be correct."
        if self.wrong_share == 0:
            return f"None of the {what} seems wrong."
        likely = "may be wrong" if self.kind == "nothing" else "are probably wrong"
        return (
            f"About {percent(self.wrong_share)} of the {what} {likely}; most often "
            f"{self.true} is called {self.label} ({percent(self.pair_share)} of all {what})."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return asdict(self) | {"sentence": self.sentence()}


def summarize_noise(
    task: Task, matrix: FloatArray, prior: FloatArray, classes: Labels, source: str
) -> NoiseSummary:
    """Compute the summary from a matrix and the class shares."""
    joint = np.asarray(prior)[:, np.newaxis] * matrix
    joint = joint / joint.sum()
    wrong = np.where(np.eye(len(joint), dtype=bool), 0.0, joint)
    true, label = divmod(int(np.argmax(wrong)), len(joint))
    names = classes.tolist()
    share = float(wrong.sum())
    return NoiseSummary(
        share if share > 1e-12 else 0.0,
        names[true],
        names[label],
        float(wrong[true, label]),
        task.kind,
        source,
    )


def doubts(verdict: NoiseSummary) -> list[str]:
    """Return a note if an estimate without trusted rows is not credible."""
    if verdict.kind != "nothing" or verdict.wrong_share < HARDLY_SO_MANY:
        return []
    return [
        "An estimate this high usually means that the features say little about the classes (is "
        "there a text column to pass to --text?), not that the labels are this bad."
    ]


def source_words(task: Task, where: str) -> str:
    """Say what the summary is based on; `where` is the file or column."""
    if task.kind == "given":
        return f"Based on the confusion matrix in {where}, taken as exact."
    if task.kind == "trusted":
        return f"Based on the trusted rows ({where}): {_checked(task)}."
    if task.kind == "votes":
        gold = f" {task.n_trusted:,} rows are trusted." if task.n_trusted else ""
        return (
            f"Based on the agreement of {task.y.n_annotators:,} annotators in {len(task.y):,} "
            f"answers on {len(task.place):,} rows; mistakes they share cannot be detected.{gold}"
        )
    if task.kind == "assumed":
        return "The labels were not examined (--trust-labels)."
    return (
        "This is an estimate from features and labels alone. It is unreliable where classes "
        "overlap or mistakes depend on the features. A few dozen trusted rows per class (--truth) "
        "would give a better one."
    )


def where_of(known: Any) -> str:
    """Name the file or column with what is known about the noise."""
    return str(known.confusion) if known.confusion else f"column {known.truth!r}"


def _checked(task: Task) -> str:
    """Return how many labels of trusted rows are wrong, with an interval for all rows."""
    assert task.y_true is not None
    both = present_labels(task.y_true) & present_labels(np.asarray(task.y))
    wrong, total = int(np.sum(np.asarray(task.y)[both] != task.y_true[both])), int(both.sum())
    low, high = betaincinv(wrong + 0.5, total - wrong + 0.5, [0.025, 0.975])
    return (
        f"{wrong:,} of {total:,} labels are wrong there, which is {100 * low:.0f} to "
        f"{100 * high:.0f} % of all (95 % interval) if these rows are representative"
    )
