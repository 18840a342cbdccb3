"""The page of the docs: every number on it comes from the files beside the figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiments.paper import check
from experiments.paper.beyond import beyond
from experiments.paper.claims import claim_lines
from experiments.paper.experiment import cell, shown
from experiments.paper.figure_words import NUMBERS, TITLES, listed
from experiments.paper.remarks import FIGURES, WHY
from experiments.paper.settings import CONF_SHARE

COLUMNS = {
    "f_y": "f_y",
    "f_conf": "f_conf",
    "f_full": "f_full",
    "s3vm": "S3VM",
    "uma": "UMA",
    "uma_whitened": "UMA, whitened",
    "s3vm_kernel": "S3VM, no K-PCA",
}
TODAY = {
    "logistic": "logistic regression, labelled rows alone",
    "self_training": "self-training",
    "label_spreading": "label spreading (not linear)",
    "likelihood": "`UnconfusedLogisticRegression`",
    "self_labeling": "`SelfLabelingClassifier`",
}
LINEAR = ("svm", "s3vm", "uma", "logistic", "self_training", "likelihood", "self_labeling")
"""Methods that end in weights on the same features and learn from the same labels, or some."""

HEAD = """# The paper, reproduced

This page repeats the experiments of U. Louche and L. Ralaivola, *Unconfused Ultraconservative
Multiclass Algorithms*, and compares the results with those of the paper. `make reproduce` runs them
(this takes hours, and resumes where it was stopped) and writes this page; `docs/paper` has the
numbers as JSON. ± and bands in figures are one standard error of the mean over runs.
"""

CLAIMS = """## The paper's claims

Differences are means ± one standard error. Where a difference is within two standard errors, it
"cannot be told" whether the claim holds.
"""

RUNS = """{versions}
Among the others, whitened UMA (Table 1), UMA with a kernel on Letter, the class weights on Reuters,
`UnconfusedLogisticRegression` and `SelfLabelingClassifier` are from earlier versions of the code,
which has changed since.
{toy}Reuters is a sample: 7,305 training and 6,864 test rows of the nine largest classes, where the
paper has about 11,000 of each.
"""

PROTOCOL = """## Table 1

A rough classifier, trained on m labelled rows of each class, labels all training rows. Its
confusion matrix C is counted on S_conf, {share:.0%} of the rows with known labels, and UMA learns
from the rough labels through C. The other columns are a Perceptron on the rough labels (f_y), on
S_conf (f_conf) and on all true labels (f_full), and a semi-supervised SVM that knows the labels of
S_conf (S3VM). All columns have the same settings. They were not chosen by test labels, but the
candidates were chosen after single trial runs whose test errors were seen
([settings.py](../experiments/paper/settings.py)). Test error:
"""

SECOND = """### What you would use today

These methods get the same features and all true labels of the protocol: the m of each class, and
those of S_conf.
"""

OPTIONS = """### `SelfLabelingClassifier`: known labels and rounds

