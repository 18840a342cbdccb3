"""Linear models, machines and trees that a saved model may hold; read `columns` first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import ensemble, linear_model, preprocessing, svm, tree
from sklearn._loss import HalfBinomialLoss, HalfMultinomialLoss
from sklearn._loss._loss import CyHalfBinomialLoss, CyHalfSquaredError, CyHuberLoss
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.linear_model._sgd_fast import (
    EpsilonInsensitive,
    Hinge,
    ModifiedHuber,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from sklearn.tree._tree import NODE_DTYPE, Tree

from unconfused.persistence import checks as has
from unconfused.persistence.checks import Agree, Checks, Held, ModelFileError
from unconfused.persistence.columns import KERNELS

LEAF = -1


def make_tree(arguments: Any, state: Any) -> Tree:
    """Return a tree, once its nodes have been checked."""
    n_features, n_classes, n_outputs = arguments
    nodes, values = state["nodes"], state["values"]
    good = (
        type(n_features) is type(n_outputs) is int
        and n_outputs == 1
        and n_features >= 1
        and n_classes.dtype == np.intp
        and n_classes.shape == (1,)
        and nodes.dtype == NODE_DTYPE
        and nodes.ndim == 1
        and len(nodes) >= 1
        and values.dtype == np.float64
        and values.shape == (len(nodes), 1, int(n_classes[0]))
        and type(state["node_count"]) is int
        and state["node_count"] == len(nodes)
        and type(state["max_depth"]) is int
        and set(state) == {"nodes", "values", "node_count", "max_depth"}
    )
    if not good or not _leads_on(nodes, n_features, state["max_depth"]):
        raise ModelFileError("it holds an invalid tree")
    tree = Tree(n_features, n_classes, n_outputs)
    # Trees are read in order of memory.
    state = state | {"nodes": np.ascontiguousarray(nodes), "values": np.ascontiguousarray(values)}
    tree.__setstate__(state)
    return tree


def _leads_on(nodes: Any, n_features: int, max_depth: int) -> bool:
    left, right, feature = nodes["left_child"], nodes["right_child"], nodes["feature"]
    inner = left != LEAF
    return bool(
        np.all(right[~inner] == LEAF)
        and np.all((feature >= 0) & (feature < n_features), where=inner)
        and 0 <= max_depth < len(nodes)
        # Paths are written into room for as many nodes as the tree is said to be deep.
        and _depth(left, right, inner) <= max_depth
    )


def _depth(left: Any, right: Any, inner: Any) -> int:
    """Return how deep a tree is, or raise: each node but the root is the child of an earlier one.

    One parent for each node is what makes this end, here and in scikit-learn.
    """
    place = np.arange(len(left))
    children = np.concatenate([left[inner], right[inner]]).astype(np.int64)
    parents = np.concatenate([place[inner], place[inner]])
    if not (np.array_equal(np.sort(children), place[1:]) and np.all(children > parents)):
        raise ModelFileError("it holds an invalid tree")
    depth, level = 0, place[:1]
    while len(level := level[inner[level]]):
        level = np.concatenate([left[level], right[level]]).astype(np.int64)
        depth += 1
    return depth


def boosted_nodes(value: Any, held: Held) -> bool:
    """Accept nodes of a tree of a histogram gradient boosting, without categories."""
    if not isinstance(value, np.ndarray) or value.dtype != PREDICTOR_RECORD_DTYPE:
        return False
    inner = value["is_leaf"] == 0
    return bool(
        value.ndim == 1
        and len(value) >= 1
        and not np.any(value["is_categorical"])
        and np.all(value["feature_idx"] >= 0, where=inner)
        and _depth(value["left"], value["right"], inner) < len(value)
    )


def _boosting_agrees(held: Mapping[str, Any]) -> bool:
    """Return whether the trees of a histogram gradient boosting are of rows like the model's."""
    if "_predictors" not in held:  # not fitted
        return True
    (width, classes), mapper = _sizes(held), held.get("_bin_mapper")
    per_round = held.get("n_trees_per_iteration_", 1)
    return (
        mapper is not None
        and len(mapper.is_categorical_) == width
        and per_round == (1 if classes == 2 else classes)
        and held["_baseline_prediction"].shape == (1, per_round)
        and all(
            len(trees) == per_round
            and all(
                np.all(tree.nodes["feature_idx"] < width, where=tree.nodes["is_leaf"] == 0)
                for tree in trees
            )
            for trees in held["_predictors"]
        )
    )


def _tree_agrees(held: Mapping[str, Any]) -> bool:
    """Return whether a tree is of rows and classes like the model's."""
    sizes, tree = _sizes(held), held.get("tree_")
    return tree is None or sizes == (tree.n_features, tree.n_classes[0])


def _forest_agrees(held: Mapping[str, Any]) -> bool:
    """Return whether all trees of a forest are of rows and classes like the forest's."""
    return all(_sizes(vars(tree)) == _sizes(held) for tree in held.get("estimators_", ()))


def _sizes(held: Mapping[str, Any]) -> tuple[Any, int]:
    return held.get("n_features_in_"), len(held.get("classes_", ()))


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
"""Losses of stochastic gradient descent, rebuilt from at most two numbers."""

