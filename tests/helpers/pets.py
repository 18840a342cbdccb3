"""A small table with every kind of column, its labels noisy in a known way, for the commands."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from unconfused import noise
from unconfused.cli.app import app

KINDS = np.array(["cat", "dog", "hen"])
NOISE = np.array([[0.8, 0.2, 0.0], [0.1, 0.9, 0.0], [0.0, 0.3, 0.7]])
KNOWN = ("pets.csv", "-l", "kind", "-t", "checked")
SETTINGS = ("--l2", "0.001", "--relabel", "0")
"""To choose these takes most of a fit: given wherever a test is about something else."""
FIT = ("fit", *KNOWN, *SETTINGS)
AUDIT = ("audit", *KNOWN, *SETTINGS)


def pets(n_rows=240, seed=0):
    """Return a frame with numbers, categories, text, gaps, `kind` (noisy) and `checked` (truth)."""
    rng = np.random.RandomState(seed)
    kind = rng.randint(3, size=n_rows)
    words = np.array([["meow", "purr"], ["woof", "bark"], ["cluck", "peck"]])
    frame = pd.DataFrame(
        {
            "name": [f"p{i}" for i in range(n_rows)],
            "size": np.where(rng.rand(n_rows) < 0.1, np.nan, 2 * kind + rng.randn(n_rows)),
            "legs": np.where(kind == 2, 2, 4),
            "coat": np.where(
                rng.rand(n_rows) < 0.1, None, np.array(["fur", "hair", "feather"], object)[kind]
            ),
            "remark": [f"it says {rng.choice(words[k])} {i}" for i, k in enumerate(kind)],
        }
    )
    frame["kind"] = noise.corrupt_labels(KINDS[kind], NOISE, rng)
    frame["checked"] = pd.Series(KINDS[kind], dtype=object).where(rng.rand(n_rows) < 0.3)
    frame["truth"] = KINDS[kind]
    return frame


def pets_csv(path, **options):
    """Write the frame without its full truth."""
    pets(**options).drop(columns="truth").to_csv(path, index=False)
    return path


def write_fitted(path="model.skops"):
    """Write the model that `FIT` makes of the pets; it is fitted once."""
    Path(path).write_bytes(_fitted())


@cache
def _fitted():
    with TemporaryDirectory() as folder:
        data, model = Path(folder, "pets.csv"), Path(folder, "model.skops")
        succeed("fit", pets_csv(data), *FIT[2:], "-o", model)
        return model.read_bytes()


def invoke(*arguments):
    """Run a command."""
    return CliRunner().invoke(app, [str(one) for one in arguments])


def succeed(*arguments):
    """Run a command that must go well; return what it printed."""
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def succeed_json(*arguments):
    """Run a command with --json; return the one object that it printed."""
    return json.loads(succeed(*arguments, "--json"))


def refused(*arguments):
    """Run a command that must be refused in one line; return the line.

    It may come after the table of what columns were taken for.
    """
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    *table, error = result.stderr.splitlines()
    assert not table or (table[0] == "Columns" and table[-1].startswith("└")), result.stderr
    assert error.startswith("error: ")
    return error
