"""`unconfused fit`: from a file with noisy labels to a saved model."""

from __future__ import annotations

import time
from pathlib import Path

from unconfused.cli import options as opt
from unconfused.cli.console import tell
from unconfused.cli.errors import check_target, in_options, refuse_same_target
from unconfused.cli.input.label_options import LabelOptions, Settings
from unconfused.cli.input.source import TaskSource
from unconfused.cli.options import ReadOptions

EXAMPLES = [
    "fit pets.csv --label kind",
    "fit pets.csv --label kind --truth checked --report report.html",
    "fit pets.csv --label kind --confusion C.csv --text remark -o pets.skops",
    "fit songs.csv --annotators ann,bob,eve --id song",
    "fit songs.csv --votes answers.csv --item song --annotator worker --label answer",
]


def fit(
    data: opt.Data,
    *,
    labels: LabelOptions,
    output: Path = opt.output("Output file for the model.", default=Path("model.skops")),
    report: Path | None = opt.report(),
    settings: Settings,
    stream: bool | None = opt.stream(),
    scratch: Path | None = opt.scratch(),
    reading: ReadOptions,
    force: bool = opt.force(),
    as_json: bool = opt.as_json(),
) -> None:
    """Fit a classifier to noisy labels, and save it.

    Numbers are scaled, words become categories, and missing values are imputed. These steps are
    saved with the model, so `predict` takes files in the same format as DATA.
    """
    labels, settings = labels.of_file(data, reading), settings.of_file(data, reading)
    refuse_same_target(data, output, report)
    check_target(output, [".skops"], force=force)
    if report is not None:
        check_target(report, [".html", ".htm"], force=force)
        labels.refuse_other_labels()
    begun = time.perf_counter()
    with TaskSource(data, labels, reading, settings, scratch or output.parent, stream) as source:
        from unconfused._text import import_extra
        from unconfused.cli.fitting import FittedTask

        import_extra("skops.io", "save", "Saving a model")  # not after a long fit
        done = FittedTask(source)
        done.judge()
        if report is not None:
            from unconfused._report.html.page import write_page

            source.stage(f"Writing {report.name}")
            write_page(done.report(), report, force=force)
        done.save(output, force)
    lines = [*done.lines(), f"Model: {output}", *([] if report is None else [f"Report: {report}"])]
    written = {"model": str(output), "report": None if report is None else str(report)}
    found = done.as_dict() | written | {"seconds": round(time.perf_counter() - begun, 2)}
    said = done.plan.columns.notes if done.plan.columns else []
    tell(as_json, found, lines, [*map(in_options, said), *done.notes])
