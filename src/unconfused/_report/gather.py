"""From a fitted model and its rows to the numbers of a report."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from unconfused._arguments import random_state as rng_of
from unconfused._matrix import ConfusionWarning
from unconfused._matrix_labels import differs_from, is_guess, is_rectangular
from unconfused._pipelines import final_step
from unconfused._report.accuracy import checked_accuracy
from unconfused._report.case import open_case
from unconfused._report.checks import measure_sensitivity, reliability_of
from unconfused._report.data import Headline, ReportData
from unconfused._report.fit import code_of, convergence_of, versions
from unconfused._report.judge import Judgement, judge_rows
from unconfused._report.source import ConfusionSource, find_source
from unconfused._report.tables import (
    RowListing,
    annotators_of,
    confusion_of,
    listing_of,
    mix_of,
    rows_of,
)
from unconfused._text import about, class_names, percent, shorten
from unconfused._text.checked_accuracy import CheckedAccuracy, accuracy_words
from unconfused._typing import ArrayLike, Seed
from unconfused.confusion.estimation.balance import HELD_BY_COUNTS
from unconfused.estimators._card import passed_confusion

MISFIT_ERRORS, MISFIT_SHARE = 6.0, 0.25
"""A label that occurs this many standard errors, and by this share, more or less than expected."""


def gather(
    model: Any,
    X: Any,
    y: Any,
    *,
    y_true: ArrayLike | None = None,
    listing: RowListing | None = None,
    title: str | None = None,
    sensitivity: bool = True,
    random_state: Seed = None,
    accuracy: CheckedAccuracy | Literal["measure"] | None = "measure",
    source: ConfusionSource | None = None,
) -> ReportData:
    """Compute all that a report shows; the parameters are those of `write_report`.

    `accuracy` is that of the model on checked rows, and `source` where C comes from, if they were
    found before.
    """
    listing = listing or listing_of(X, None, None, RowListing.max_rows)
    if is_rectangular(getattr(final_step(model)[0], "confusion", None)):
        raise ValueError(
            "A report says which labels are wrong, but labels that are no classes are neither "
            "right nor wrong. Use label_posterior."
        )
    case = open_case(model, X, y, y_true)
    seed = _seed(random_state)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        source = find_source(case, seed) if source is None else source
        judged = judge_rows(case, source, seed)
        moved = measure_sensitivity(source, judged, seed) if sensitivity else None
    if accuracy == "measure":
        accuracy = checked_accuracy(case, seed)
    return ReportData(
        title=title or "Are these labels right?",
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        model=type(case.final).__name__,
        n_rows=len(case.observed),
        n_features=int(getattr(case.final, "n_features_in_", 1)),  # texts are one column
        n_labels=int(case.labelled.sum()),
        n_trusted=int(case.trusted.sum()),
        n_wrong=_n_wrong(source, judged),
        classes=[shorten(name) for name in class_names(case.classes)],
        class_values=[str(name) for name in case.classes.tolist()],
        verdict=_headline(source, judged, accuracy),
        accuracy=accuracy,
        confusion=confusion_of(source, case),
        mix=mix_of(judged),
        rows=rows_of(judged, listing),
        rows_words=_rows_words(judged, source),
        are_probabilities=judged.believed is None,
        n_ranked=int((case.labelled & ~case.trusted).sum()),
        convergence=convergence_of(case.final),
        reliability=reliability_of(source, judged, seed),
        sensitivity=moved,
        annotators=annotators_of(case),
        versions=versions(),
        code=code_of(case, seed),
        notes=_notes(caught, judged, source),
    )


def _n_wrong(source: ConfusionSource, judged: Judgement) -> float:
    """Return how many labels are expected to be wrong; of votes, how many most frequent ones."""
    if judged.case.votes is not None:
        return float(judged.wrong.sum())
    return 0.0 if source.kind == "assumed" else source.wrong.share * int(judged.case.labelled.sum())


def _seed(random_state: Seed) -> int:
    """Return a seed that reproduces the report, also if the user passed none."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(rng_of(random_state).randint(2**31 - 1))


def _headline(
    source: ConfusionSource, judged: Judgement, accuracy: CheckedAccuracy | None
) -> Headline:
    """Say how many labels are probably wrong, which, how we know, and how good the model is."""
    case, found, n_labels = judged.case, source.wrong, int(judged.case.labelled.sum())
    claim = found.claim(class_names(case.classes), "labels" if case.votes is None else "answers")
    detail = [source.basis]
    if source.kind != "assumed":
        if case.votes is not None:
            frequent = (
                f"The most frequent answer is wrong on at least about {percent(judged.wrong_share)}"
                f" of the {n_labels:,} rows, and on more if annotators share mistakes."
            )
            detail.append(f"{frequent} {case.ties_in_words}".strip())
        else:
            wrong = f"About {about(found.share * n_labels)} of {n_labels:,} labels"
            detail[0] = f"{wrong} are expected to be wrong. {detail[0]}"
        detail.append("These are estimates: check a row before you change its label.")
    certain = source.kind not in ("guessed", "assumed")
    return Headline(found.number, claim, detail, certain, accuracy_words(accuracy))