MADE_ANEW: dict[type, Callable[[Any], Any]] = {
    HalfBinomialLoss: lambda n_classes: HalfBinomialLoss(),
    HalfMultinomialLoss: lambda n_classes: HalfMultinomialLoss(n_classes=n_classes),
}
"""Losses of gradient boosting, which hold functions: all that is read of them is a number."""


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


_ONE_TREE = (tree.DecisionTreeClassifier, tree.ExtraTreeClassifier)
_FORESTS = (ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier)

_GROWN: Checks = {"n_classes_": has.size("Q"), "n_outputs_": has.one_of(1)}

_FOREST: Checks = _GROWN | {
    "estimator estimator_": has.instance(*_ONE_TREE),
    "estimators_": has.several(has.instance(*_ONE_TREE)),
    "estimator_params": has.several(has.text),
    "_n_samples": has.count,
    "_n_samples_bootstrap": has.optional(has.count),
    "_sample_weight": has.optional(has.numbers("rows")),
    "oob_score_": has.number,
    "oob_decision_function_": has.numbers("rows", "Q"),
}

_LINEAR: Checks = {
    "coef_": has.matrix("R", "d"),
    "intercept_": has.either(has.number, has.numbers("R")),
    "n_iter_": has.either(has.count, has.indices("iterations")),
}

_DESCENT: Checks = _LINEAR | {
    "t_": has.number,
    "_expanded_class_weight": has.numbers("Q"),
    "_standard_coef _average_coef": has.optional(
        has.either(has.numbers("R", "d"), has.numbers("d"))
    ),
    "_standard_intercept _average_intercept": has.optional(has.numbers("R")),
    "_loss_function_": has.instance(*LOSSES),
}

LEARNERS: dict[type, Checks] = {
    linear_model.LogisticRegression: _LINEAR,
    linear_model.RidgeClassifier: _LINEAR
    | {
        "coef_": has.either(has.numbers("R", "d"), has.numbers("d")),
        "n_iter_": has.plain,
        "solver_": has.text,
        "_label_binarizer": has.instance(preprocessing.LabelBinarizer),
    },
    linear_model.SGDClassifier: _DESCENT,
    linear_model.Perceptron: _DESCENT
    | {
        "loss": has.one_of("perceptron"),
        "learning_rate": has.text,
        "epsilon power_t": has.number,
        "average": has.one_of(False),
    },
    svm.LinearSVC: _LINEAR,
    svm.SVC: {
        "support_": has.array("i", "n"),
        "support_vectors_": has.matrix("n", "d"),
        "_n_support": has.array("i", "Q"),
        "class_weight_": has.numbers("Q"),
        "shape_fit_": has.several(has.count),
        "fit_status_": has.count,
        "dual_coef_ _dual_coef_": has.matrix("others", "n"),
        "intercept_ _intercept_": has.array("f", "pairs"),
        "_probA _probB": has.array("f", "probabilities"),
        "n_iter_ _num_iter": has.indices("iterations"),
        "_gamma nu epsilon": has.number,
        "_effective_probability _sparse": has.flag,
        "kernel": has.one_of(*(name for name in KERNELS if name != "cosine")),
    },
    **dict.fromkeys(_ONE_TREE, _GROWN | {"max_features_": has.count, "tree_": has.instance(Tree)}),
    **dict.fromkeys(_FORESTS, _FOREST),
    ensemble.HistGradientBoostingClassifier: {
        "_label_encoder": has.instance(preprocessing.LabelEncoder),
        "n_trees_per_iteration_": has.count,
        "_n_features": has.size("d"),
        "_random_seed": has.number,
        "_feature_subsample_rng": has.instance(np.random.Generator),
        "_loss": has.instance(HalfBinomialLoss, HalfMultinomialLoss),
        "_bin_mapper": has.instance(_BinMapper),
        "_baseline_prediction": has.array("f", 1, "K"),
        "_predictors": has.several(has.several(has.instance(TreePredictor))),
        "train_score_": has.numbers("scores"),
        "validation_score_": has.numbers("checks"),
        "is_categorical_ _is_categorical_remapped _preprocessor _scorer": has.nothing,
        "do_early_stopping_ _use_validation_data _fitted_with_sw": has.flag,
        "scoring": has.optional(has.text),
    },
    TreePredictor: {
        "nodes": boosted_nodes,
        "binned_left_cat_bitsets raw_left_cat_bitsets": has.array("u", 0, 8),
    },
    _BinMapper: {
        "is_categorical_": lambda value, held: (
            has.array("biu", "d")(value, held) and not value.any()
        ),
        "missing_values_bin_idx_": has.count,
        "bin_thresholds_": has.several(has.numbers("*"), "d"),
        "n_bins_non_missing_": has.indices("d"),
        "is_categorical known_categories": has.nothing,
        "n_threads": has.jobs,
    },
}

AGREE: dict[type, Agree] = {
    svm.SVC: _machine_agrees,
    **dict.fromkeys(_ONE_TREE, _tree_agrees),
    **dict.fromkeys(_FORESTS, _forest_agrees),
    ensemble.HistGradientBoostingClassifier: _boosting_agrees,
}

PARTS = (TreePredictor, _BinMapper)
"""Never models or settings by themselves."""
