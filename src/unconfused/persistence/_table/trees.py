"""Validation of trees from a file: children come after their parents, and features exist.

scikit-learn follows the indices in a tree without checking them: a child of 10⁹ reads foreign
memory, and a child that is its own parent makes an endless loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.tree._tree import NODE_DTYPE, Tree

from unconfused.persistence._table.checks import Held
from unconfused.persistence.errors import ModelFileError

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


def boosting_agrees(held: Mapping[str, Any]) -> bool:
    """Return whether the trees of a histogram gradient boosting are of rows like the model's."""
    if "_predictors" not in held:  # not fitted
        return True
    width, mapper = held.get("n_features_in_"), held.get("_bin_mapper")
    per_round = held.get("n_trees_per_iteration_", 1)
    classes = len(held.get("classes_", ()))
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


def tree_agrees(held: Mapping[str, Any]) -> bool:
    """Return whether a tree is of rows and classes like the model's."""
    tree = held.get("tree_")
    if tree is None:
        return True
    return bool(
        tree.n_features == held.get("n_features_in_")
        and tree.n_classes[0] == len(held.get("classes_", ()))
    )


def forest_agrees(held: Mapping[str, Any]) -> bool:
    """Return whether all trees of a forest are of rows and classes like the forest's."""
    trees = held.get("estimators_", ())
    return all(
        tree.n_features_in_ == held.get("n_features_in_")
        and len(tree.classes_) == len(held.get("classes_", ()))
        for tree in trees
    )
