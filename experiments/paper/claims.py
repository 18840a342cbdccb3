"""The paper's claims, one line each: what it says, what we find, whether that agrees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from experiments.paper.experiment import cell, shown
from experiments.paper.figure_words import TITLES, listed

AGREES, NOT, OPEN = "agrees", "does not agree", "cannot be told"
Found = dict[str, Any]
Line = tuple[str, str, str, str]
"""Where the paper says it, what it says, what we find, the verdict."""


def sign(value: dict[str, Any]) -> int:
    """Return -1 or 1 for a difference beyond two standard errors, else 0."""
    slack = 2 * (value["standard_error"] or 0.0)
    return 0 if abs(value["mean"]) <= slack else (1 if value["mean"] > 0 else -1)


def verdict(signs: list[int], wanted: int) -> str:
    """Say what signs of differences mean for a claim that all of them are `wanted`."""
    if all(one == wanted for one in signs):
        return AGREES
    return NOT if any(one == -wanted for one in signs) else OPEN


def verdict_by_data(signs: dict[str, int]) -> str:
    """Say on which data sets a claim holds; signs are 1 where it does, -1 for the opposite."""
    if len(set(signs.values())) == 1:
        return verdict(list(signs.values()), 1)
    words = {1: "agrees", -1: "does not", 0: "cannot be told"}
    names = {mark: [TITLES[name] for name, one in signs.items() if one == mark] for mark in words}
    return "; ".join(f"{text} on {listed(names[m])}" for m, text in words.items() if names[m])


def at(curve: dict[str, Any], place: int) -> dict[str, Any]:
    """Return one point of a curve as a value."""
    errors = curve["standard_error"]
    return {"mean": curve["mean"][place], "standard_error": errors and errors[place]}


def gap(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Return a difference of means as if runs were independent."""
    errors = [one["standard_error"] or 0.0 for one in (first, second)]
    error = (errors[0] ** 2 + errors[1] ** 2) ** 0.5
    return {"mean": first["mean"] - second["mean"], "standard_error": error}