The paper discards the known labels once C is counted; `SelfLabelingClassifier` learns from them
too. In further rounds the learner relabels the rows, until C no longer changes (number of rounds in
brackets). Runs and settings are those above. Letter is left out, because a fit takes minutes.
"""

QUICK = """**This is a quick look**: one or two runs, and a small part of Letter.
"""


def write_page(docs: Path, quick: bool = False) -> Path:
    """Write the page from the summaries found beside the figures; return where it is."""
    found = {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted((docs / "paper").glob("*.json"))
    }
    parts = (
        [HEAD, QUICK]
        if quick
        else [HEAD, RUNS.format(versions=_versions(found), toy=_toy_runs(found))]
    )
    if lines := claim_lines(found):
        parts += [CLAIMS, _table(["where", "the paper", "ours", ""], [list(one) for one in lines])]
    if "table1" in found:
        parts += [
            PROTOCOL.format(share=CONF_SHARE),
            _side_by_side(found["table1"]),
            _differences(found["table1"]),
        ]
        parts += [SECOND, _today(found["table1"]), _best(found["table1"])]
    if "options" in found:
        parts.append(_options(found["options"]))
    if "updates" in found or "self_labeling" in found:
        parts.append(_choices(found))
    parts += [_figure(name, title, found[name]) for name, title in _SECTIONS if name in found]
    parts += beyond(found, _table)
    path = docs / "paper.md"
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def _versions(found: dict[str, Any]) -> str:
    return check.in_words(found[check.FILE]) if check.FILE in found else ""


def _toy_runs(found: dict[str, Any]) -> str:
    """Say how many runs of the toy problem there are."""
    counts = [
        f"Figure 1 ({part}) {next(iter(found[name]['updates'].values()))['uma']['n_runs']}"
        for part, name in (("a", "toy_noise"), ("b", "toy_wrong_matrix"))
        if name in found
    ]
    return f"Runs of the toy problem: {', '.join(counts)}; the paper has 10.\n" if counts else ""


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _side_by_side(table: dict[str, Any]) -> str:
    rows = []
    columns = [c for c in COLUMNS if any(c in one["ours"] for one in table.values())]
    for name, one in table.items():
        theirs = [f"{one['paper'][c]:.2f}" if c in one["paper"] else "" for c in columns]
        rows.append([TITLES[name], "paper", *theirs])
        ours = [cell(one["ours"][c]) if c in one["ours"] else "" for c in columns]
        rows.append(["", "ours", *ours])
    return _table(["data", "", *(COLUMNS[c] for c in columns)], rows) + "\n" + _how_many(table)


def _how_many(table: dict[str, Any]) -> str:
    """Say over how many runs, and which cells have fewer."""
    usual = max(v["n_runs"] for one in table.values() for v in one["ours"].values())
    fewer = [
        f"{(COLUMNS | TODAY)[column]} on {TITLES[name]}: {value['n_runs']}"
        for name, one in table.items()
        for column, value in one["ours"].items()
        if value["n_runs"] < usual and column in COLUMNS | TODAY
    ]
    noise = ", ".join(
        f"{TITLES[name]} {cell(one['ours']['label_noise'])}"
        for name, one in table.items()
        if "label_noise" in one["ours"]
    )
    text = f"Ours are means over {usual} run{'s' * (usual > 1)}"
    text += f" ({'; '.join(fewer)})" if fewer else ""
    return f"{text}. Share of wrong rough labels: {noise}.\n"


def compared(ours: dict[str, Any], theirs: float) -> str:
    """Say in words whether a mean differs from the paper's, which has two digits."""
    slack = 0.005 + 2 * (ours["standard_error"] or 0.0)
    if abs(ours["mean"] - theirs) <= slack:
        return "alike"
    return "lower" if ours["mean"] < theirs else "higher"


def _differences(table: dict[str, Any]) -> str:
    lines = ["### Differences from the paper", ""]
    for column, title in COLUMNS.items():
        words = [
            f"{TITLES[name]} {one['ours'][column]['mean']:.3f} against {one['paper'][column]:.2f} "
            f"({compared(one['ours'][column], one['paper'][column])})"
            for name, one in table.items()
            if column in one["ours"] and column in one["paper"]
        ]
        if words:
            more = _MORE[column](table) if column in _MORE else ""
            lines.append(f"- **{title}**: {'; '.join(words)}. {WHY[column]}{more}")
    return "\n".join(lines) + "\n"


def _uma_and_f_y(table: dict[str, Any]) -> str:
    """Compare UMA, whitened or with a perfect C, with the Perceptron on the same labels."""
    ours = {name: one["ours"] for name, one in table.items() if "uma" in one["ours"]}
    below = [TITLES[n] for n, one in ours.items() if one["uma"]["mean"] < one["f_y"]["mean"]]
    above = [TITLES[n] for n in ours if TITLES[n] not in below]
    exact = [f"{TITLES[n]} {cell(one['uma_exact'])}" for n, one in ours.items()]
    text = f" It errs less than f_y on {listed(below)}"
    text += f", but more on {listed(above)}, against the paper." if above else "."
    text += f" With C counted on all rows: {listed(exact)}."
    pair = "uma_whitened - f_y"
    gaps = {n: one["differences"][pair] for n, one in table.items() if pair in one["differences"]}
    words = [f"{TITLES[name]} {shown(value)}" for name, value in gaps.items()]
    return text + (f" Whitened UMA less f_y: {listed(words)}." if words else "")


def _twin(table: dict[str, Any]) -> str:
    """Say what the SVM is without the unlabelled rows."""
    ours = {name: one["ours"]["svm"] for name, one in table.items() if "svm" in one["ours"]}
    if not ours:
        return ""
    words = [f"{TITLES[name]} {cell(one)}" for name, one in ours.items()]
    helped = [
        TITLES[name] for name in ours if table[name]["ours"]["s3vm"]["mean"] < ours[name]["mean"]
    ]
    text = f" Without the unlabelled rows: {listed(words)}. Unlabelled rows help"
    text += f" on {listed(helped)}" if helped else " nowhere"
    return text + (" and do harm elsewhere." if 0 < len(helped) < len(ours) else ".")


