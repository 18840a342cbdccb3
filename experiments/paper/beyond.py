"""The part of the page on what the paper names and leaves to others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from experiments.paper import kernel_forms, monotonic
from experiments.paper.claims import shown, sign
from experiments.paper.figure_words import TITLES

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


def _cell(value: dict[str, Any]) -> str:
    error = value["standard_error"]
    return f"{value['mean']:.3f}" + ("" if error is None else f" ± {error:.3f}")


def _monotonic(one: dict[str, Any], table: Table) -> str:
    rows = [
        [
            kind,
            title,
            *(_cell(by_name[name][which]) for which in monotonic.KINDS),
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
        f"Mistakes near the boundary cost UMA more than the same number at random under "
        f"{' and '.join(harmed)}: knowing the matrix is not enough there."
        if harmed
        else "Mistakes near the boundary cost UMA no more than the same number at random."
    )
    return (
        "### Monotonic noise\n\nThe same confusion matrix, mistakes independent of the row or more "
        "frequent near the boundary between two classes (`noise.boundary`), on Digits without a "
        f"kernel; test error, {n_runs} run{'s' * (n_runs > 1)}. A logistic regression on clean "
        f"labels errs on {_cell(one['clean'])}.\n\n"
        + table(["noise", "learner", *monotonic.KINDS.values(), "difference"], rows)
        + f"\n{verdict} What is proved is that such noise can be learnt from, not that this "
        "algorithm does: UMA takes the matrix as it is.\n"
    )


def _confusion_risk(one: dict[str, Any], table: Table) -> str:
    shape, rows = one["shape"], []
    for name, rates in one["table"].items():
        rows.append([name, _cell(rates["error"]), _cell(rates["confusion_rate"])])
    n_runs = next(iter(one["table"].values()))["error"]["n_runs"]
    return (
        "### Error, or confusion rate\n\nReuters with all classes of 20 training rows or more "
        f"({shape['classes']} classes, from {shape['smallest']} to {shape['largest']:,} rows), "
        f"{one['noise']:.0%} of the labels wrong, C known; {n_runs} run{'s' * (n_runs > 1)}.\n\n"
        + table(["learner", "error", "confusion rate"], rows)
    )


def _kernel_forms(one: dict[str, Any], table: Table) -> str:
    columns = [(name, kind) for name, kinds in one["errors"].items() for kind in kinds]
    rows = []
    for form, title in kernel_forms.FORMS.items():
        cells = [one["errors"][name][kind].get(form) for name, kind in columns]
        shown_cells = [
            f"{_cell(value['error'])} ({value['seconds']['mean']:.0f} s)" if value else ""
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
        "### UMA with a kernel\n\nTest error (and CPU time of the fit) with the same Gaussian "
        f"kernel and C known, {one['n_components']} features where there are any, UMA as in the "
        "paper but with an intercept and its usual stop; 4,000 training rows of Letter; "
        f"{runs} run{'s' * (runs > 1)}. "
        "Random projections are the kernel values with rows drawn at random (Stempfel and "
        "Ralaivola); Nystroem's features are these, orthonormalised.\n\n"
        + table(["", *heads], rows)
    )
