"""Errors as one line on stderr and an exit code."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from unconfused._text.printable import printable

OUR_FAULT, BAD_INPUT, INTERRUPTED, TERMINATED = 1, 2, 130, 143
"""Exit codes besides 0; signals as in shells: 128 plus their number."""

EXIT_CODES = (
    f"Exit codes: 0 success; {OUR_FAULT} internal error (see --debug); "
    f"{BAD_INPUT} wrong usage or bad input; {INTERRUPTED} interrupted."
)

OPTIONS = {
    r"(pass )?force=True (to replace|replaces) it": "--force replaces it",
    r"(pass )?smoothing=1\b": "--smoothing 1",
    r"(pass )?duplicates='last'": "--duplicates last",
    r"with the delimiter": "with --delimiter",
    r"Say which encoding it has": "Say which it is with --encoding",
    r"or name the format": "or name it with --format",
    r"name it as text": "name it with --text",
    r"name it as numbers": "name it with --numbers",
    r"name it as categories": "name it with --categories",
    r"is named as numbers": "is named with --numbers",
    r" If -1 is a class and not a missing label, say so with `classes`, or with "
    r"missing_label=None\.": "",
    r"meanwhile (.*); choose another place": r"meanwhile \1; choose another place with --scratch",
    r'\[(data|save)\]"': '[cli]"',  # what the commands need, at once
    r"`classes`": "--classes",
    r"Fit with relabel=4": "Fit with --relabel 4",
    r"Pass confusion='auto' to use one\.": "Drop --trust-labels to use one.",
    r"If by label, pass confusion=unconfused\.confusion\.from_audit\(y_true, y\) besides y_true": (
        "If by label, check rows drawn at random instead"
    ),
    r"pass their true labels as `y_true`, or pass a known matrix as `confusion`": (
        "name the column of their true labels with --truth, or pass a known matrix with --confusion"
    ),
    r"unconfused\.save keeps them": "leave such columns out with `fit --ignore`",
    r"a logistic regression can\.": "--learner logistic gives a model that can.",
    r"raise max_iter, loosen `tol`": "raise --max-iter",
}
"""Arguments in messages of the library, and the options they correspond to."""


def in_options(message: str) -> str:
    """Return a message on one line, with options in place of arguments.

    Examples
    --------
    >>> in_options("out.csv exists already; force=True replaces it.")
    'out.csv exists already; --force replaces it.'
    """
    line = " ".join(message.split())
    for argument, option in OPTIONS.items():
        line = re.sub(argument, option, line)
    return line


@contextmanager
def plain_errors(debug: bool) -> Iterator[None]:
    """Turn an exception into one line on stderr and an exit code.

    ValueErrors of the library and OSErrors are meant for users; an ImportError is an extra that is
    not installed. Anything else is reported as a bug.
    """
    import typer  # here, as the codes above are needed to say that it is not installed

    try:
        yield
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        if debug:
            raise
        code = BAD_INPUT
        if isinstance(error, (OSError, ValueError, ImportError)):
            message = f"error: {error}"
        elif isinstance(error, MemoryError):
            message = "error: This does not fit into memory; take fewer rows or columns."
        else:
            code = OUR_FAULT
            message = (
                f"error: {type(error).__name__}: {error}. This should not happen; "
                "`unconfused --debug COMMAND` shows where it does."
            )
        print(printable(in_options(message)), file=sys.stderr)
        raise typer.Exit(code) from None
