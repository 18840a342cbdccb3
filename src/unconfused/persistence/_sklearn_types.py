"""The types of scikit-learn that a saved model may hold, and what each may hold itself.

What a type may hold is what its `fit` sets and its `predict` reads without looking. Add a type only
after reading what it does with every attribute: one that calls, opens or imports what it is told
to, or hands indices to compiled code, needs a check that rules that out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import (
    compose,
    decomposition,
    ensemble,
    feature_extraction,
    impute,
    kernel_approximation,
    linear_model,
    pipeline,
    preprocessing,
    svm,
    tree,
)
from sklearn._loss import HalfBinomialLoss, HalfMultinomialLoss
from sklearn._loss._loss import CyHalfBinomialLoss, CyHalfSquaredError, CyHuberLoss
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.linear_model._sgd_fast import (
    EpsilonInsensitive,
    Hinge,
    ModifiedHuber,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from sklearn.tree._tree import Tree

from unconfused.persistence._checks import (
    Check,
    Kind,
    array,
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
from unconfused.persistence._trees import (
    boosted_nodes,
    boosting_agrees,
    forest_agrees,
    tree_agrees,
)

WORD_PATTERNS = (r"(?u)\b\w\w+\b", r"(?u)\b\w+\b")
"""Patterns that take time in proportion to the text; one from a file might take for ever."""

ENCODINGS = ("utf-8", "utf8", "ascii", "latin-1", "latin1", "cp1252", "utf-16")
KERNELS = ("rbf", "cosine", "linear", "poly", "sigmoid")
LONGEST_NGRAM = 20

LOSSES = (
    CyHalfBinomialLoss,
    CyHalfSquaredError,
    CyHuberLoss,
    EpsilonInsensitive,
    Hinge,
    ModifiedHuber,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
"""Losses of stochastic gradient descent: made anew from at most a number or two."""

MADE_ANEW: dict[type, Callable[[Any], Any]] = {
    HalfBinomialLoss: lambda n_classes: HalfBinomialLoss(),
    HalfMultinomialLoss: lambda n_classes: HalfMultinomialLoss(n_classes=n_classes),
}
"""Losses of gradient boosting, which hold functions: all that is read of them is a number."""

WIDTH: dict[str, Check] = {"n_features_in_": size("d"), "feature_names_in_": labels("d")}


def named_steps(value: Any, held: Any) -> bool:
    """Take the steps of a pipeline."""
    return (
        type(value) in (list, tuple)
        and len(value) > 0
        and all(type(one) in (list, tuple) and len(one) == 2 for one in value)
        and all(isinstance(one[0], str) and setting(one[1], held) for one in value)
    )


def column_steps(value: Any, held: Any) -> bool:
    """Take the parts of a column transformer: name, step, columns."""
    columns = either(plain, instance(compose.make_column_selector))
    return type(value) is list and all(
        type(one) is tuple
        and len(one) == 3
        and isinstance(one[0], str)
        and setting(one[1], held)
        and columns(one[2], held)
        for one in value
    )


def ngram_range(value: Any, held: Any) -> bool:
    """Take two small numbers: from how many words, to how many."""
    return (
        type(value) in (list, tuple)
        and len(value) == 2
        and all(type(one) is int and 1 <= one <= LONGEST_NGRAM for one in value)
    )


def vocabulary(value: Any, held: Any) -> bool:
    """Take words with each column once: the columns of words go into a sparse matrix unseen."""
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


def _machine_agrees(held: Mapping[str, Any]) -> bool:
    """Return whether a support vector machine counts as many vectors as it has."""
    if "support_" not in held:
        return True
    n, q = len(held["support_"]), len(held["classes_"])
    weights, per_class = held["_dual_coef_"], held["_n_support"]
    pairs = q * (q - 1) // 2
    return bool(
        q >= 2
        and held["shape_fit_"][1] == held["n_features_in_"]
        and bool(held["_sparse"]) == sparse.issparse(held["support_vectors_"])
        and sparse.issparse(weights) == sparse.issparse(held["support_vectors_"])
        and weights.shape == held["dual_coef_"].shape == (q - 1, n)
        and (not sparse.issparse(weights) or weights.nnz == (q - 1) * n)
        and len(per_class) == q
        and per_class.min() >= 0
        and per_class.sum(dtype=np.int64) == n
        and len(held["_intercept_"]) == len(held["intercept_"]) == pairs
        and len(held["_probA"]) == len(held["_probB"])
        and len(held["_probA"]) in (0, pairs)
    )


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
        {
            "func": nothing,
            "inverse_func": nothing,
            "feature_names_out": one_of(None, "one-to-one"),
            "kw_args": nothing,
            "inv_kw_args": nothing,
        },
    ),
    preprocessing.OneHotEncoder: Kind(
        WIDTH
        | {
            "categories_": several(labels("*"), "d"),
            "_infrequent_enabled": flag,
            "_infrequent_indices": several(optional(indices("*")), "d"),
            "_default_to_infrequent_mappings": several(optional(indices("*")), "d"),
            "_n_features_outs": several(count, "d"),
            "_drop_idx_after_grouping": nothing,
            "drop_idx_": nothing,
        },
        {"drop": nothing, "dtype": scalar_type, "feature_name_combiner": one_of("concat")},
        _levels_agree,
    ),
    preprocessing.OrdinalEncoder: Kind(
        WIDTH
        | {
            "categories_": several(labels("*"), "d"),
            "_infrequent_enabled": flag,
            "_infrequent_indices": several(optional(indices("*")), "d"),
            "_default_to_infrequent_mappings": several(optional(indices("*")), "d"),
            "_missing_indices": mapping(count),
        },
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
        WIDTH
        | {"components_": numbers("k", "d"), "mean_": numbers("d"), "noise_variance_": number}
        | {"n_components_": size("k"), "n_samples_": count, "_fit_svd_solver": text}
        | dict.fromkeys(
            ("explained_variance_", "explained_variance_ratio_", "singular_values_"), numbers("k")
        )
    ),
    decomposition.TruncatedSVD: Kind(
        WIDTH
        | {"components_": numbers("k", "d")}
        | dict.fromkeys(
            ("explained_variance_", "explained_variance_ratio_", "singular_values_"), numbers("k")
        )
    ),
    decomposition.KernelPCA: Kind(
        WIDTH
        | {
            "_centerer": instance(preprocessing.KernelCenterer),
            "eigenvalues_": numbers("k"),
            "eigenvectors_": numbers("n", "k"),
            "X_fit_": matrix("n", "d"),
            "gamma_": number,
        },
        {"kernel": one_of(*KERNELS), "kernel_params": nothing, "n_jobs": jobs},
    ),
    kernel_approximation.Nystroem: Kind(
        WIDTH
        | {
            "components_": matrix("k", "d"),
            "component_indices_": indices("k"),
            "normalization_": numbers("k", "k"),
            "_n_features_out": count,
        },
        {"kernel": one_of(*KERNELS), "kernel_params": nothing, "n_jobs": jobs},
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

_LINEAR: dict[str, Check] = WIDTH | {
    "classes_": labels("Q"),
    "coef_": matrix("R", "d"),
    "intercept_": either(number, numbers("R")),
    "n_iter_": either(count, indices("iterations")),
}

_DESCENT: dict[str, Check] = _LINEAR | {
    "t_": number,
    "_expanded_class_weight": numbers("Q"),
    "_standard_coef": optional(either(numbers("R", "d"), numbers("d"))),
    "_standard_intercept": optional(numbers("R")),
    "_average_coef": optional(either(numbers("R", "d"), numbers("d"))),
    "_average_intercept": optional(numbers("R")),
    "_loss_function_": instance(*LOSSES),
}

LINEAR: dict[type, Kind] = {
    linear_model.LogisticRegression: Kind(_LINEAR, {"n_jobs": jobs}),
    linear_model.RidgeClassifier: Kind(
        _LINEAR
        | {
            "coef_": either(numbers("R", "d"), numbers("d")),
            "n_iter_": plain,
            "solver_": text,
            "_label_binarizer": instance(preprocessing.LabelBinarizer),
        }
    ),
    linear_model.SGDClassifier: Kind(_DESCENT, {"n_jobs": jobs}),
    linear_model.Perceptron: Kind(
        _DESCENT
        | {"loss": one_of("perceptron"), "learning_rate": text}
        | {"epsilon": number, "power_t": number, "average": one_of(False)},
        {"n_jobs": jobs},
    ),
    svm.LinearSVC: Kind(_LINEAR),
    svm.SVC: Kind(
        WIDTH
        | {
            "classes_": labels("Q"),
            "support_": array("i", "n"),
            "support_vectors_": matrix("n", "d"),
            "_n_support": array("i", "Q"),
            "dual_coef_": matrix("others", "n"),
            "_dual_coef_": matrix("others", "n"),
            "intercept_": array("f", "pairs"),
            "_intercept_": array("f", "pairs"),
            "_probA": array("f", "probabilities"),
            "_probB": array("f", "probabilities"),
            "class_weight_": numbers("Q"),
            "n_iter_": indices("iterations"),
            "_num_iter": indices("iterations"),
            "shape_fit_": several(count),
            "fit_status_": count,
            "_gamma": number,
            "nu": number,
            "epsilon": number,
            "_effective_probability": flag,
            "_sparse": flag,
        },
        {"kernel": one_of(*(name for name in KERNELS if name != "cosine"))},
        _machine_agrees,
    ),
}

_ONE_TREE = (tree.DecisionTreeClassifier, tree.ExtraTreeClassifier)

_GROWN: dict[str, Check] = WIDTH | {
    "classes_": labels("Q"),
    "n_classes_": size("Q"),
    "n_outputs_": one_of(1),
}

_FOREST = Kind(
    _GROWN
    | {
        "estimator": instance(*_ONE_TREE),
        "estimator_": instance(*_ONE_TREE),
        "estimators_": several(instance(*_ONE_TREE)),
        "estimator_params": several(text),
        "_n_samples": count,
        "_n_samples_bootstrap": optional(count),
        "_sample_weight": nothing,
        "oob_score_": number,
        "oob_decision_function_": numbers("rows", "Q"),
    },
    {"n_jobs": jobs},
    forest_agrees,
)

TREES: dict[type, Kind] = {
    **dict.fromkeys(
        _ONE_TREE, Kind(_GROWN | {"max_features_": count, "tree_": instance(Tree)}, {}, tree_agrees)
    ),
    ensemble.RandomForestClassifier: _FOREST,
    ensemble.ExtraTreesClassifier: _FOREST,
    ensemble.HistGradientBoostingClassifier: Kind(
        WIDTH
        | {
            "classes_": labels("Q"),
            "is_categorical_": nothing,
            "_is_categorical_remapped": nothing,
            "_preprocessor": nothing,
            "_label_encoder": instance(preprocessing.LabelEncoder),
            "n_trees_per_iteration_": count,
            "_n_features": size("d"),
            "_random_seed": number,
            "_feature_subsample_rng": instance(np.random.Generator),
            "_loss": instance(HalfBinomialLoss, HalfMultinomialLoss),
            "do_early_stopping_": flag,
            "_use_validation_data": flag,
            "_bin_mapper": instance(_BinMapper),
            "_baseline_prediction": array("f", 1, "K"),
            "_predictors": several(several(instance(TreePredictor))),
            "_scorer": nothing,
            "train_score_": numbers("scores"),
            "validation_score_": numbers("checks"),
            "_fitted_with_sw": flag,
        },
        {"scoring": optional(text)},
        boosting_agrees,
    ),
    TreePredictor: Kind(
        {
            "nodes": boosted_nodes,
            "binned_left_cat_bitsets": array("u", 0, 8),
            "raw_left_cat_bitsets": array("u", 0, 8),
        },
        is_part=True,
    ),
    _BinMapper: Kind(
        {
            "is_categorical_": lambda value, held: (
                array("biu", "d")(value, held) and not value.any()
            ),
            "missing_values_bin_idx_": count,
            "bin_thresholds_": several(numbers("*"), "d"),
            "n_bins_non_missing_": indices("d"),
        },
        {"is_categorical": nothing, "known_categories": nothing, "n_threads": jobs},
        is_part=True,
    ),
}

SKLEARN_TYPES: dict[type, Kind] = {**COLUMNS, **TEXT, **LINEAR, **TREES}
