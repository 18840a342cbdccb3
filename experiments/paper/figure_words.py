"""Sentences on the figures, made from their numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

TITLES = {"digits": "Digits", "letter": "Letter", "reuters": "Reuters"}


def listed(words: list[str]) -> str:
    """Join words as people do."""
    if len(words) < 2:
        return words[0] if words else "none"
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _ends(values: list[float]) -> str:
    return f"{values[0]:.2f} to {values[-1]:.2f}"


def _toy_noise(one: dict[str, Any]) -> str:
    words = [
        f"after {int(updates):,} updates UMA {_ends(curves['uma']['mean'])}, identity "
        f"{_ends(curves['perceptron']['mean'])}"
        for updates, curves in one["updates"].items()
    ]
    return (
        f"The number of updates, which the paper does not state, determines the level of the "
        f"curves. Confusion from the least noise to the most: {'; '.join(words)}; the paper "
        f"{_ends(one['paper']['uma'])} and {_ends(one['paper']['perceptron'])}."
    )


def _toy_wrong_matrix(one: dict[str, Any]) -> str:
    words = []
    for updates, curves in one["updates"].items():
        found = dict(zip((round(f, 1) for f in one["factor"]), curves["uma"]["mean"], strict=True))
        sides = {key: curves["sides"][key]["mean"] + found[0.0] for key in ("over", "under")}
        words.append(
            f"| {int(updates):,} | {found[0.0]:.2f} | {sides['over']:.2f} | "
            f"{sides['under']:.2f} | {found[1.0]:.2f} |"
        )
    paper = one["paper"]
    return "\n".join(
        (
            "Mean confusion:\n",
            "| updates | true matrix | noise overestimated | underestimated | identity |",
            "| --- | --- | --- | --- | --- |",
            *words,
            f"| the paper | {paper['true']} | {paper['overestimated']} | "
            f"{paper['underestimated']} |  |",
        )
    )


def _along(sizes: list[int], curves: dict[str, Any]) -> str:
    """Say where curves begin and end, and from which size the second is the lower one."""
    first, second = curves
    a, b = (curves[name]["mean"] for name in (first, second))
    ends = f"from {sizes[0]:,} to {sizes[-1]:,} rows: {first} {a[0]:.3f} to {a[-1]:.3f}, "
    ends += f"{second} {b[0]:.3f} to {b[-1]:.3f}"
    higher = [place for place in range(len(sizes)) if b[place] >= a[place]]
    if not higher:
        return f"{ends}; {second} errs less at every size."
    if higher[-1] == len(sizes) - 1:
        return f"{ends}; {second} errs more at the largest size."
    return f"{ends}; {second} errs less from {sizes[higher[-1] + 1]:,} rows."


def _figure3(one: dict[str, Any]) -> str:
    curves = {"UMA": one["uma"], "the Perceptron": one["f_conf"]}
    return f"Reuters, {_along(one['sizes'], curves)}"


def _figure4(one: dict[str, Any]) -> str:
    return " ".join(
        f"{TITLES[name]}, {_along(data['sizes'], {'UMA': data['uma'], 'the SVM': data['s3vm']})}"
        for name, data in one.items()
        if "s3vm" in data
    )


def _figure5(one: dict[str, Any]) -> str:
    words = []
    for measure, title in (("error", "Error"), ("confusion_norm", "Confusion norm")):
        place = one["plateau"] - 1
        then = {name: values["mean"][place] for name, values in one[measure].items()}
        last = {name: values["mean"][-1] for name, values in one[measure].items()}
        words.append(
            f"{title} at {one['plateau']} and at {one['n_updates']} updates: "
            + ", ".join(f"{name} {then[name]:.3f} and {last[name]:.3f}" for name in last)
        )
    return ". ".join(words) + "."


NUMBERS: dict[str, Callable[[dict[str, Any]], str]] = {
    "toy_noise": _toy_noise,
    "toy_wrong_matrix": _toy_wrong_matrix,
    "figure3": _figure3,
    "figure4": _figure4,
    "figure5": _figure5,
}
"""What to say of each figure that has more to say than it shows."""
