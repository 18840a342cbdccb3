"""Errors as one line on stderr and an exit code; outputs that are refused before any work."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from unconfused._atomic import refuse_folder, refuse_target
from unconfused._text import printable

OUR_FAULT, BAD_INPUT, INTERRUPTED, TERMINATED = 1, 2, 130, 143
"""Exit codes besides 0; signals as in shells: 128 plus their number."""

EXIT_CODES = (
    f"Exit codes: 0 success; {OUR_FAULT} internal error (see --debug); "
    f"{BAD_INPUT} wrong usage or bad input; {INTERRUPTED} interrupted."
)

OPTIONS = {
    r"(pass )?force=True (to replace|replaces) it": "--force replaces it",
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
    r"\by looks like an": "--annotators: this looks like an",
    r"Give one label per row, as in classes\[y\.argmax\(axis=1\)\]": (
        "Write the class of each row into one column, and name it with --label"
    ),
    r"say so with confusion\.votes_from_wide\(y\)": "name their classes with --classes",
    r"or use `unconfused\.confusion\.from_trusted` on the labels themselves": (
        "or name a column of true labels with --truth"
    ),
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


def check_target(target: Path, endings: Iterable[str], *, force: bool) -> None:
    """Raise if a file cannot, or should not, be written here."""
    allowed = list(endings)
    if target.suffix.lower() not in allowed:
        raise ValueError(f"{target}: the name must end in {' or '.join(allowed)}.")
    refuse_target(target, force=force)
    refuse_folder(target)


def refuse_same_target(*targets: Path | None) -> None:
    """Raise if two outputs, or an output and its input, are the same file."""
    places = [(target, target.resolve()) for target in targets if target is not None]
    for count, (target, place) in enumerate(places):
        if place in [other for _, other in places[:count]]:
            raise ValueError(
                f"{target} is named twice; inputs and outputs must be different files."
            )


def refuse_clash(option: str, copied: Iterable[str], made: Iterable[str]) -> None:
    """Raise if a copied column would have the name of a computed one."""
    from unconfused._files.types import clean_name

    ours = Counter(clean_name(name) for name in made)
    clash = [name for name in copied if clean_name(name) in ours]
    if clash:
        raise ValueError(
            f"{option} {clash[0]!r}: the output has a column {clean_name(clash[0])!r} of its own. "
            "Rename the one in the data, or drop the option: rows keep their order."
        )
    twice = [name for name, times in ours.items() if times > 1]
    if twice:
        raise ValueError(f"Two columns of the output would be called {twice[0]!r}.")
