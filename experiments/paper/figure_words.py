"""Sentences on the figures, made from their numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

TITLES = {"digits": "Digits", "letter": "Letter", "reuters": "Reuters"}


def _ends(values: list[float]) -> str:
    return f"{values[0]:.2f} to {values[-1]:.2f}"


def _toy_noise(one: dict[str, Any]) -> str:
    uma, perceptron = one["uma"]["mean"], one["perceptron"]["mean"]
    lower = sum(a < b for a, b in zip(uma, perceptron, strict=True))
    return (
        f"UMA is the lower curve at {lower} of {len(uma)} levels of noise. From the least noise "
        f"to the most: UMA {_ends(uma)}, identity {_ends(perceptron)} (the paper: "
        f"{_ends(one['paper']['uma'])}, and {_ends(one['paper']['perceptron'])})."
    )


def _toy_wrong_matrix(one: dict[str, Any]) -> str:
    found = dict(zip((round(f, 1) for f in one["factor"]), one["uma"]["mean"], strict=True))
    over = [mean for factor, mean in found.items() if factor < 0]
    under = [mean for factor, mean in found.items() if 0 < factor < 1]
    lowest = min(found, key=lambda factor: found[factor])
    return (
        f"Confusion {found[0.0]:.2f} with the true matrix; {sum(over) / len(over):.2f} on average "
        f"where noise is overestimated, {sum(under) / len(under):.2f} where it is underestimated, "
        f"{found[1.0]:.2f} with the identity; lowest at ρ = {lowest:g}. The paper: "
        f"{one['paper']['true']} with the true matrix, around {one['paper']['overestimated']} and "
        f"around {one['paper']['underestimated']} on either side."
    )


def _along(sizes: list[int], curves: dict[str, Any]) -> str:
    """Say where curves begin and end, and from which size on the second is the lower one."""
    first, second = curves
    a, b = (curves[name]["mean"] for name in (first, second))
    ends = f"from {sizes[0]:,} to {sizes[-1]:,} rows: {first} {a[0]:.3f} to {a[-1]:.3f}, "
    ends += f"{second} {b[0]:.3f} to {b[-1]:.3f}"
    higher = [place for place in range(len(sizes)) if b[place] >= a[place]]
    if not higher:
        return f"{ends}; {second} errs less at every size."
    if higher[-1] == len(sizes) - 1:
        return f"{ends}; {second} errs more at the largest size."
    return f"{ends}; {second} errs less from {sizes[higher[-1] + 1]:,} rows on."


def _figure5(one: dict[str, Any]) -> str:
    curves = {"UMA": one["uma"], "the Perceptron": one["f_conf"]}
    return f"Reuters, {_along(one['sizes'], curves)}"


def _figure6(one: dict[str, Any]) -> str:
    return " ".join(
        f"{TITLES[name]}, {_along(data['sizes'], {'UMA': data['uma'], 'the SVM': data['s3vm']})}"
        for name, data in one.items()
        if "s3vm" in data
    )


def _figure7(one: dict[str, Any]) -> str:
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
    "figure5": _figure5,
    "figure6": _figure6,
    "figure7": _figure7,
}
"""What to say of each figure that has more to say than it shows."""
