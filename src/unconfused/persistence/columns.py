"""The types of scikit-learn that a saved model may hold, and what each may hold itself.

What a type may hold is what its `fit` sets and its `predict` reads without checks. Add a type only
after reading what it does with every attribute: one that is called, opened or imported, or passed
to compiled code as an index, needs a check that rules out any harm.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn import (
    compose,
    decomposition,
    feature_extraction,
    impute,
    kernel_approximation,
    pipeline,
    preprocessing,
)

from unconfused._columns.steps import Named
from unconfused.persistence import checks as has
from unconfused.persistence.checks import Agree, Checks

WORD_PATTERNS = (r"(?u)\b\w\w+\b", r"(?u)\b\w+\b")
"""Patterns whose time is proportional to the text; others could run forever."""

ENCODINGS = ("utf-8", "utf8", "ascii", "latin-1", "latin1", "cp1252", "utf-16")
KERNELS = ("rbf", "cosine", "linear", "poly", "sigmoid")
LONGEST_NGRAM = 20


def _steps(value: Any, held: Any) -> bool:
    """Accept the steps of a pipeline: name and step."""
    return len(value) > 0 and has.several(has.record(has.text, has.setting))(value, held)


def _small(value: Any, held: Any) -> bool:
    return type(value) is int and 1 <= value <= LONGEST_NGRAM


def vocabulary(value: Any, held: Any) -> bool:
    """Accept words with each column once: the columns of words go into a sparse matrix unseen."""
    if type(value) is not dict or not all(isinstance(word, str) for word in value):
        return False
    columns = list(value.values())
    return all(isinstance(one, int) for one in columns) and (
        np.array_equal(np.sort(np.array(columns, dtype=object)), np.arange(len(columns)))
    )


def _words_agree(held: Mapping[str, Any]) -> bool:
    weights = getattr(held.get("_tfidf"), "idf_", None)
    return weights is None or len(weights) == len(held.get("vocabulary_", ()))


def _levels_agree(held: Mapping[str, Any]) -> bool:
    """Return whether each level has a column inside the matrix that the encoder makes."""
    if "categories_" not in held:
        return True
    categories = held["categories_"]
    rare = held.get("_infrequent_indices") or [None] * len(categories)
    places = held.get("_default_to_infrequent_mappings") or [None] * len(categories)
    if not held.get("_infrequent_enabled", False):
        rare = places = [None] * len(categories)
    widths = []
    for levels, few, place in zip(categories, rare, places, strict=True):
        width = len(levels) if few is None else len(levels) - len(few) + 1
        widths.append(width)
        if (few is None) != (place is None):
            return False
        if few is not None and not (
            len(few) >= 1
            and _inside(few, len(levels))
            and len(place) == len(levels)
            and _inside(place, width)
        ):
            return False
    return bool(held.get("_n_features_outs", widths) == widths)


def _inside(places: Any, width: int) -> bool:
    return len(places) == 0 or bool(places.min() >= 0 and places.max() < width)


_LEVELS: Checks = {
    "categories_": has.several(has.labels("*"), "d"),
    "_infrequent_enabled": has.flag,
    "_infrequent_indices _default_to_infrequent_mappings": has.several(
        has.optional(has.indices("*")), "d"
    ),
}

_COMPONENTS: Checks = {
    "components_": has.numbers("k", "d"),
    "explained_variance_ explained_variance_ratio_ singular_values_": has.numbers("k"),
}

_KERNEL: Checks = {
    "kernel": has.one_of(*KERNELS),
    "kernel_params": has.nothing,
}

_WORDS: Checks = {
    "input": has.one_of("content"),
    "encoding": has.one_of(*ENCODINGS),
    "preprocessor tokenizer": has.nothing,
    "analyzer": has.one_of("word", "char", "char_wb"),
    "token_pattern": has.one_of(None, *WORD_PATTERNS),
    "stop_words": has.either(has.one_of(None, "english"), has.several(has.text)),
    "ngram_range": has.record(_small, _small),
    "vocabulary": has.plain,
    "vocabulary_": vocabulary,
    "fixed_vocabulary_": has.flag,
    "_stop_words_id": has.number,
    "stop_words_": has.plain,
}

COLUMNS: dict[type, Checks] = {
    pipeline.Pipeline: {"steps": _steps, "memory": has.nothing},
    compose.ColumnTransformer: {
        "transformers transformers_": has.several(
            has.record(
                has.text,
                has.setting,
                has.either(has.plain, has.instance(compose.make_column_selector, Named)),
            )
        ),
        "_columns": has.several(has.plain),
        "_remainder": has.setting,
        "_transformer_to_input_indices": has.mapping(has.plain),
        "_name_to_fitted_passthrough": has.mapping(has.setting),
        "sparse_output_": has.flag,
        "output_indices_": has.mapping(has.plain),
        "_n_features": has.count,
    },
    compose.make_column_selector: {
        "pattern": has.nothing,
        "dtype_include dtype_exclude": has.plain,
    },
    impute.SimpleImputer: {
        "statistics_": has.labels("d"),
        "indicator_": has.nothing,
        "_fit_dtype _fill_dtype": has.scalar_type,
    },
    preprocessing.StandardScaler: {
        "n_samples_seen_": has.either(has.number, has.numbers("d")),
        "mean_ var_ scale_": has.optional(has.numbers("d")),
    },
    preprocessing.MaxAbsScaler: {
        "n_samples_seen_": has.number,
        "max_abs_ scale_": has.numbers("d"),
    },
    preprocessing.MinMaxScaler: {
        "n_samples_seen_": has.number,
        "min_ scale_ data_min_ data_max_ data_range_": has.numbers("d"),
    },
    preprocessing.Normalizer: {},
    preprocessing.FunctionTransformer: {
        "func inverse_func kw_args inv_kw_args": has.nothing,
        "feature_names_out": has.one_of(None, "one-to-one"),
    },
    preprocessing.OneHotEncoder: _LEVELS
    | {
        "_n_features_outs": has.several(has.count, "d"),
        "drop drop_idx_ _drop_idx_after_grouping": has.nothing,
        "feature_name_combiner": has.one_of("concat"),
    },
    preprocessing.OrdinalEncoder: _LEVELS | {"_missing_indices": has.mapping(has.count)},
    preprocessing.LabelEncoder: {},
    preprocessing.LabelBinarizer: {"y_type_": has.text, "sparse_input_": has.flag},
    preprocessing.KernelCenterer: {"K_fit_rows_": has.numbers("n"), "K_fit_all_": has.number},
    decomposition.PCA: _COMPONENTS
    | {
        "mean_": has.numbers("d"),
        "noise_variance_": has.number,
        "n_components_": has.size("k"),
        "n_samples_": has.count,
        "_fit_svd_solver": has.text,
    },
    decomposition.TruncatedSVD: _COMPONENTS,
    decomposition.KernelPCA: _KERNEL
    | {
        "_centerer": has.instance(preprocessing.KernelCenterer),
        "eigenvalues_": has.numbers("k"),
        "eigenvectors_": has.numbers("n", "k"),
        "X_fit_": has.matrix("n", "d"),
        "gamma_": has.number,
    },
    kernel_approximation.Nystroem: _KERNEL
    | {
        "components_": has.matrix("k", "d"),
        "component_indices_": has.indices("k"),
        "normalization_": has.numbers("k", "k"),
        "_n_features_out": has.count,
    },
    feature_extraction.text.CountVectorizer: _WORDS,
    feature_extraction.text.TfidfVectorizer: _WORDS
    | {"_tfidf": has.instance(feature_extraction.text.TfidfTransformer)},
    feature_extraction.text.TfidfTransformer: {"idf_": has.numbers("d")},
}

AGREE: dict[type, Agree] = {
    preprocessing.OneHotEncoder: _levels_agree,
    preprocessing.OrdinalEncoder: _levels_agree,
    feature_extraction.text.TfidfVectorizer: _words_agree,
}

PARTS = (compose.make_column_selector, preprocessing.KernelCenterer)
"""Never models or settings by themselves."""
