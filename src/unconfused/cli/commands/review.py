"""`unconfused review`: check rows one by one in the browser."""

from __future__ import annotations

import contextlib
import webbrowser
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unconfused.cli import options as opt
from unconfused.cli.console import Stages, console
from unconfused.cli.input.label_options import LabelOptions, Settings
from unconfused.cli.options import ReadOptions, without

if TYPE_CHECKING:
    from unconfused.review.serve.session import Session

EXAMPLES = [
    "review pets.csv --label kind",
    "review pets.csv --label kind --id name --images photos --verdicts mine.csv",
    "review pets.csv --label kind --by random",
    "review songs.csv --votes answers.csv --item song --annotator worker --label answer",
]


By = StrEnum("By", ["mix", "suspicion", "confusion", "gain", "random"])
"""How rows are drawn."""


def review(
    data: opt.Data,
    *,
    labels: Annotated[LabelOptions, without("truth", "trust_labels")],
    verdicts: Path = opt.file(
        "--verdicts",
        "File to which verdicts are added; earlier ones are read first. `fit`, `estimate`, "
        "`audit` and `evaluate` take it as --truth, `apply` writes its labels into the data.",
        "FILE.csv",
        default=Path("verdicts.csv"),
    ),
    by: By = opt.plain(
        "--by",
        "Which rows to ask about. suspicion: labels that look wrong; gain: rows whose true class "
        "would improve the model most; confusion: at random within labels, to estimate the "
        "matrix; random: at random; mix: some at random, the others by suspicion.",
        default=By.mix,
    ),
    random_share: float = opt.plain(
        "--random-share", "Share of a mix that is drawn at random.", min=0.0, max=1.0, default=0.05
    ),
    images: Path | None = opt.file(
        "--images", "Show cells that are paths of images inside this folder as images.", "FOLDER"
    ),
    reviewer: str = opt.plain(
        "--reviewer", "Your name, as written to the verdict file.", default=""
    ),
    stop: int | None = opt.plain(
        "--when-to-stop",
        "Do not open the page, but print what the verdicts so far have gained, and what this "
        "many more are expected to gain.",
        "ROWS",
        min=1,
    ),
    port: int = opt.plain("--port", "Port; 0 for any free one.", min=0, max=65535, default=0),
    browser: bool = opt.plain(
        "--browser/--no-browser", "Open the page in the browser.", default=True
    ),
    hide: list[str] = opt.columns("--hide", "Columns not to show."),
    settings: Annotated[Settings, without("learner", "relabel", "max_iter", "numbers")],
    reading: ReadOptions,
) -> None:
    """Check labels one row at a time, in the browser.

    The page is served to this machine only, at an address with a secret token. Every verdict is
    saved before the next row appears, so you can end the command at any time; the same command
    continues from there. For rows drawn at random, the suggestion is hidden until you have
    answered.
    """
    labels = labels.of_file(data, reading)
    settings = replace(settings.of_file(data, reading), relabel=0)
    labels.refuse_other_labels()
    if images is not None and not images.is_dir():
        raise typer.BadParameter(f"There is no folder {images}.")
    if stop is not None and not verdicts.is_file():
        raise ValueError(
            f"There are no verdicts in {verdicts} yet: check some rows first, by the same command "
            "without --when-to-stop."
        )
    with Stages() as stage:
        stage(f"Reading {data.name}")
        from unconfused.cli.input.open_task import open_task
        from unconfused.cli.reviewing import open_session, tell_when_to_stop

        known = labels if stop is None else replace(labels, verdicts=verdicts)
        task = open_task(data, known, reading, [*settings.text, *settings.categories])
        if stop is not None:
            stage("Fitting with fewer and more verdicts")
            console().print(tell_when_to_stop(task, settings, stop))
            return
        stage(f"Fitting {len(task.place):,} rows")
        hidden = reading.names(data, hide)
        session = open_session(
            task, labels, settings, verdicts, images, hidden,
            by=by.value, random_share=random_share, reviewer=reviewer,
        )  # fmt: skip
    _serve(session, port, browser, verdicts)


def _serve(session: Session, port: int, browser: bool, verdicts: Path) -> None:
    from unconfused.review.serve.http import ReviewServer

    with ReviewServer(session, port) as server:
        out = console()
        out.print(f"Verdicts: {verdicts} ({len(session.verdicts):,} so far)")
        out.print("Ctrl-C ends the review; every verdict is on disk already.")
        # The address alone on a line, and whole: terminals make a link of it.
        print(server.url, flush=True)
        if browser:
            webbrowser.open(server.url)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
        out.print(session.progress()["sentence"])
