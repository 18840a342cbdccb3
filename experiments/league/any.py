"""The block of any classifier: our meta-estimator around six bases, beside CleanLearning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from experiments.league.any_page import write_any_page
from experiments.league.block import Block, Check, Finder, Fit, Method, Target
from experiments.league.data import SOURCES
from experiments.league.noises import CLASS_CONDITIONAL
from experiments.league.problem import Problem
from experiments.league.raw_data import RAW_SOURCES, TABLES
from experiments.league.results import Results, clean_place
from unconfused import UnconfusedClassifier, confusion
from unconfused._typing import FloatArray

# The data sets are looked up by name wherever a contest is held.
SOURCES.update(RAW_SOURCES)

SETS = ("digits-raw", "letter-raw", "flights", "music", "sentiment-raw", "youtube-raw", *TABLES)
BOOSTED = 30
"""Boosting rounds: with 26 classes each grows 26 trees."""

ALL = ("known", "trusted", "none")


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=BOOSTED, n_jobs=1, verbose=-1)


BASES: dict[str, tuple[str, Callable[[], Any], bool]] = {
    "forest": ("random forest", lambda: RandomForestClassifier(100), False),
    "hist": (
        "HistGradientBoosting",
        lambda: HistGradientBoostingClassifier(max_iter=BOOSTED, categorical_features="from_dtype"),
        True,
    ),
    "lightgbm": ("LightGBM", _lightgbm, True),
    "mlp": ("MLP", lambda: MLPClassifier((100,), max_iter=100), False),
    "knn": ("k-NN", lambda: KNeighborsClassifier(10), False),
    "svm": ("linear SVM", lambda: CalibratedClassifierCV(LinearSVC(), cv=3), False),
}
"""Title, classifier, and whether it takes categories and gaps as they are."""


def base_for(name: str, problem: Problem) -> Any:
    """Return a base for these rows, seeded; frames are made numbers for those that need them."""
    _, make, takes_frames = BASES[name]
    base = make()
    if "random_state" in base.get_params(deep=False):
        base.set_params(random_state=problem.seed)
    if takes_frames or not hasattr(problem.X, "columns"):
        return base
    words = make_column_selector(dtype_include="category")
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), words), remainder=numbers
    )
    return make_pipeline(columns, base)


def _rows(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _on(labels: str) -> Callable[[str], Fit]:
    """Return fits of the base itself: to what is seen, to trusted rows, or to both mixed."""

    def of(name: str) -> Fit:
        def fit(problem: Problem, l2: float) -> Any:
            base = base_for(name, problem)
            if labels == "trusted":
                rows = problem.trusted
                return base.fit(_rows(problem.X, rows), problem.truth[rows])
            return base.fit(problem.X, problem.seen if labels == "seen" else problem.best_known)

        return fit

    return of


def _ours(name: str) -> Fit:
    def fit(problem: Problem, l2: float) -> Any:
        trusted = len(problem.trusted) > 0
        matrix: Any = problem.matrix
        if matrix is None and not trusted and problem.votes is None:
            matrix = "auto"
        classes = np.arange(problem.n_classes)
        model = UnconfusedClassifier(
            base_for(name, problem), matrix, classes=classes, random_state=problem.seed
        )
        seen: Any = problem.seen
        if problem.votes is not None:
            seen = np.where(problem.votes >= 0, problem.votes, np.nan)
        truth = {"y_true": np.where(problem.truth >= 0, problem.truth, np.nan)} if trusted else {}
        return model.fit(problem.X, seen, **truth)

    return fit


def _clean_learning(name: str) -> Fit:
    def fit(problem: Problem, l2: float) -> Any:
        from cleanlab.classification import CleanLearning

        model = CleanLearning(
            base_for(name, problem), seed=problem.seed, find_label_issues_kwargs={"n_jobs": 1}
        )
        known = {} if problem.matrix is None else {"noise_matrix": problem.matrix.T}
        return model.fit(problem.X, problem.best_known, **known)

    return fit


ROLES: dict[str, tuple[str, Callable[[str], Fit], tuple[str, ...]]] = {
    "clean": ("clean labels", _on("seen"), ("clean",)),
    "noisy": ("noisy labels", _on("seen"), ("none",)),
    "trusted": ("trusted rows", _on("trusted"), ("trusted",)),
    "mixed": ("both mixed", _on("best known"), ("trusted",)),
    "cleanlab": ("CleanLearning", _clean_learning, ALL),
    "ours": ("UnconfusedClassifier", _ours, ALL),
}

METHODS = {
    f"{base} {role}": Method(
        f"{title}, {words}", fit(base), knowledge, tuned=False, ours=role == "ours", group=base
    )
    for base, (title, _, _) in BASES.items()
    for role, (words, fit, knowledge) in ROLES.items()
}


def _find_ours(name: str) -> Callable[[Problem], FloatArray]:
    def find(problem: Problem) -> FloatArray:
        model = problem.kept.get(f"{name} ours") or _ours(name)(problem, 0.0)
        if not hasattr(model, "cross_fitted_posterior_"):
            raise ValueError("There is no cross-fitted posterior.")
        return 1.0 - model.cross_fitted_posterior_[np.arange(problem.n_rows), problem.seen]

    return find


def _out_of_fold(name: str, problem: Problem) -> FloatArray:
    """Return out-of-fold probabilities, from which labels are ranked by cleanlab and by us."""
    key, labels = f"out of fold {name}", problem.best_known
    if key not in problem.kept:
        folds = StratifiedKFold(5, shuffle=True, random_state=problem.seed)
        base = clone(base_for(name, problem))
        problem.kept[key] = cross_val_predict(
            base, problem.X, labels, cv=folds, method="predict_proba"
        )
    return np.asarray(problem.kept[key])


def _find_by_probabilities(name: str) -> Callable[[Problem], FloatArray]:
    def find(problem: Problem) -> FloatArray:
        rows, matrix = np.flatnonzero(problem.truth < 0), cast(Any, problem.matrix)
        classes = np.arange(problem.n_classes)
        if len(problem.trusted):
            known = problem.trusted
            matrix = confusion.from_trusted(
                problem.truth[known], problem.seen[known], classes=classes
            )
        issues = confusion.rank_from_probabilities(
            _out_of_fold(name, problem)[rows], problem.seen[rows], matrix, classes=classes
        )
        suspicion = np.zeros(problem.n_rows)
        suspicion[rows[issues.row]] = issues.probability
        return suspicion

    return find


def _find_cleanlab(name: str, method: str) -> Callable[[Problem], FloatArray]:
    def find(problem: Problem) -> FloatArray:
        from cleanlab.rank import get_label_quality_scores

        scores = get_label_quality_scores(
            problem.best_known, _out_of_fold(name, problem), method=method
        )
        return np.asarray(1.0 - scores)

    return find


QUALITIES = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")

FINDERS = (
    {
        f"{base} find-ours": Finder(
            f"{title}, ours", _find_ours(base), ("known", *ALL[1:]), ours=True
        )
        for base, (title, _, _) in BASES.items()
    }
    | {
        f"{base} find-probabilities": Finder(
            f"{title}, ours, by probabilities", _find_by_probabilities(base), ALL
        )
        for base, (title, _, _) in BASES.items()
    }
    | {
        f"{base} find-{quality}": Finder(
            f"{title}, cleanlab {quality}", _find_cleanlab(base, quality), ALL
        )
        for base, (title, _, _) in BASES.items()
        for quality in QUALITIES
    }
)


def _cells(results: Results, role: str = "ours") -> Iterator[tuple[str, str, str, str]]:
    """Yield data, noise, knowledge and base of everything ours has a result for."""
    for data, noise, knowledge, method in sorted(results.places):
        base, _, own = method.partition(" ")
        if own == role:
            yield data, noise, knowledge, base


def _check(cell: tuple[str, str, str, str], outcome: str, met: bool) -> Check:
    data, noise, knowledge, base = cell
    words = f"{SOURCES[data].title}; {noise}; {knowledge}; {BASES[base][0]}"
    return Check(words, outcome, met, SOURCES[data].settled)


def _beside(rival: str, better: bool) -> Callable[[Results], Iterator[Check]]:
    """Compare cells of class-conditional noise with a rival around the same base."""

    def checks(results: Results) -> Iterator[Check]:
        for cell in _cells(results):
            *place, base = cell
            found = results.difference((*place, f"{base} ours"), (*place, f"{base} {rival}"))
            if found is None or cell[1] not in CLASS_CONDITIONAL:
                continue
            most = 2 * found.error
            met = found.mean < -most if better else found.mean <= most
            yield _check(cell, f"{found.mean:+.4f} (two errors: {most:.4f})", met)

    return checks


def pair_flips(results: Results) -> Iterator[Check]:
    """Pair flips with C known on Letter and Digits: near the error with clean labels."""
    for cell in _cells(results):
        data, noise, knowledge, base = cell
        named = data in ("digits-raw", "letter-raw")
        if not (named and noise.startswith("pair") and knowledge == "known"):
            continue
        own, clean = (*cell[:3], f"{base} ours"), clean_place(data, f"{base} clean")
        found = results.difference(own, clean)
        if found is not None:
            ceiling = results.mean(clean, beside=own)
            ratio = results.mean(own, beside=clean) / max(ceiling, 1e-9)
            met = ratio <= 1.35 or found.mean <= 2 * found.error
            yield _check(cell, f"{ratio:.2f} times {ceiling:.3f}", met)


def no_harm(results: Results) -> Iterator[Check]:
    """With trusted rows: not worse than the base on noisy, trusted or mixed labels."""
    for cell in _cells(results):
        data, noise, knowledge, base = cell
        for rival in ("noisy", "trusted", "mixed") if knowledge == "trusted" else ():
            place = (data, noise, "none" if rival == "noisy" else knowledge, f"{base} {rival}")
            found = results.difference((*cell[:3], f"{base} ours"), place)
            if found is not None:
                most = 2 * found.error
                outcome = f"{found.mean:+.4f} against {rival} (at most {most:.4f})"
                yield _check(cell, outcome, found.mean <= most)


def wrong_labels(finder: str) -> Callable[[Results], Iterator[Check]]:
    """Find wrong labels at least as well as the best of cleanlab's methods."""
    field = "average_precision"

    def checks(results: Results) -> Iterator[Check]:
        for cell in _cells(results, finder):
            *place, base = cell
            own = (*place, f"{base} {finder}")
            rivals = [(*place, f"{base} find-{quality}") for quality in QUALITIES]
            theirs = [results.mean(rival, field, beside=own) for rival in rivals]
            ours = results.mean(own, field)
            if np.isfinite(ours) and np.any(np.isfinite(theirs)):
                best = float(np.nanmax(theirs))
                yield _check(cell, f"{ours:.4f} against {best:.4f}", ours >= best - 5e-5)

    return checks


TARGETS = [
    Target(
        "Class-conditional noise: not worse than CleanLearning around the same base by two paired "
        "standard errors",
        _beside("cleanlab", better=False),
        0.95,
    ),
    Target(
        "Class-conditional noise: better than CleanLearning by two paired standard errors",
        _beside("cleanlab", better=True),
        0.5,
    ),
    Target(
        "Pair flips, C known, Letter and Digits: at most 1.35 times the error with clean labels, "
        "or within two paired standard errors of it",
        pair_flips,
        1.0,
    ),
    Target(
        "Trusted rows: not worse than the base on noisy, trusted or mixed labels by two paired "
        "standard errors",
        no_harm,
        0.95,
    ),
    Target(
        "Wrong labels, ranked by the fit: average precision at least that of cleanlab's best "
        "method",
        wrong_labels("find-ours"),
        0.95,
    ),
    Target(
        "Wrong labels, ranked by `rank_from_probabilities` from the same probabilities: average "
        "precision at least that of cleanlab's best method",
        wrong_labels("find-probabilities"),
        0.95,
    ),
]

BLOCK = Block(
    "any",
    "league_any",
    SETS,
    METHODS,
    FINDERS,
    TARGETS,
    "introduction_any.md",
    page=write_any_page,
)
