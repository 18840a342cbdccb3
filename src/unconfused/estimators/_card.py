"""The confusion matrix behind a fitted model, and the card that notebooks show of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused._text.wrong_labels import joint_table, wrong_labels
from unconfused.confusion.estimate import ConfusionEstimate


def with_card(model: Any, diagram: str) -> str:
    """Put the card above the diagram, if the model is fitted and its labels are its classes."""
    if not hasattr(model, "class_prior_") or hasattr(model, "labels_"):
        return diagram
    classes = model.classes_.tolist()
    steps = f"{type(model).__name__}, {len(classes)} classes"
    if hasattr(model, "n_iter_"):
        steps += f", fitted in {model.n_iter_:,} steps"
    details = [steps, "unconfused.write_report shows which rows"]
    if said := _accuracy(model):
        details.insert(0, said)
    else:
        details[-1] += ", and on enough checked rows how often the model is right"
    from unconfused._text.html import confusion_card

    return confusion_card(_headline(model), model.confusion_, classes, details) + diagram


def _accuracy(model: Any) -> str:
    """Say how often the model is right on the checked rows; nothing if no fold held them out."""
    from unconfused._text.checked_accuracy import accuracy_words, measured
    from unconfused.estimators.automatic.held_out import checked_predictions

    found = checked_predictions(model)
    checked = None if found is None else measured(found.predicted, found.truth, found.observed)
    return "" if checked is None else accuracy_words(checked)


def _headline(model: Any) -> tuple[str, str]:
    """Return the share of wrong labels and its source, as in reports and the command line."""
    passed, classes = passed_confusion(model), model.classes_.tolist()
    if isinstance(passed, ConfusionEstimate):
        found = passed.wrong_labels()
        return found.number, found.claim(passed.classes.tolist())
    counts = getattr(model, "_pair_counts", None)
    if passed is None and counts is not None and np.any(counts):
        found = wrong_labels(counts, "trusted")
    elif np.array_equal(model.confusion_, np.eye(len(classes))):
        found = wrong_labels(np.zeros((len(classes), len(classes))), "assumed")
    else:
        votes = hasattr(model, "annotator_confusion_")
        table = joint_table(np.asarray(model.confusion_), model.class_prior_)
        found = wrong_labels(table, "votes" if votes else "fitted")
        if votes:
            return found.number, found.claim(classes, "answers")
    return found.number, found.claim(classes)


def passed_confusion(model: Any) -> Any:
    """Return what a fitted model's matrix comes from: what was passed, or guessed; or None."""
    passed = model.confusion
    if passed is None or isinstance(passed, str):
        return getattr(model, "guessed_confusion_", None)
    return passed
