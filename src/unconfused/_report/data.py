"""What a report says, as plain numbers and words: no HTML, ready for JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Headline:
    """The answer in one line, and what it rests on."""

    number: str
    """The share of wrong labels, written out, such as "23 %"."""

    sentence: str
    """What the number is a share of."""

    detail: list[str]
    """Where the number comes from, and what it cannot know; one sentence or two each."""

    certain: bool
    """False for a guess without any truth behind it."""

    model: str = ""
    """How often the model is right, in words."""


@dataclass(frozen=True)
class CheckedAccuracy:
    """How often the model and the labels are right on checked rows the model has not seen."""

    rows: int
    model: tuple[float, float, float]
    """Share that the model predicts rightly, and its 95 % interval."""

    labels: tuple[float, float, float] | None
    """The same of the labels; None if no checked row has one."""

    gain: float = 0.0
    """By how much the model is right more often than the labels, on rows that have both."""

    gain_error: float = 0.0
    """Its standard error."""


@dataclass(frozen=True)
class MixUp:
    """Rows of one class with the label of another."""

    true: int
    label: int
    rows: float
    """How many to expect among the labels."""

    chance: float
    """The entry of C."""

    low: float | None
    high: float | None


@dataclass(frozen=True)
class Confusion:
    """C for the classes shown, with intervals where it was counted."""

    shown: list[int]
    """Which classes, as places in `ReportData.classes`."""

    matrix: list[list[float]]
    low: list[list[float]] | None
    high: list[list[float]] | None
    rows: list[list[float]]
    """Rows to expect in each cell."""

    mix_ups: list[MixUp]
    source: str
    """Where the matrix comes from, in words."""

    quality: str
    """Whether it is good enough, in words."""

    condition_number: float
    whole: list[list[float]] = field(default_factory=list)
    """The matrix of all classes, where only some are shown."""


@dataclass(frozen=True)
class ClassShare:
    """One class before and after."""

    name: int
    labels: float
    estimated: float


@dataclass(frozen=True)
class SuspectRow:
    """A row to check."""

    row: int
    name: str | None
    text: str | None
    label: int
    suggested: int
    wrong: float
    """Probability that the label is wrong."""

    posterior: list[tuple[int, float]]
    """The likeliest classes with their probabilities."""

    key: str = ""
    """What a verdict calls the row."""

    row_hash: str = ""
    """Of the row's content; empty if it is not known."""

    cells: list[tuple[str, str]] = field(default_factory=list)
    """Some of the row's own columns."""

    votes: list[tuple[str, int]] = field(default_factory=list)
    """Who voted what, if several annotators did."""


@dataclass(frozen=True)
class PairUse:
    """A pair of classes that UMA chose: predicted one, truly the other."""

    predicted: int
    true: int
    updates: list[int]


@dataclass(frozen=True)
class Convergence:
    """Convergence of the fit."""

    kind: str
    """ "uma", "likelihood" or "rounds"."""

    words: str
    steps: list[int]
    values: list[float]
    noise: list[float] = field(default_factory=list)
    pairs: list[PairUse] = field(default_factory=list)
    weights: list[tuple[float, float]] = field(default_factory=list)
    """Weights of noisy rows that were tried, with the held-out log-loss."""

    n_steps: int = 0


@dataclass(frozen=True)
class Reliability:
    """Predicted chances beside how often it came so."""

    words: str
    answer: str
    """Whether they can be believed."""

    against: str
    """ "truth" or "labels"."""

    predicted: list[float]
    observed: list[float]
    low: list[float]
    high: list[float]
    count: list[int]
    gap: float


@dataclass(frozen=True)
class Scenario:
    """What would change under another C."""

    name: str
    changed: float
    """Share of the rows predicted otherwise."""

    wrong: float
    """Share of wrong labels then."""


@dataclass(frozen=True)
class Sensitivity:
    """The same fit under other matrices."""

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
    """All that a report shows."""

    title: str
    created: str
    model: str
    n_rows: int
    n_features: int
    n_labels: int
    n_trusted: int
    n_wrong: float
    """Labels expected to be wrong."""

    classes: list[str]
    class_values: list[str]
    """The classes as they are written in files, not cut."""

    verdict: Headline
    accuracy: CheckedAccuracy | None
    confusion: Confusion
    mix: list[ClassShare]
    rows: list[SuspectRow]
    rows_words: str
    """How the rows were ranked."""

    n_ranked: int
    convergence: Convergence
    reliability: Reliability | None
    sensitivity: Sensitivity | None
    annotators: list[Annotator]
    settings: list[tuple[str, str]]
    versions: list[tuple[str, str]]
    code: str
    notes: list[str]
    """Warnings of the computations behind the report."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as what `json.dumps` takes."""
        return asdict(self)
