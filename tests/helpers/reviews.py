"""A small review to test with: text, numbers, an image, and a hostile row."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import numpy as np
import pandas as pd

from unconfused.cli.input.label_options import LabelOptions, Settings
from unconfused.cli.input.open_task import open_task
from unconfused.cli.options import ReadOptions
from unconfused.cli.reviewing import open_session
from unconfused.review.serve.http import ReviewServer

HOSTILE = '</script><img src=x onerror="window.hacked=1"><script>window.hacked=2</script>'


def write_animals(path, n_rows=150, seed=0):
    """Write a table in which the size tells the kind, some labels wrong; return truths."""
    rng = np.random.RandomState(seed)
    truth = rng.randint(3, size=n_rows)
    kinds = np.array(["cat", "dog", "<b>hen</b>"], dtype=object)
    wrong = rng.rand(n_rows) < 0.2
    label = np.where(wrong, (truth + 1) % 3, truth)
    frame = pd.DataFrame(
        {
            "name": [f"animal {i}" for i in range(n_rows)],
            "size": 4.0 * truth + 0.5 * rng.randn(n_rows),
            "remark": [HOSTILE] * n_rows,
            "photo": ["a.png"] * n_rows,
            "kind": kinds[label],
        }
    )
    frame.to_csv(path, index=False)
    return dict(zip(frame["name"], kinds[truth], strict=True))


def animals_session(folder, verdicts="verdicts.csv", **drawing):
    """Open a session on the table in a folder; fits are not in the background."""
    known = LabelOptions("kind", identity="name")
    settings = Settings(ignore=["remark", "photo"], l2=1e-3)
    task = open_task(folder / "animals.csv", known, ReadOptions(), [])
    given = {"by": "mix", "background": False} | drawing
    return open_session(task, known, settings, folder / verdicts, folder, [], **given)


@contextmanager
def serving(session):
    """Serve a session in a thread."""
    with ReviewServer(session, token="secret") as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
