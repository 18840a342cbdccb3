"""The part of the page on what the paper names and leaves to others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from experiments.paper import kernel_forms, monotonic
from experiments.paper.claims import sign
from experiments.paper.experiment import cell, shown
from experiments.paper.figure_words import TITLES, listed

Table = Callable[[list[str], list[list[str]]], str]


def beyond(found: dict[str, Any], table: Table) -> list[str]:
    """Return the sections for which there are results."""
    sections = {
        "monotonic": _monotonic,
        "confusion_risk": _confusion_risk,
        "kernel_forms": _kernel_forms,
    }
    made = [make(found[name], table) for name, make in sections.items() if name in found]
    return ["## Beyond the paper\n", *made] if made else []


def _monotonic(one: dict[str, Any], table: Table) -> str:
    rows = [
        [
            kind,
            title,
            *(cell(by_name[name][which]) for which in monotonic.KINDS),
            shown(by_name[name]["difference"]),
        ]
        for kind, by_name in one["errors"].items()
        for name, title in monotonic.LEARNERS.items()
    ]
    n_runs = next(iter(one["errors"].values()))["uma"]["uniform"]["n_runs"]
    harmed = [
        kind for kind, by_name in one["errors"].items() if sign(by_name["uma"]["difference"]) > 0
    ]
    verdict = (
        f"Under {listed(harmed)}, mistakes near the boundary cost UMA more than as many random "
        "ones: the matrix alone is not enough."
        if harmed
        else "Mistakes near the boundary cost UMA no more than as many random ones."
    )
    return (
        "### Monotonic noise\n\nMistakes with the same confusion matrix, either independent of the "
        "row or more frequent near the boundary between two classes (`noise.boundary`); Digits "
        f"without a kernel, test error, {n_runs} run{'s' * (n_runs > 1)}. Logistic regression on "
        f"clean labels: {cell(one['clean'])}.\n\n"
        + table(["noise", "learner", *monotonic.KINDS.values(), "difference"], rows)
        + f"\n{verdict} The theorem says that learning from such noise is possible, not that UMA "
        "does it.\n"
    )


def _confusion_risk(one: dict[str, Any], table: Table) -> str:
    shape, rows = one["shape"], []
    for name, rates in one["table"].items():
        rows.append([name, cell(rates["error"]), cell(rates["confusion_rate"])])
    n_runs = next(iter(one["table"].values()))["error"]["n_runs"]
    return (
        "### Error or confusion rate\n\nReuters with all classes of at least 20 training rows "
        f"({shape['classes']} classes of {shape['smallest']} to {shape['largest']:,} rows), "
        f"{one['noise']:.0%} of the labels wrong, C known; {n_runs} run{'s' * (n_runs > 1)}.\n\n"
        + table(["learner", "error", "confusion rate"], rows)
    )


def _kernel_forms(one: dict[str, Any], table: Table) -> str:
    columns = [(name, kind) for name, kinds in one["errors"].items() for kind in kinds]
    rows = []
    for form, title in kernel_forms.FORMS.items():
        cells = [one["errors"][name][kind].get(form) for name, kind in columns]
        shown_cells = [
            f"{cell(value['error'])} ({value['seconds']['mean']:.0f} s)" if value else ""
            for value in cells
        ]
        rows.append([title, *shown_cells])
    runs = max(
        value["error"]["n_runs"]
        for kinds in one["errors"].values()
        for forms in kinds.values()
        for value in forms.values()
    )
    heads = [f"{TITLES[name]}, {kind}" for name, kind in columns]
    return (
        "### UMA with a kernel\n\nTest error and CPU time of a fit, with the same Gaussian kernel "
        f"and C known. {one['n_components']} features (but for the first and the last line), UMA "
        "without whitening but with an intercept and the automatic stop, 4,000 training rows of "
        f"Letter, {runs} run{'s' * (runs > 1)}. Random projections are kernel values with random "
        "rows (Stempfel and Ralaivola); Nystroem's features are these, orthonormalized.\n\n"
        + table(["", *heads], rows)
    )
