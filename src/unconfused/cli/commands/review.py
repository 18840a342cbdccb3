"""`unconfused review`: check rows one by one in the browser."""

from __future__ import annotations

import contextlib
import webbrowser
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unconfused.cli import options as opt
from unconfused.cli.console import Stages, console
from unconfused.cli.input.label_options import LabelOptions, Settings
from unconfused.cli.options import ReadOptions, without

if TYPE_CHECKING:
    from unconfused.cli.input.task import Task
    from unconfused.confusion.votes import Votes
    from unconfused.review import CheckedRows
    from unconfused.review.serve.judged import Judged
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
        "File of verdicts: read first, then appended to. `fit`, `estimate`, `audit` and "
        "`evaluate` take it as --truth, `apply` writes its labels back.",
        "FILE.csv",
        default=Path("verdicts.csv"),
    ),
    by: By = opt.plain(
        "--by",
        "Which rows to ask about: suspicion: labels that look wrong; gain: rows that "
        "would teach the model most; confusion: at random within labels, to learn the "
        "matrix; random; mix: some at random, the others by suspicion.",
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
        "Do not open the page: print what the verdicts so far have gained, and what this "
        "many more would.",
        "ROWS",
        min=1,
    ),
    port: int = opt.plain("--port", "Port; 0 for any free one.", min=0, max=65535, default=0),
    browser: bool = opt.plain(
        "--browser/--no-browser", "Open the page in the browser.", default=True
    ),
    hide: list[str] = opt.columns("--hide", "Columns not to show."),
    settings: Annotated[Settings, without("smoothing", "relabel", "max_iter", "numbers")],
    reading: ReadOptions,
) -> None:
    """Check labels one row at a time, in the browser.

    The page is served to this machine only, at an address with a token. Every verdict is on disk
    before the next row appears: end the command at any time, and the same command continues from
    there. Rows drawn at random show no suggestion until you have answered.
    """
    labels = labels.of_file(data, reading)
    settings = replace(settings.of_file(data, reading), relabel=0)
    labels.refuse_other_labels()
    if images is not None and not images.is_dir():
        raise typer.BadParameter(f"There is no folder {images}.")
    if stop is not None and not verdicts.is_file():
        raise ValueError(f"There are no verdicts in {verdicts} yet: check some rows first.")
    with Stages(2) as stage:
        stage(f"Reading {data.name}")
        from unconfused.cli.input.open_task import open_task

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


def open_session(
    task: Task,
    known: LabelOptions,
    settings: Settings,
    verdicts: Path,
    images: Path | None = None,
    hidden: list[str] | None = None,
    **drawing: Any,
) -> Session:
    """Return a session on a task."""
    from unconfused.cli.input.open_task import left_out
    from unconfused.cli.input.task import label_texts
    from unconfused.review.serve.rows import ReviewRows
    from unconfused.review.serve.session import Session

    y = majority_of(task.y) if task.kind == "votes" else task.y
    labels = ["" if one is None else one for one in label_texts(y)]
    if known.identity is None:
        keys = [str(one) for one in task.place.tolist()]
    else:
        keys = ["" if one is None else one for one in label_texts(task.table[known.identity])]
        if len(set(keys)) < len(keys) or "" in keys:
            raise ValueError(f"The values in the column {known.identity!r} of --id are not unique.")
    fetch = task.table.iloc.__getitem__ if task.is_frame else task.table.__getitem__
    outside = left_out(known) if task.is_frame else []
    # The key is the row's title, and answers are shown as votes.
    named = [] if known.identity is None else [known.identity]
    hidden = [*(hidden or []), *named, *known.annotators]
    rows = ReviewRows(keys, labels, fetch, outside, hidden, images)
    if task.kind == "votes":
        rows = replace(rows, votes=lambda row: votes_on(task.y, row))

    def judge(checked: CheckedRows) -> Judged:
        if task.kind == "votes":
            return judge_votes(task, y, settings, checked)
        return judge_task(task, settings, checked)

    return Session(rows, verdicts, judge, seed=settings.seed, **drawing)