def _last(one: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return the largest number of updates, and its curves."""
    updates = max(one["updates"], key=int)
    return int(updates), one["updates"][updates]


def _below_at_every_level(found: Found) -> Line:
    updates, curves = _last(found["toy_noise"])
    points = [at(curves["difference"], i) for i in range(len(curves["difference"]["mean"]))]
    signs = [sign(point) for point in points]
    lowest, highest = (choose(points, key=lambda p: p["mean"]) for choose in (min, max))
    ours = (
        f"UMA less identity after {updates:,} updates: from {shown(lowest, 2)} to "
        f"{shown(highest, 2)}; lower at {signs.count(-1)} of {len(signs)} levels, higher at "
        f"{signs.count(1)}"
    )
    claim = "UMA confuses less than the Perceptron (the identity) at every noise level"
    return "Fig. 1 (a)", claim, ours, verdict(signs, -1)


def _ends_of_the_curves(found: Found) -> Line:
    one = found["toy_noise"]
    updates, curves = _last(one)
    words, good = [], True
    for key, title in (("uma", "UMA"), ("perceptron", "identity")):
        ends = [at(curves[key], 0), at(curves[key], -1)]
        for value, theirs in zip(ends, one["paper"][key], strict=True):
            good &= abs(value["mean"] - theirs) <= 0.1 + 2 * (value["standard_error"] or 0)
        words.append(f"{title} from {cell(ends[0], 2)} to {cell(ends[1], 2)}")
    claim = "confusion rises from 0.5 to 2.25 (UMA) and from 1.7 to 2.75 (identity)"
    ours = f"{', '.join(words)} after {updates:,} updates, on which the level depends"
    return "Fig. 1 (a)", claim, ours, AGREES if good else NOT


def _lowest_at_the_truth(found: Found) -> Line:
    one = found["toy_wrong_matrix"]
    _, curves = _last(one)
    others = [i for i, factor in enumerate(one["factor"]) if factor != 0]
    signs = [sign(at(curves["excess"], i)) for i in others]
    best = min(others, key=lambda i: curves["uma"]["mean"][i])
    ours = (
        f"best other matrix (ρ = {one['factor'][best]:g}) less the true one: "
        f"{shown(at(curves['excess'], best), 2)}; {signs.count(1)} of {len(signs)} are worse, "
        f"{signs.count(-1)} better"
    )
    return "Fig. 1 (b)", "the true matrix is the best one", ours, verdict(signs, 1)


def _which_side_is_worse(found: Found) -> Line:
    _, curves = _last(found["toy_wrong_matrix"])
    sides = curves["sides"]
    ours = (
        f"excess over the true matrix: {shown(sides['under'], 2)} if underestimated, "
        f"{shown(sides['over'], 2)} if overestimated; difference {shown(sides['difference'], 2)}"
    )
    claim = (
        "UMA is robust to underestimated noise, less so to overestimated (yet it quotes 2.6 for "
        "the former and 2.15 for the latter)"
    )
    return "Fig. 1 (b)", claim, ours, verdict([sign(sides["difference"])], -1)


TABLE_CLAIMS = (
    ("uma - f_y", dict.fromkeys(TITLES, -1), "UMA errs less than f_y on all three data sets"),
    ("f_conf - f_full", dict.fromkeys(TITLES, 1), "f_conf errs much more than f_full"),
    (
        "uma - f_conf",
        {"digits": -1, "letter": -1, "reuters": 1},
        "UMA errs less than f_conf on Digits and Letter, more on Reuters",
    ),
    ("uma - s3vm", {"letter": -1}, "UMA errs clearly less than the S3VM on Letter"),
    (
        "s3vm - s3vm_kernel",
        {"digits": 1, "letter": 1},
        "kernel projection raises the error of the S3VM",
    ),
    ("f_y - s3vm", {"letter": -1}, "f_y errs less than the S3VM on Letter"),
)
"""Difference of two columns of Table 1, the sign it has in the paper, the claim."""


def _table_claims(found: Found) -> list[Line]:
    lines = []
    for pair, wanted, claim in TABLE_CLAIMS:
        gaps = {
            name: one["differences"][pair]
            for name, one in found["table1"].items()
            if name in wanted and pair in one["differences"]
        }
        if gaps:
            ours = ", ".join(f"{TITLES[name]} {shown(value)}" for name, value in gaps.items())
            marks = {name: sign(value) * wanted[name] for name, value in gaps.items()}
            lines.append(("Table 1", claim, ours, verdict_by_data(marks)))
    return lines


def _more_labels_for_the_labeller(found: Found) -> Line:
    one = found["figure3"]
    share = 0.05 * one["sizes"][-1] / 0.2  # the sizes end at a fifth of the rows
    place = min(range(len(one["sizes"])), key=lambda i: abs(one["sizes"][i] - share))
    change = gap(at(one["uma"], place), found["table1"]["reuters"]["ours"]["uma"])
    close = abs(change["mean"] + 0.1) <= 0.05
    claim = "m = 70 instead of 20 lowers the error of UMA on Reuters by nearly 0.1"
    return "Table 1", claim, shown(change), AGREES if close else verdict([sign(change)], -1)


def _size_of_s_conf(found: Found) -> Line:
    one = found["figure3"]
    change = gap(at(one["uma"], -1), at(one["uma"], 0))
    crossing = [gap(at(one["uma"], i), at(one["f_conf"], i)) for i in (0, -1)]
    ours = (
        f"UMA {shown(change)} from {one['sizes'][0]:,} to {one['sizes'][-1]:,} rows; UMA less "
        f"f_conf: {shown(crossing[0])}, then {shown(crossing[1])}"
    )
    flat, crossed = sign(change) == 0, sign(crossing[0]) < 0 < sign(crossing[1])
    claim = "the size of S_conf does not matter to UMA; f_conf overtakes it"
    words = AGREES if flat and crossed else (f"{NOT}; second half agrees" if crossed else NOT)
    return "Fig. 3", claim, ours, words


def _small_s_conf(found: Found) -> Line:
    gaps = {
        name: gap(at(one["uma"], 0), at(one["s3vm"], 0))
        for name, one in found["figure4"].items()
        if "s3vm" in one
    }
    ours = ", ".join(f"{TITLES[name]} {shown(value)}" for name, value in gaps.items())
    claim = "with the smallest S_conf, UMA errs less than the S3VM on all three data sets"
    return "Fig. 4", claim, ours, verdict_by_data({n: -sign(value) for n, value in gaps.items()})


def _plateau(found: Found) -> Line:
    one = found["figure5"]
    change = gap(at(one["error"]["error"], -1), at(one["error"]["error"], one["plateau"] - 1))
    claim = f"the error is stable from about update {one['plateau']}"
    ours = f"selection by error: {shown(change)} from there to update {one['n_updates']}"
    return "Fig. 5", claim, ours, AGREES if sign(change) == 0 else NOT


def _strategies(found: Found) -> Line:
    one, place = found["figure5"], found["figure5"]["plateau"] - 1
    gaps = {
        (measure, i): gap(at(one[measure]["confusion"], i), at(one[measure]["error"], i))
        for measure in ("error", "confusion_norm")
        for i in (place, -1)
    }
    ours = (
        f"by confusion less by error, at {one['plateau']} and {one['n_updates']} updates: "
        f"confusion norm {shown(gaps['confusion_norm', place])} and "
        f"{shown(gaps['confusion_norm', -1])}; error {shown(gaps['error', place])} and "
        f"{shown(gaps['error', -1])}"
    )
    marks = [-sign(gaps["confusion_norm", -1]), sign(gaps["error", -1])]
    claim = "selection by confusion gives less confusion, by error less error"
    return "Fig. 5", claim, ours, verdict(marks, 1)


def _random_is_never_best(found: Found) -> Line:
    one, gaps = found["figure5"], []
    for curves in (one["error"], one["confusion_norm"]):
        best = min((at(curves[s], -1) for s in ("error", "confusion")), key=lambda v: v["mean"])
        gaps.append(gap(at(curves["random"], -1), best))
    ours = f"random less the better one, at the end: error {shown(gaps[0])}, norm {shown(gaps[1])}"
    return "Fig. 5", "random selection is never the best", ours, verdict(list(map(sign, gaps)), 1)


def _monotonic_noise(found: Found) -> Line:
    errors = found["monotonic"]["errors"]
    words = [
        f"{kind}: UMA {shown(one['uma']['difference'])}, likelihood "
        f"{shown(one['likelihood']['difference'])}"
        for kind, one in errors.items()
    ]
    signs = [sign(one["uma"]["difference"]) for one in errors.values()]
    claim = (
        "robustness to class-conditional noise extends to monotonic noise (after Blum and others); "
        "ours: error near the boundary less error by class"
    )
    return "Sec. 2.1", claim, "; ".join(words), NOT if 1 in signs else AGREES


def _one(claim: Callable[[Found], Line]) -> Callable[[Found], list[Line]]:
    return lambda found: [claim(found)]


CLAIMS: tuple[tuple[tuple[str, ...], Callable[[Found], list[Line]]], ...] = (
    (("monotonic",), _one(_monotonic_noise)),
    (("toy_noise",), _one(_below_at_every_level)),
    (("toy_noise",), _one(_ends_of_the_curves)),
    (("toy_wrong_matrix",), _one(_lowest_at_the_truth)),
    (("toy_wrong_matrix",), _one(_which_side_is_worse)),
    (("table1",), _table_claims),
    (("table1", "figure3"), _one(_more_labels_for_the_labeller)),
    (("figure3",), _one(_size_of_s_conf)),
    (("figure4",), _one(_small_s_conf)),
    (("figure5",), _one(_plateau)),
    (("figure5",), _one(_strategies)),
    (("figure5",), _one(_random_is_never_best)),
)
"""What each claim needs, in the order of the paper."""


def claim_lines(found: Found) -> list[Line]:
    """Return a line for every claim that there are results for."""
    lines = []
    for needed, claims in CLAIMS:
        if all(name in found for name in needed):
            try:
                lines += claims(found)
            except KeyError:  # only some data sets or parts were run
                continue
    return lines
