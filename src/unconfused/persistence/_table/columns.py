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
from unconfused.persistence._table.checks import (
    Check,
    Kind,
    count,
    either,
    flag,
    indices,
    instance,
    jobs,
    labels,
    mapping,
    matrix,
    nothing,
    number,
    numbers,
    one_of,
    optional,
    plain,
    scalar_type,
    setting,
    several,
    size,
    text,
)

WORD_PATTERNS = (r"(?u)\b\w\w+\b", r"(?u)\b\w+\b")
"""Patterns whose time is proportional to the text; others could run forever."""

ENCODINGS = ("utf-8", "utf8", "ascii", "latin-1", "latin1", "cp1252", "utf-16")
KERNELS = ("rbf", "cosine", "linear", "poly", "sigmoid")
LONGEST_NGRAM = 20

WIDTH: dict[str, Check] = {"n_features_in_": size("d"), "feature_names_in_": labels("d")}


def named_steps(value: Any, held: Any) -> bool:
    """Accept the steps of a pipeline."""
    return (
        type(value) in (list, tuple)
        and len(value) > 0
        and all(type(one) in (list, tuple) and len(one) == 2 for one in value)
        and all(isinstance(one[0], str) and setting(one[1], held) for one in value)
    )


def column_steps(value: Any, held: Any) -> bool:
    """Accept the parts of a column transformer: name, step, columns."""
    columns = either(plain, instance(compose.make_column_selector, Named))
    return type(value) is list and all(
        type(one) is tuple
        and len(one) == 3
        and isinstance(one[0], str)
        and setting(one[1], held)
        and columns(one[2], held)
        for one in value
    )


def ngram_range(value: Any, held: Any) -> bool:
    """Accept two small numbers: from how many words, to how many."""
    return (
        type(value) in (list, tuple)
        and len(value) == 2
        and all(type(one) is int and 1 <= one <= LONGEST_NGRAM for one in value)
    )


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


_LEVELS: dict[str, Check] = WIDTH | {
    "categories_": several(labels("*"), "d"),
    "_infrequent_enabled": flag,
    "_infrequent_indices": several(optional(indices("*")), "d"),
    "_default_to_infrequent_mappings": several(optional(indices("*")), "d"),
}

_COMPONENTS: dict[str, Check] = WIDTH | {
    "components_": numbers("k", "d"),
    "explained_variance_": numbers("k"),
    "explained_variance_ratio_": numbers("k"),
    "singular_values_": numbers("k"),
}

_KERNEL: dict[str, Check] = {
    "kernel": one_of(*KERNELS),
    "kernel_params": nothing,
    "n_jobs": jobs,
}

COLUMNS: dict[type, Kind] = {
    pipeline.Pipeline: Kind(settings={"steps": named_steps, "memory": nothing}),
    compose.ColumnTransformer: Kind(
        WIDTH
        | {
            "transformers_": column_steps,
            "_columns": several(plain),
            "_remainder": setting,
            "_transformer_to_input_indices": mapping(plain),
            "_name_to_fitted_passthrough": mapping(setting),
            "sparse_output_": flag,
            "output_indices_": mapping(plain),
            "_n_features": count,
        },
        {"transformers": column_steps, "n_jobs": jobs},
    ),
    compose.make_column_selector: Kind(
        {"pattern": nothing, "dtype_include": plain, "dtype_exclude": plain}, is_part=True
    ),
    impute.SimpleImputer: Kind(
        WIDTH
        | {
            "statistics_": labels("d"),
            "indicator_": nothing,
            "_fit_dtype": scalar_type,
            "_fill_dtype": scalar_type,
        }
    ),
    preprocessing.StandardScaler: Kind(
        WIDTH
        | {"n_samples_seen_": either(number, numbers("d"))}
        | dict.fromkeys(("mean_", "var_", "scale_"), optional(numbers("d")))
    ),
    preprocessing.MaxAbsScaler: Kind(
        WIDTH | {"n_samples_seen_": number, "max_abs_": numbers("d"), "scale_": numbers("d")}
    ),
    preprocessing.MinMaxScaler: Kind(
        WIDTH
        | {"n_samples_seen_": number}
        | dict.fromkeys(("min_", "scale_", "data_min_", "data_max_", "data_range_"), numbers("d"))
    ),
    preprocessing.Normalizer: Kind(WIDTH),
    preprocessing.FunctionTransformer: Kind(
        WIDTH,
        dict.fromkeys(("func", "inverse_func", "kw_args", "inv_kw_args"), nothing)
        | {"feature_names_out": one_of(None, "one-to-one")},
    ),
    preprocessing.OneHotEncoder: Kind(
        _LEVELS
        | {"_n_features_outs": several(count, "d")}
        | {"_drop_idx_after_grouping": nothing, "drop_idx_": nothing},
        {"drop": nothing, "dtype": scalar_type, "feature_name_combiner": one_of("concat")},
        _levels_agree,
    ),
    preprocessing.OrdinalEncoder: Kind(
        _LEVELS | {"_missing_indices": mapping(count)},
        {"dtype": scalar_type},
        _levels_agree,
    ),
    preprocessing.LabelEncoder: Kind({"classes_": labels("Q")}),
    preprocessing.LabelBinarizer: Kind(
        {"classes_": labels("Q"), "y_type_": text, "sparse_input_": flag}
    ),
    preprocessing.KernelCenterer: Kind(
        WIDTH | {"K_fit_rows_": numbers("n"), "K_fit_all_": number}, is_part=True
    ),
    decomposition.PCA: Kind(
        _COMPONENTS
        | {"mean_": numbers("d"), "noise_variance_": number, "n_components_": size("k")}
        | {"n_samples_": count, "_fit_svd_solver": text}
    ),
    decomposition.TruncatedSVD: Kind(_COMPONENTS),
    decomposition.KernelPCA: Kind(
        WIDTH
        | {
            "_centerer": instance(preprocessing.KernelCenterer),
            "eigenvalues_": numbers("k"),
            "eigenvectors_": numbers("n", "k"),
            "X_fit_": matrix("n", "d"),
            "gamma_": number,
        },
        _KERNEL,
    ),
    kernel_approximation.Nystroem: Kind(
        WIDTH
        | {
            "components_": matrix("k", "d"),
            "component_indices_": indices("k"),
            "normalization_": numbers("k", "k"),
            "_n_features_out": count,
        },
        _KERNEL,
    ),
}

_WORD_SETTINGS: dict[str, Check] = {
    "input": one_of("content"),
    "encoding": one_of(*ENCODINGS),
    "preprocessor": nothing,
    "tokenizer": nothing,
    "analyzer": one_of("word", "char", "char_wb"),
    "token_pattern": one_of(None, *WORD_PATTERNS),
    "stop_words": either(one_of(None, "english"), several(text)),
    "ngram_range": ngram_range,
    "vocabulary": plain,
    "dtype": scalar_type,
}

_WORDS: dict[str, Check] = {
    "vocabulary_": vocabulary,
    "fixed_vocabulary_": flag,
    "_stop_words_id": number,
    "stop_words_": plain,
}

TEXT: dict[type, Kind] = {
    feature_extraction.text.CountVectorizer: Kind(_WORDS, _WORD_SETTINGS),
    feature_extraction.text.TfidfVectorizer: Kind(
        _WORDS | {"_tfidf": instance(feature_extraction.text.TfidfTransformer)},
        _WORD_SETTINGS,
        _words_agree,
    ),
    feature_extraction.text.TfidfTransformer: Kind(WIDTH | {"idf_": numbers("d")}),
}
