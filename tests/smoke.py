"""A smoke test of an installed package, with nothing but the package: `python tests/smoke.py`.

`--install FOLDER` installs the wheel and the sdist of a folder, each into an empty environment.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path


def use_package() -> None:
    """Fit, predict and estimate, and show the version."""
    import numpy as np

    import unconfused
    from unconfused import UMAClassifier, UnconfusedLogisticRegression, confusion, noise

    rng = np.random.RandomState(0)
    truth = rng.randint(3, size=300)
    X, C = np.eye(3)[truth] + 0.3 * rng.randn(300, 3), noise.pairwise(3, 0.2)
    y = noise.corrupt_labels(truth, C, random_state=0)
    for learner in (UMAClassifier(C), UnconfusedLogisticRegression(C, l2=1e-3, relabel=0)):
        assert learner.fit(X, y).score(X, truth) > 0.9
    assert confusion.from_trusted(truth, y).matrix.shape == (3, 3)
    print("unconfused", unconfused.__version__, "works on Python", sys.version.split()[0])


def install_and_use(folder: Path) -> None:
    """Install each archive into an environment of its own, and run this file there."""
    archives = [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]
    assert len(archives) == 2, f"{folder} should hold one wheel and one sdist: {archives}"
    for archive in archives:
        with tempfile.TemporaryDirectory() as place:
            venv.create(place, with_pip=True)
            python = Path(place) / ("Scripts" if sys.platform == "win32" else "bin") / "python"
            subprocess.run([python, "-m", "pip", "install", "--quiet", archive], check=True)
            subprocess.run([python, Path(__file__).resolve()], check=True, cwd=place)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--install"]:
        install_and_use(Path(sys.argv[2]).resolve())
    else:
        use_package()