def _row_by_row(table: dict[str, Any]) -> str:
    """Say what f_full is as a Perceptron that goes over single rows."""
    ours = {name: one["ours"].get("f_full_online") for name, one in table.items()}
    words = [f"{TITLES[name]} {cell(value)}" for name, value in ours.items() if value]
    return f" A Perceptron that goes over the rows one by one: {listed(words)}." if words else ""


_MORE = {"uma": _uma_and_f_y, "s3vm": _twin, "f_full": _row_by_row}
"""What else is to be said of a column, from the numbers."""


def _today(table: dict[str, Any]) -> str:
    rows = [
        [title, *(cell(one["ours"][m]) if m in one["ours"] else "" for one in table.values())]
        for m, title in {"uma": "UMA, from above", **TODAY}.items()
    ]
    return _table(["method", *(TITLES[name] for name in table)], rows)


def _best(table: dict[str, Any]) -> str:
    """Say which of the linear methods is best on each data set."""
    lines = []
    for name, one in table.items():
        ours = {m: one["ours"][m] for m in LINEAR if m in one["ours"]}
        best = min(ours, key=lambda method: ours[method]["mean"])
        title = (COLUMNS | TODAY | {"svm": "the SVM without the unlabelled rows"})[best]
        text = f"- {TITLES[name]}: {title}, {cell(ours[best])}"
        if best != "self_labeling" and "self_labeling" in ours:
            text += f"; `SelfLabelingClassifier` {cell(ours['self_labeling'])}"
        lines.append(text + ".")
    return "Lowest error among methods that are linear in these features:\n\n" + (
        "\n".join(lines) + "\n"
    )


def _options(found: dict[str, Any]) -> str:
    """Show what the known labels and further rounds do for SelfLabelingClassifier."""
    variants = next(iter(found.values()))
    rows = [
        [name, *(f"{cell(one[name])} ({one[name]['rounds']:.1f})" for one in found.values())]
        for name in variants
    ]
    return OPTIONS + "\n" + _table(["", *(TITLES[data] for data in found)], rows)


def _at_the_edge(updates: dict[str, Any]) -> str:
    edge = max(map(int, updates["mean"]), default=None)
    return ", the largest number tried on all of them" if updates["used"] == edge else ""


def _choices(found: dict[str, Any]) -> str:
    lines = ["### Choice of settings", ""]
    if "updates" in found:
        one = found["updates"]
        tried = "; ".join(
            f"{TITLES[name]} " + ", ".join(f"{turns}: {cell(v)}" for turns, v in by_turns.items())
            for name, by_turns in one["error_on_s_conf"].items()
        )
        means = ", ".join(f"{turns}: {mean:.3f}" for turns, mean in one["mean"].items())
        lines.append(
            "- Updates per ordered pair of classes, by the error of UMA on S_conf in separate "
            f"runs: {tried}. Mean over the data sets, of numbers tried on all: {means}. Used: "
            f"{one['used']}{_at_the_edge(one)}."
        )
    if "self_labeling" in found:
        one = found["self_labeling"]
        tried = ", ".join(f"{name}: {cell(v)}" for name, v in one["held_out_error"].items())
        lines.append(
            "- `SelfLabelingClassifier`, on Digits only, by the error on held-out labelled rows in "
            f"separate runs: {tried}. Used everywhere: {one['lowest']}."
        )
    return "\n".join(lines) + "\n"


_SECTIONS = (
    ("toy_noise", "Figure 1 (a): more and more noise"),
    ("toy_wrong_matrix", "Figure 1 (b): a wrong confusion matrix"),
    ("class_distributions", "Figure 2: class distributions"),
    ("figure3", "Figure 3: UMA and the Perceptron on S_conf"),
    ("figure4", "Figure 4: UMA and the semi-supervised SVM"),
    ("figure5", "Figure 5: which pair goes next"),
)


def _figure(name: str, title: str, summary: dict[str, Any]) -> str:
    numbers = NUMBERS[name](summary) if name in NUMBERS else ""
    return (
        f"## {title}\n\n![{title}](paper/{name}.png)\n\n{FIGURES[name]} {numbers}".rstrip() + "\n"
    )