def majority_of(votes: Votes) -> Any:
    """Return the most frequent answer on each row; of a tie, the first class."""
    found = votes.classes.astype(object)[votes.tally.argmax(axis=1)]
    found[votes.tally.sum(axis=1) == 0] = None
    return found


def votes_on(votes: Votes, row: int) -> list[tuple[str, str]]:
    """Return who labelled a row, and as what."""
    import numpy as np

    own = np.flatnonzero(votes.item == row)
    who, what = votes.annotators[votes.annotator[own]], votes.classes[votes.label[own]]
    return list(zip(map(str, who.tolist()), map(str, what.tolist()), strict=True))


def tell_when_to_stop(task: Task, settings: Settings, more: int) -> Any:
    """Return a table of error and wrong labels against rows checked, with the sentence."""
    from rich.console import Group
    from rich.table import Table

    from unconfused.cli.model import make_plan, warnings_as_notes
    from unconfused.review.stopping import when_to_stop

    if task.kind == "votes":
        raise typer.BadParameter("--when-to-stop does not work with votes.")
    if task.checked is None:
        raise ValueError("There is no verdict on a row of the data yet.")
    plan = make_plan(task, settings)
    with warnings_as_notes([]):
        curve = when_to_stop(plan.model, plan.rows, task.y, task.verdicts(), more=more)
    table = Table()
    for name in ("rows checked", "error of the model", "labels wrong", "95 % interval"):
        table.add_column(name, justify="right")
    lines = zip(
        curve.checked, curve.error, curve.error_spread, curve.wrong, curve.wrong_low,
        curve.wrong_high, strict=True,
    )  # fmt: skip
    for count, error, spread, wrong, low, high in lines:
        table.add_row(
            f"{count:,}", f"{error:.3f} ± {spread:.3f}", f"{100 * wrong:.1f} %",
            f"{100 * low:.1f} to {100 * high:.1f}",
        )  # fmt: skip
    return Group(table, curve.sentence)


def judge_task(task: Task, settings: Settings, checked: CheckedRows) -> Judged:
    """Fit the task with the verdicts so far, and judge each row by models without it."""
    import numpy as np

    from unconfused.cli.input.task import common_labels
    from unconfused.cli.model import make_plan, warnings_as_notes
    from unconfused.review.fit import fit_checked
    from unconfused.review.left_out import judge_left_out
    from unconfused.review.serve.judged import Judged

    y, y_true = common_labels([task.y, checked.y_true.tolist()])
    checked = replace(checked, y_true=np.asarray(y_true, dtype=object))
    plan = make_plan(task, settings)
    with warnings_as_notes([]):
        left_out = judge_left_out(
            plan.features(), y, checked, classes=task.classes, random_state=settings.seed
        )
        model = fit_checked(plan.model, plan.rows, y, checked, left_out=left_out)
    features = model[:-1].transform(plan.rows)
    return Judged(
        model, features, left_out.observed, left_out.posterior, left_out.ranking,
        left_out.probability,
    )  # fmt: skip


def judge_votes(task: Task, majority: Any, settings: Settings, checked: CheckedRows) -> Judged:
    """Fit a task with votes to the verdicts so far, and judge the most frequent answers."""
    import numpy as np

    from unconfused._labels import encode_labels
    from unconfused.cli.input.task import common_labels
    from unconfused.cli.model import fit_plan, make_plan, warnings_as_notes
    from unconfused.review.serve.judged import Judged

    y_true = None
    if checked.known.any():
        y_true = common_labels([task.y.classes, checked.y_true.tolist()])[1]
    task = replace(task, y_true=y_true)
    plan = make_plan(task, settings)
    with warnings_as_notes([]):
        model = fit_plan(task, plan, None)
    learner, features = model[-1], model[:-1].transform(plan.rows)
    codes = encode_labels(majority, classes=learner.classes_, missing_label=None).observed
    posterior = np.asarray(learner.label_posterior(features, task.y))
    alone = np.asarray(learner.predict_proba(features))
    return Judged(model, features, codes, posterior, posterior, alone, votes=True)


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
