"""The files that a new user tries the command line with; see `new_user.py`."""

from __future__ import annotations

import ast
import csv
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

from unconfused.datasets import fetch_music_genre

PACKAGES = ("asyncio", "email", "tkinter", "unittest")


def write_songs(folder: Path, data_home: Path) -> None:
    """Write the songs with a column per annotator, the answers in long form, and new songs."""
    songs = fetch_music_genre(data_home=data_home, as_frame=True)
    frame = songs.data.assign(song=songs.songs)
    people = [f"ann{name}" for name in songs.annotators]
    votes = pd.DataFrame(np.asarray(songs.votes, dtype=object), columns=people)
    pd.concat([frame, votes], axis=1).to_csv(folder / "songs.csv", index=False)
    frame.to_csv(folder / "songs_only.csv", index=False)
    long = votes.assign(song=songs.songs).melt("song", var_name="worker", value_name="answer")
    long.dropna().to_csv(folder / "answers.csv", index=False)
    new = fetch_music_genre(data_home=data_home, subset="test", as_frame=True)
    new.data.assign(song=new.songs, genre=new.target).to_csv(folder / "new_songs.csv", index=False)


def write_text(folder: Path) -> None:
    """Write what functions of Python's own library say of themselves, and the package they are in.

    Real text that is on every machine: with commas, quotes, and ends of lines.
    """
    root = Path(sysconfig.get_paths()["stdlib"])
    rows = []
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
            for node in ast.walk(tree):
                text = ast.get_docstring(node) if isinstance(node, kinds) else None
                if text:
                    rows.append((text, package))
    with open(folder / "docstrings.csv", "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["says", "package"])
        writer.writerows(rows)


def write_wine(folder: Path) -> None:
    """Write wines with categories, a date, truth values and gaps."""
    rng = np.random.RandomState(0)
    frame = load_wine(as_frame=True).frame
    frame["colour"] = pd.cut(
        frame.pop("color_intensity"), 4, labels=["pale", "light", "full", "deep"]
    )
    frame["old"] = frame.pop("proline") > 700
    frame["tasted"] = pd.Timestamp("2024-03-01") + pd.to_timedelta(
        rng.randint(300, size=len(frame)), "D"
    )
    for name in frame.columns.drop("target"):
        frame[name] = frame[name].where(rng.rand(len(frame)) > 0.1)
    frame["target"] = np.array(["barolo", "grignolino", "barbera"])[frame["target"]]
    frame.to_parquet(folder / "wine.parquet")


def write_export(folder: Path, n_rows: int = 200_000) -> None:
    """Write what an office program might: a mark, CRLF, ends of lines in cells, twin columns."""
    rng = np.random.RandomState(0)
    size, weight = rng.randn(n_rows), rng.randn(n_rows)
    kind = np.where(size + weight > 0, "oak", "elm")
    seen = np.where(rng.rand(n_rows) < 0.2, "elm", kind)
    for name, header in (("twins.csv", "size,size"), ("export.csv", "size,weight")):
        with open(folder / name, "w", encoding="utf-8-sig", newline="") as stream:
            stream.write(f'{header},note,"kind of\r\ntree"\r\n')
            for row in zip(size, weight, seen, strict=True):
                stream.write(f'{row[0]:.6f},{row[1]:.6f},"seen\r\ntwice",{row[2]}\r\n')


def write_all(folder: Path, data_home: Path) -> None:
    """Write every file."""
    folder.mkdir(parents=True, exist_ok=True)
    write_songs(folder, data_home)
    write_text(folder)
    write_wine(folder)
    write_export(folder)


if __name__ == "__main__":
    write_all(Path(sys.argv[1]), Path(sys.argv[2]))