def _rows_words(judged: Judgement, source: ConfusionSource) -> str:
    case = judged.case
    if source.kind == "assumed":
        return "Rows cannot be ranked without a confusion matrix."
    how = "the probability that their label is wrong, given the features and the label"
    if judged.believed is not None:
        how = "self-confidence, 1 minus the probability of their label given the features"
    elif case.is_uma:
        how = "a logistic regression through the same matrix, as UMA has no probabilities"
    words = f"Rows are ranked by {how}; each row is scored by a model fitted without it."
    if case.votes is not None:
        words += " The label of a row is its most frequent answer."
    if judged.believed is None and abs(judged.power - 1.0) > 0.05:
        words += f" Probabilities were made {'sharper' if judged.power > 1 else 'less sharp'} "
        words += f"(raised to the power {judged.power:.2g}), as that predicts held-out labels best."
    return words


def _notes(
    caught: list[warnings.WarningMessage],
    judged: Judgement,
    source: ConfusionSource,
) -> list[str]:
    """Return the warnings of the computations, each once."""
    notes = []
    kinds = [one.category for one in caught]
    if any(issubclass(kind, ConvergenceWarning) for kind in kinds):
        notes.append(
            "Some of the models fitted for this report did not converge: their probabilities are "
            "approximate. Scale the features, or raise max_iter."
        )
    notes += sorted({str(one.message) for one in caught if one.category is ConfusionWarning})
    if judged.believed is not None:
        notes.append(
            "The guessed matrix does not predict held-out labels better than taking the labels as "
            "right. Rows are therefore ranked by self-confidence: their order is meaningful, the "
            "numbers are not probabilities."
        )
    return [*notes, *_misfits(judged, source), *_mistakes_by_row(judged, source)]


def _mistakes_by_row(judged: Judgement, source: ConfusionSource) -> list[str]:
    """Warn if features and labels imply another matrix than the one given."""
    final, pairs = judged.case.final, judged.pairs
    if getattr(final, "noise_depends_on_rows_", False):
        return [HELD_BY_COUNTS]  # by rounds, which is all that could be advised
    counted = None if source.counts is None else source.counts.sum(axis=1)
    if (
        source.kind not in ("given", "estimated")
        or is_guess(passed_confusion(final))
        or judged.case.is_wrapper  # it has no way to hold to the matrix by counts
        # Where labels count for little beside known truths, no round would hold to the matrix.
        or getattr(final, "noisy_weight_", 1.0) < 1.0
        or not differs_from(pairs, source.judging, counted)
    ):
        return []
    told = pairs.sum(axis=1) @ (1.0 - np.diag(source.judging)) / pairs.sum()
    return [
        f"By the matrix {percent(told)} of the labels are wrong, but judged by features and labels "
        f"{percent(judged.wrong_share)} are. Mistakes probably depend on more than the class of a "
        "row (hard rows are mislabelled more often), and a model through the matrix learns such "
        "mistakes. Fit with relabel=4, which then uses the matrix only for the number of rows of "
        "each class and label. Another possible reason is that the matrix is that of other labels."
    ]


def _misfits(judged: Judgement, source: ConfusionSource) -> list[str]:
    """Compare the frequency of each label with that expected from model and matrix."""
    case = judged.case
    if case.votes is not None or source.kind == "assumed":
        return []
    noisy = case.labelled & ~case.trusted
    seen = np.bincount(case.observed[noisy], minlength=case.n_classes)
    expected = judged.probability[noisy].sum(axis=0) @ source.judging
    # Far beyond chance, and large enough to matter.
    far = np.abs(seen - expected) > np.maximum(
        MISFIT_ERRORS * np.sqrt(expected + 1.0), MISFIT_SHARE * np.maximum(seen, expected)
    )
    if not far.any():
        return []
    worst = int(np.argmax(np.where(far, np.abs(seen - expected), -1.0)))
    name = shorten(class_names(case.classes)[worst])
    return [
        f"Labels and matrix do not fit each other: {seen[worst]:,} rows have the label {name!r}, "
        f"but about {about(expected[worst])} would be expected. The matrix may be wrong or "
        "transposed, or the fit may have lost a class. Do not rely on the numbers below until this "
        "is explained."
    ]
