"""`unconfused demo`: the command, its table and its figure."""

from __future__ import annotations

import sys
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.table import Table

from unconfused._text import percent, pip_install
from unconfused.cli import options as opt
from unconfused.cli.console import console
from unconfused.cli.errors import check_target

if TYPE_CHECKING:
    from unconfused.cli.digits_demo import Outcome

DEFAULT_FIGURE = Path("unconfused-demo.png")

EXAMPLES = [
    "demo",
    "demo --output figures/demo.pdf",
    "demo --no-figure",
    "demo --noise symmetric",
]


Noise = StrEnum("Noise", ["pairwise", "symmetric"])
"""How the demo corrupts the labels."""


def demo(
    output: Path = opt.plain(
        "--output -o", "Output file for the figure: .png, .pdf or .svg.", default=DEFAULT_FIGURE
    ),
    no_figure: bool = opt.plain("--no-figure", "Print the table only.", default=False),
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
    seed: int = opt.plain("--seed", "Seed of the first run.", min=0, max=2**31, default=0),
) -> None:
    """Corrupt the labels of scikit-learn's digits, learn through the noise, and show the result.

    Nothing is downloaded. Takes about fifteen seconds.
    """
    if no_figure and output != DEFAULT_FIGURE:
        raise typer.BadParameter("--output and --no-figure contradict each other; drop one.")
    drawable = find_spec("matplotlib") is not None
    drawn = output if drawable and not no_figure else None
    if drawn is not None:
        replaced = force or drawn.absolute() == DEFAULT_FIGURE.absolute()
        check_target(drawn, [".png", ".pdf", ".svg"], force=replaced)
    with console(stderr=True).status("Corrupting labels and fitting models ..."):
        from unconfused.cli.digits_demo import run_demo

        outcome = run_demo(noise.value, seed, with_curves=drawn is not None)
    if drawn is not None:
        from unconfused.cli import demo_figure

        demo_figure.save_figure(demo_figure.draw(outcome), drawn)
    _print_outcome(outcome)
    if drawn is not None:
        console().print(f"Figure: {drawn}")
    if not drawable and not no_figure:
        print(f"For the figure: {pip_install('plot')}", file=sys.stderr)


def _print_outcome(outcome: Outcome) -> None:
    from unconfused.cli import digits_demo

    wrong = {"pairwise": "as the next one", "symmetric": "as any other"}[outcome.kind]
    share = percent(digits_demo.RATE)
    table = Table(
        title=f"Digits, with {share} of each digit labelled {wrong} in training",
        caption=f"Error on unseen digits with clean labels: mean and standard deviation of "
        f"{len(outcome.learners[0].errors)} runs, seeds from {outcome.seed} on.",
    )
    table.add_column("trained on")
    table.add_column("learner", no_wrap=True)
    table.add_column("error, %", justify="right")
    styles = {digits_demo.CLEAN: "dim", digits_demo.BELIEVED: ""}
    for one in outcome.learners:
        error = f"{100 * one.mean:.1f} ± {100 * one.spread:.1f}"
        table.add_row(one.given, one.name, error, style=styles.get(one.given, "bold"))
    out = console()
    out.print(table)
    out.print(outcome.in_words())
