"""Load and use model files that were made to do harm, in a process that may die of it.

Reads the paths of files from standard input and prints what became of each. A file that makes the
process crash, run for too long, or take more memory than is allowed ends the process; one that
makes it write, delete, start or connect to anything is reported as an escape.
"""

import json
import os
import resource
import signal
import sys
import warnings
from contextlib import suppress
from pathlib import Path

import joblib
import numpy as np

SECONDS = 20
"""Of CPU time: a busy machine must not look like a file without end."""
MEGABYTES = 350

HARM = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "socket.")
CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod", "os.symlink", "shutil.")
CALLS = ("predict", "predict_proba", "decision_function", "transform", "decision_path")
COMPILED = os.environ.get("NUMBA_CACHE_DIR", "no such folder")
escapes = []


def watch(event, args):
    """Note every event that a model must not cause; compiled loops are kept for the next time."""
    if args and str(args[0]).startswith(COMPILED):
        return
    if event == "open":
        written = isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if written and not str(args[0]).startswith("/dev/"):
            escapes.append(f"open {args[0]}")
    elif event.startswith(HARM + CHANGES):
        escapes.append(event)


def use(model, rows):
    """Call all that a caller of a loaded model calls; errors in Python are no harm."""

    def learn_more():
        model.partial_fit(rows, np.resize(model.classes_, len(rows)))

    def go_on():
        labels = np.resize(model.classes_, len(rows))
        model.set_params(warm_start=True, max_iter=3).fit(rows, labels)

    calls = [lambda name=name: getattr(model, name)(rows) for name in CALLS]
    for call in (*calls, lambda: repr(model), learn_more, go_on):
        try:
            # `n_jobs` may ask for workers: that is what it is for.
            with joblib.parallel_config("sequential"):
                call()
        except MemoryError:
            escapes.append("all memory")
        except Exception:
            pass


def attempt(path, rows):
    import unconfused
    from unconfused.persistence import ModelFileError, read_header

    with suppress(ModelFileError):
        read_header(path)
    try:
        model = unconfused.load(path)
    except ModelFileError as error:
        if "MemoryError" in str(error):
            escapes.append("all memory")
        return f"refused: {error}"
    use(model, rows)
    return "used"


def main():
    warnings.simplefilter("ignore")
    first = json.loads(sys.stdin.readline())
    attempt(first["path"], rows_of(first))  # imports, compiled loops
    joblib.cpu_count(only_physical_cores=True)  # starts a process to ask, once
    sys.addaudithook(watch)
    kept = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = kept + MEGABYTES * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for line in sys.stdin:
        task = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # kills the process, whatever it is doing
        escapes.clear()
        said = attempt(task["path"], rows_of(task))
        signal.setitimer(signal.ITIMER_PROF, 0)
        said = f"ESCAPED: {escapes[:3]}" if escapes else said
        print(json.dumps({"path": task["path"], "said": said}), flush=True)


def rows_of(task):
    import pandas as pd

    named = isinstance(task["rows"], dict)
    return pd.DataFrame(task["rows"]) if named else np.array(task["rows"])


if __name__ == "__main__":
    main()
