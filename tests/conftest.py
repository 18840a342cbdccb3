"""Set-up shared by all tests."""

import os
from pathlib import Path

from hypothesis import settings

# One cache of compiled loops for all processes: every entry carries the
# types and the hash of the sources that it was compiled for (`unconfused._compilation`).
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).resolve().parents[1] / ".numba_cache"))

# Compilation makes first examples slow, and a law must not fail by chance from one run to the next.
settings.register_profile("laws", deadline=None, derandomize=True, max_examples=30)
settings.load_profile("laws")
