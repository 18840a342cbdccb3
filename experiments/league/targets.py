"""What we set out to reach, and where we did and did not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from experiments.league.data import SOURCES
from experiments.league.methods import METHODS
from experiments.league.noises import CLASS_CONDITIONAL, CROWD, NOISES
from experiments.league.results import Place, Results, clean_place
from unconfused._typing import FloatArray

RATIOS = {
    "pair flip 0.3": 1.15,
    "pair flip 0.45": 1.15,
    "symmetric 0.2": 1.15,
    "symmetric 0.5": 1.6,
}


@dataclass(frozen=True)
class Check:
    """One comparison: what was compared, what came out, whether it is as we wanted it."""

    what: str
    outcome: str
    met: bool


def _pairs(results: Results) -> Iterator[tuple[str, str]]:
    """Every data set and noise there are results for."""
    there = {(data, noise) for data, noise, _, _ in results.places}
    for data in SOURCES:
        for noise in (*NOISES, CROWD):
            if (data, noise) in there:
                yield data, noise


def _name(data: str, noise: str) -> str:
    return f"{SOURCES[data].title}; {noise}"


def near_the_ceiling(results: Results) -> Iterator[Check]:
    """With C known, nearly as good as with clean labels."""
    for data, noise in _pairs(results):
        own, clean = (data, noise, "known", "ours"), clean_place(data)
        ours, ceiling = results.mean(own, beside=clean), results.mean(clean, beside=own)
        if noise in RATIOS and np.isfinite(ours / ceiling):
            ratio, most = ours / ceiling, RATIOS[noise]
            outcome = f"{ours:.4f} against {ceiling:.4f}: {ratio:.2f} times (at most {most})"
            yield Check(_name(data, noise), outcome, ratio <= most)


def trusted_rows_suffice(results: Results) -> Iterator[Check]:
    """Class-conditional noise: C from trusted rows is as good as C known."""
    for data, noise in _pairs(results):
        found = results.difference((data, noise, "trusted", "ours"), (data, noise, "known", "ours"))
        if noise in CLASS_CONDITIONAL and found is not None:
            most = max(0.005, 2 * found.error)
            outcome = f"{found.mean:+.4f} (at most {most:.4f})"
            yield Check(_name(data, noise), outcome, found.mean <= most)


def trusted_rows_never_hurt(results: Results) -> Iterator[Check]:
    """With trusted rows: not above trusted alone, noisy, mixed by more than a standard error."""
    for data, noise in _pairs(results):
        own = (data, noise, "trusted", "ours-votes" if noise == CROWD else "ours")
        rivals: list[Place] = [
            (data, noise, "trusted", "trusted"),
            (data, noise, "none", "noisy"),
            (data, noise, "trusted", "mixed"),
        ]
        means = [results.mean(rival, beside=own) for rival in rivals]
        best = rivals[int(np.argmin(np.nan_to_num(means, nan=np.inf)))]
        found = results.difference(own, best)
        if found is not None:
            outcome = (
                f"{found.mean:+.4f} against {METHODS[best[3]].title} (at most {found.error:.4f})"
            )
            yield Check(_name(data, noise), outcome, found.mean <= found.error)


def nobody_is_better(results: Results) -> Iterator[Check]:
    """No linear method with the same knowledge, or less, is better."""
    for data, noise in _pairs(results):
        ours = "ours-votes" if noise == CROWD else "ours"
        for knowledge in ("known", "trusted", "none"):
            for rival, method in METHODS.items():
                theirs = (data, noise, "none" if rival == "noisy" else knowledge, rival)
                found = results.difference((data, noise, knowledge, ours), theirs)
                if rival == ours or method.raw or found is None:
                    continue
                most = max(0.003, 2 * found.error)
                outcome = f"{found.mean:+.4f} against {method.title} (at most {most:.4f})"
                yield Check(f"{_name(data, noise)}; {knowledge}", outcome, found.mean <= most)


def wrong_labels_are_found(results: Results) -> Iterator[Check]:
    """Average precision of finding wrong labels: at least cleanlab's."""
    for data, noise in _pairs(results):
        rivals = [(data, noise, "none", f"find-cleanlab{end}") for end in ("", "-margin")]
        for knowledge, method in (("none", "find-ours"), ("trusted", "find-ours-trusted")):
            place = data, noise, knowledge, method
            theirs = [results.mean(rival, "average_precision", beside=place) for rival in rivals]
            if np.any(np.isfinite(theirs)):
                best = int(np.nanargmax(theirs))
                own = results.mean(place, "average_precision", beside=rivals[best])
                outcome = f"{own:.4f} against {theirs[best]:.4f}"
                met = own >= theirs[best] - 5e-5
                yield Check(f"{_name(data, noise)}; {knowledge}", outcome, bool(met))


def music_is_better(results: Results) -> Iterator[Check]:
    """Music genre: a paired bootstrap over songs, against the majority vote and a peer."""
    for rival in ("noisy", "annotator-lr"):
        gaps = _hits(results, "ours-votes") - _hits(results, rival)
        if len(gaps) > 0:
            rng = np.random.RandomState(0)
            songs = rng.randint(len(gaps), size=(10_000, len(gaps)))
            low, high = np.quantile(gaps[songs].mean(axis=1), [0.025, 0.975])
            outcome = f"{gaps.mean():+.3f} of the songs, 95 % interval {low:+.3f} to {high:+.3f}"
            met = low > 0 if rival == "noisy" else bool(gaps.mean() >= 0)
            yield Check(f"against {METHODS[rival].title}", outcome, bool(met))


def _hits(results: Results, method: str) -> FloatArray:
    """Return how often each test song was right, over the seeds."""
    records = results.records(("music", CROWD, "none", method))
    if not records:
        return np.empty(0)
    return np.mean([[float(hit) for hit in record["right"]] for record in records], axis=0)


TARGETS = {
    "C known: at most 1.15 times the error with clean labels (symmetric 0.5: 1.6 times)": (
        near_the_ceiling
    ),
    "C from trusted rows within max(0.005, two standard errors) of C known": trusted_rows_suffice,
    "With trusted rows at most a standard error above the best of trusted alone, noisy, mixed": (
        trusted_rows_never_hurt
    ),
    "No linear method with the same knowledge better by max(0.003, two standard errors)": (
        nobody_is_better
    ),
    "Wrong labels found with at least cleanlab's average precision": wrong_labels_are_found,
    "Music genre: above the majority vote, not below AnnotatorLogisticRegression": music_is_better,
}
