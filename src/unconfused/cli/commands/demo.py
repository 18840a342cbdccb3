"""`unconfused demo`: the command, its table and its figure."""

from __future__ import annotations

import sys
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from unconfused._text import percent, pip_install
from unconfused.cli import options as opt
from unconfused.cli.console import console
from unconfused.cli.errors import check_target

if TYPE_CHECKING:
    from unconfused.cli.digits_demo import Outcome

DEFAULT_FIGURE = Path("unconfused-demo.png")

EXAMPLES = ["demo", "demo --output figures/demo.pdf", "demo --noise symmetric"]

Noise = StrEnum("Noise", ["pairwise", "symmetric"])
"""How the demo corrupts the labels."""


def demo(
    output: Path = opt.plain(
        "--output -o", "Output file for the figure: .png, .pdf or .svg.", default=DEFAULT_FIGURE
    ),
    force: bool = opt.plain(
        "--force",
        f"Overwrite an existing OUTPUT. {DEFAULT_FIGURE} is always overwritten.",
        default=False,
    ),
    noise: Noise = opt.plain(
        "--noise",
        "pairwise: each digit is often labelled as the next; symmetric: as any other.",
        default=Noise.pairwise,
    ),
) -> None:
    """Corrupt the labels of scikit-learn's digits, learn through the noise, and show the result.

    Nothing is downloaded. Takes about fifteen seconds.
    """
    drawable = find_spec("matplotlib") is not None
    if drawable:
        check_target(output, [".png", ".pdf", ".svg"], force=force or output == DEFAULT_FIGURE)
    with console(stderr=True).status("Corrupting labels and fitting models ..."):
        from unconfused.cli import digits_demo

        outcome = digits_demo.run_demo(noise.value, with_curves=drawable)
    _print_outcome(outcome)
    if drawable:
        digits_demo.save_figure(outcome, output)
        console().print(f"Figure: {output}")
    else:
        print(f"For the figure: {pip_install('plot')}", file=sys.stderr)


def _print_outcome(outcome: Outcome) -> None:
    from unconfused.cli.digits_demo import BELIEVED, CLEAN, LEARNERS, RATES, SEEDS

    wrong = {"pairwise": "as the next one", "symmetric": "as any other"}[outcome.kind]
    table = Table(
        title=f"Digits, with {percent(RATES[-1])} of each digit labelled {wrong} in training",
        caption="Error on unseen digits with clean labels: mean and standard deviation of "
        f"{len(SEEDS)} runs.",
    )
    table.add_column("trained on")
    table.add_column("learner", no_wrap=True)
    table.add_column("error, %", justify="right")
    for one in LEARNERS:
        percents, style = 100 * outcome.errors[one.name], {CLEAN: "dim", BELIEVED: ""}
        error = f"{percents.mean():.1f} ± {percents.std(ddof=1):.1f}"
        table.add_row(one.given, one.name, error, style=style.get(one.given, "bold"))
    out = console()
    out.print(table)
    out.print(outcome.in_words())
