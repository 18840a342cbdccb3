"""Ctrl-C at any line of the library: a KeyboardInterrupt raised where a tracer says."""

import sys
from contextlib import contextmanager
from pathlib import Path

import unconfused

PACKAGE = str(Path(unconfused.__file__).parent)


@contextmanager
def interrupt_at(number=None):
    """Raise KeyboardInterrupt at this line of the library (counted as they run).

    Yields a list whose only entry is the number of lines run.
    """
    count = [0]

    def trace(frame, event, _):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            count[0] += 1
            if count[0] == number:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield count
    finally:
        sys.settrace(before)
