"""Set-up shared by all tests."""

import hashlib
import os
from pathlib import Path

from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parents[1]

# numba invalidates a cached function when its own file changes, not when a file it calls does. A
# cache per state of the sources keeps tests from running yesterday's loops.
_sources = sorted((REPOSITORY / "src").rglob("*.py"))
_state = hashlib.sha256(b"".join(path.read_bytes() for path in _sources)).hexdigest()[:16]
os.environ.setdefault("NUMBA_CACHE_DIR", str(REPOSITORY / ".numba_cache" / _state))
# And one per process: two that compile a function for different types at the same moment may give
# both the same name in a cache, and then find the other's.
if _worker := os.environ.get("PYTEST_XDIST_WORKER"):
    os.environ["NUMBA_CACHE_DIR"] = str(Path(os.environ["NUMBA_CACHE_DIR"]) / _worker)

# Compilation makes first examples slow, and a law must not fail by chance from one run to the next.
settings.register_profile("laws", deadline=None, derandomize=True, max_examples=30)
settings.load_profile("laws")
