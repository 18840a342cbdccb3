"""Everything that had to be decided before the full run.

The rules that choose look at no test label. Who drew up what they choose from had seen test errors
of trials on single runs: which numbers of updates and which labellers are candidates at all, and
that the likelihood learner runs with its defaults, was settled after such trials. So the runs that
count have draws of their own, from `FIRST_DRAW` on, which no trial had.

UMA and the Perceptrons (UMA with the identity in place of C) start at zero, select by error, take
the perceptron step, know no margin, no average and no intercept. They make `TURNS` updates for
every ordered pair of classes: ``python -m experiments updates`` shows how that was chosen. The
width of the Gaussian kernel comes from the median distance between training rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from unconfused import UMAClassifier

TOL = 1e-9
"""A pair's vector must be longer than this; rows have norm 1, so it only stops at rounding."""

FIRST_DRAW = 1000
"""Seeds of the runs that count begin here."""

TURNS = 2
"""Updates for every ordered pair of classes, in every column and on every data set."""

CONF_SHARE = 0.05
"""The part of the training rows whose labels show how the rough classifier errs (S_conf)."""


@dataclass(frozen=True)
class Setting:
    """What the protocol needs to know of a data set.

    Results are kept under what ``repr`` shows: whether there are more runs changes none of them.
    """

    title: str
    n_labelled: int
    """Labelled rows of each class for the rough classifier, the paper's m."""

    n_components: int | None
    """Of the kernel's projection; None for rows as they are."""

    kernel_components: int | None
    """What the semi-supervised machine "without the projection" sees of the kernel."""

    n_train: int | None = None
    """Rows drawn at random for training; None where the data come in two parts."""

    n_test: int | None = None
    """At most so many test rows."""

    n_kernel_runs: int = field(default=10, repr=False)
    """Runs of the semi-supervised SVM without the projection."""

    shares: tuple[float, ...] = (0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2)
    """Sizes of S_conf in Figure 4, as parts of the training rows."""


FULL: dict[str, Setting] = {
    "digits": Setting("Digits", 10, 640, 3823),
    "letter": Setting(
        "Letter",
        50,
        1600,
        2000,
        n_train=15_000,
        n_kernel_runs=5,
        shares=(0.02, 0.03, 0.05, 0.08, 0.12, 0.2),
    ),
    "reuters": Setting("Reuters", 20, None, None),
}
"""As in the paper. Letter without the projection: the kernel seen through 2,000 components."""

QUICK: dict[str, Setting] = {
    "digits": replace(FULL["digits"], kernel_components=1000),
    "letter": replace(
        FULL["letter"],
        n_components=400,
        kernel_components=500,
        n_train=4_000,
        n_test=2_000,
        n_labelled=30,
        shares=(0.05, 0.1, 0.2),
    ),
    "reuters": FULL["reuters"],
}
"""A look in minutes: one run, and a small part of Letter."""


def setting_of(name: str, quick: bool) -> Setting:
    """Return what is decided for a data set."""
    return (QUICK if quick else FULL)[name]


def n_updates(n_classes: int, turns: int = TURNS) -> int:
    """Return the number of updates: so many for each ordered pair of classes."""
    return turns * n_classes * (n_classes - 1)


def plain_uma(confusion: Any, **settings: Any) -> UMAClassifier:
    """Return UMA as in the paper, without whitening."""
    return UMAClassifier(confusion, whiten=False, **settings)
