"""Every command on real files, as somebody would who has just cloned the repository.

``python -m experiments.new_user FOLDER DATA`` writes the files into FOLDER (DATA holds the folder
``music_genre``), runs the commands there, prints what they say, and stops at the first that ends
otherwise than it should.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from experiments.new_user_files import write_all

VOTES = "--votes answers.csv --item song --annotator worker --label answer --id song"

STEPS: list[tuple[str, int]] = [
    ("--help", 0),
    ("info", 0),
    ("demo -o demo.png", 0),
    ("fit songs.csv", 2),
    ("fit songs.csv --annotators 'ann*' --id song -o songs.skops --report songs.html", 0),
    (f"fit songs_only.csv {VOTES} -o votes.skops", 0),
    ("predict songs.skops new_songs.csv -o genres.csv --keep song,genre", 0),
    (f"estimate songs_only.csv {VOTES} -o genres_matrix.csv", 0),
    (f"audit songs_only.csv {VOTES} -o songs_to_check.csv --top 50", 0),
    ("export songs.skops --onnx -o songs.onnx", 0),
    ("corrupt docstrings.csv --label package --pairwise 0.25 --reveal 0.1 -o noisy.csv", 0),
    ("fit noisy.csv --label noisy_package --truth package -o words.skops", 0),
    ("fit noisy.csv --label noisy_package --truth package --text says -o text.skops", 0),
    ("audit noisy.csv --label noisy_package --truth package --text says -o check.csv --top 20", 0),
    ("estimate noisy.csv --label noisy_package --truth package", 0),
    ("predict text.skops docstrings.csv -o packages.csv --keep package", 0),
    ("corrupt wine.parquet --label target --symmetric 0.2 -o wines.parquet", 0),
    ("fit wines.parquet --label noisy_target -o wine.skops --report wine.html", 0),
    ("predict wine.skops wine.parquet -o cellar.jsonl --proba", 0),
    ("fit twins.csv --label kind -o trees.skops", 2),
    ("fit export.csv --label kind -o trees.skops", 2),
    ("fit export.csv --label 'kind of tree' -o trees.skops", 0),
    ("fit export.csv --label 'kind of tree' -o trees.skops", 2),
    ("fit export.csv --label 'kind of tree' --stream -o streamed.skops", 0),
    ("predict trees.skops export.csv -o trees.csv", 0),
    ("predict trees.skops songs.csv -o no.csv", 2),
    ("predict demo.png songs.csv -o no.csv", 2),
]
"""Arguments, and how the command must end."""


def main(folder: Path, data_home: Path) -> None:
    """Write the files and run the commands."""
    write_all(folder, data_home)
    for arguments, expected in STEPS:
        begun = time.perf_counter()
        print(f"\n$ unconfused {arguments}", flush=True)
        command = f"{sys.executable} -m unconfused {arguments}"
        code = subprocess.run(command, shell=True, cwd=folder, stderr=subprocess.STDOUT).returncode
        print(f"[exit code {code}, {time.perf_counter() - begun:.1f} s]", flush=True)
        if code != expected:
            sys.exit(f"This should have ended with {expected}.")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
