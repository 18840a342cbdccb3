"""Content of a report as numbers and words, without HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unconfused._text.checked_accuracy import CheckedAccuracy
from unconfused._typing import FloatArray, IntArray
from unconfused.metrics._reliability import ReliabilityCurve


@dataclass(frozen=True)
class Headline:
    """The answer in one line, and what it rests on.

    `number` is the share of wrong labels, written out, such as "23 %", and `sentence` what it is a
    share of; `detail` says where it comes from and what it cannot know; it is not `certain` without
    any truth behind it. `model` says how often the model is right.
    """

    number: str
    sentence: str
    detail: list[str]
    certain: bool
    model: str = ""


@dataclass(frozen=True)
class MixUp:
    """Rows of one class with the label of another: how many to expect, and the entry of C."""

    true: int
    label: int
    chance: float
    low: float | None
    high: float | None
    rows: float


@dataclass(frozen=True)
class Confusion:
    """C for the classes shown, with intervals where it was counted.

    `shown` are places in `ReportData.classes`, `rows` how many rows (or answers: the `unit`) to
    expect in each cell; `source` says where the matrix comes from and whether it is good enough.
    """

    shown: IntArray
    matrix: FloatArray
    low: FloatArray | None
    high: FloatArray | None
    rows: FloatArray
    mix_ups: list[MixUp]
    source: str
    unit: str = "row"


@dataclass(frozen=True)
class ClassShare:
    """One class before and after."""

    name: int
    labels: float
    estimated: float


@dataclass(frozen=True)
class SuspectRow:
    """A row to check.

    `wrong` is the probability that the label is wrong, `posterior` the likeliest classes with
    theirs; `key` is what a verdict calls the row, `row_hash` of its content (empty if that is not
    known), `cells` are some of its own columns, `votes` say who voted what.
    """

    row: int
    name: str | None
    text: str | None
    label: int
    suggested: int
    wrong: float
    posterior: list[tuple[int, float]]
    key: str
    row_hash: str
    cells: Sequence[tuple[str, str]]
    votes: list[tuple[str, int]]


@dataclass(frozen=True)
class Reliability:
    """Predicted probabilities and observed frequencies, `against` "truth" or "labels".

    `answer` says whether they are calibrated, `gap` by how much the likeliest class is not.
    """

    words: str
    answer: str
    against: str
    curve: ReliabilityCurve
    gap: float


@dataclass(frozen=True)
class Scenario:
    """Another C: the share of rows whose class it changes, and of labels wrong through it."""

    name: str
    changed: float
    wrong: float


@dataclass(frozen=True)
class Sensitivity:
    """The same model, with other matrices in Bayes' rule."""

    words: str
    baseline: float
    scenarios: list[Scenario]


@dataclass(frozen=True)
class Annotator:
    """One annotator and how often they err."""

    name: str
    answers: int
    wrong: float


@dataclass(frozen=True)
class ReportData:
    """All that a report shows.

    `n_wrong` labels are expected to be wrong. `class_values` are the classes as they are written in
    files, not cut. `rows_words` says how the rows were ranked, and `are_probabilities` whether the
    numbers they are ranked by are probabilities. `notes` are warnings of the computations behind
    the report.
    """

    title: str
    created: str
    model: str
    n_rows: int
    n_features: int
    n_labels: int
    n_trusted: int
    n_wrong: float
    classes: list[str]
    class_values: list[str]
    verdict: Headline
    accuracy: CheckedAccuracy | None
    confusion: Confusion
    mix: list[ClassShare]
    rows: list[SuspectRow]
    rows_words: str
    are_probabilities: bool
    n_ranked: int
    convergence: str
    reliability: Reliability | None
    sensitivity: Sensitivity | None
    annotators: list[Annotator]
    versions: list[tuple[str, str]]
    code: str
    notes: list[str]
