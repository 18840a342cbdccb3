"""The answer in a sentence: how many labels are wrong, which, and how we know."""

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
"""Share of wrong labels that a guess without any truth should not be believed in."""


@dataclass(frozen=True)
class NoiseSummary:
    """Numbers for scripts, sentences for people."""

    wrong_share: float
    true: Any
    label: Any
    pair_share: float
    """Share of all labels that are this confusion."""

    kind: Kind
    source: str

    def sentence(self) -> str:
        """Say it in a line."""
        what = "answers" if self.kind == "votes" else "labels"
        if self.kind == "assumed":
            return "Every label was taken as right."
        if self.wrong_share == 0:
            return f"None of the {what} seems to be wrong."
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
    """Read the verdict off a matrix and the shares of the classes."""
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
    """Say when a guess cannot be right."""
    if verdict.kind != "nothing" or verdict.wrong_share < HARDLY_SO_MANY:
        return []
    return [
        "A guess this high as a rule means that the columns tell little about the classes (is "
        "there text to be named with --text?), not that the labels are this bad."
    ]


def source_words(task: Task, where: str) -> str:
    """Say where the number comes from; `where` names the file or column that told it."""
    if task.kind == "given":
        return f"This follows from the confusion matrix in {where}, taken as exact."
    if task.kind == "trusted":
        return f"This follows from the rows with a known truth ({where}): {_checked(task)}."
    if task.kind == "votes":
        gold = f" {task.n_trusted:,} rows have a known truth." if task.n_trusted else ""
        return (
            f"This follows from how {task.y.n_annotators:,} annotators agree in {len(task.y):,} "
            f"answers on {len(task.place):,} rows; mistakes they share cannot be seen.{gold}"
        )
    if task.kind == "assumed":
        return "Nothing was asked of the labels (--trust-labels)."
    return (
        "This is a guess from the features and the labels alone. No truth was seen: where classes "
        "overlap, or mistakes follow the features, it misleads. The truth of a few dozen rows of "
        "every class (--truth) would tell more."
    )


def where_of(known: Any) -> str:
    """Name the file or column that tells of the noise."""
    return str(known.confusion) if known.confusion else f"column {known.truth!r}"


def _checked(task: Task) -> str:
    """Say how many labels are wrong where the truth is known, and how much that tells."""
    assert task.y_true is not None
    both = present_labels(task.y_true) & present_labels(np.asarray(task.y))
    wrong, total = int(np.sum(np.asarray(task.y)[both] != task.y_true[both])), int(both.sum())
    low, high = betaincinv(wrong + 0.5, total - wrong + 0.5, [0.025, 0.975])
    return (
        f"{wrong:,} of {total:,} labels are wrong there; if these rows are like the others, that "
        f"is {100 * low:.0f} to {100 * high:.0f} % of all (95 % interval)"
    )
