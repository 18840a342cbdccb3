"""Confusion matrices of common kinds of noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy as np

from unconfused._arguments import check_count, check_share
from unconfused._arguments import random_state as make_random_state
from unconfused._matrix_labels import check_confusion
from unconfused._text import import_extra
from unconfused._typing import ArrayLike, FloatArray, Seed


def symmetric(n_classes: int, rate: float) -> FloatArray:
    """Confusion matrix of symmetric noise: wrong labels are uniform over the other classes.

    Parameters
    ----------
    n_classes : number of classes, at least 2
    rate : probability of a wrong label

    Examples
    --------
    >>> from unconfused.noise import symmetric
    >>> symmetric(3, 0.2)
    array([[0.8, 0.1, 0.1],
           [0.1, 0.8, 0.1],
           [0.1, 0.1, 0.8]])
    """
    n_classes = check_count(n_classes, "n_classes", 2)
    rate = check_share(rate, "rate")
    matrix = np.full((n_classes, n_classes), rate / (n_classes - 1))
    np.fill_diagonal(matrix, 1.0 - rate)
    return matrix


def pairwise(n_classes: int, rate: float, *, pairs: Mapping[int, int] | None = None) -> FloatArray:
    """Confusion matrix of pairwise noise: each class is mislabelled as one other class.

    Parameters
    ----------
    n_classes : number of classes, at least 2
    rate : probability of a wrong label, for classes in `pairs`
    pairs : maps the index of a class to that of its wrong label; classes left out have no noise. By
        default class k is mislabelled as k + 1, and the last class as the first

    Examples
    --------
    >>> from unconfused.noise import pairwise
    >>> pairwise(3, 0.25)
    array([[0.75, 0.25, 0.  ],
           [0.  , 0.75, 0.25],
           [0.25, 0.  , 0.75]])
    >>> pairwise(3, 0.25, pairs={2: 0})
    array([[1.  , 0.  , 0.  ],
           [0.  , 1.  , 0.  ],
           [0.25, 0.  , 0.75]])
    """
    n_classes = check_count(n_classes, "n_classes", 2)
    rate = check_share(rate, "rate")
    if pairs is None:
        pairs = {k: (k + 1) % n_classes for k in range(n_classes)}
    matrix = np.eye(n_classes)
    for true, observed in pairs.items():
        for index in (true, observed):
            if not isinstance(index, Integral) or not 0 <= index < n_classes:
                raise ValueError(
                    f"pairs must map class indices from 0 to {n_classes - 1}; got {index!r}."
                )
        if true == observed:
            raise ValueError(f"pairs maps class {true} to itself; leave it out instead.")
        matrix[true, true] = 1.0 - rate
        matrix[true, observed] = rate
    return matrix


def label_sets(sets: Mapping[Any, Iterable[Any]]) -> Any:
    """Confusion matrix of labels that each stand for several classes.

    A row gets each of the labels that allow its class with the same probability. Use it for coarse
    labels, labels that only exclude a class ("not a cat"), and sets of candidates.

    Parameters
    ----------
    sets : mapping from a label to the classes it allows

    Returns
    -------
    DataFrame with the classes as its index and the labels as its columns

    Examples
    --------
    >>> from unconfused.noise import label_sets
    >>> label_sets({"pet": ["cat", "dog"], "farm": ["cow"]})
         farm  pet
    cat   0.0  1.0
    cow   1.0  0.0
    dog   0.0  1.0
    >>> label_sets({"not a": "bc", "not b": "ac", "not c": "ab"})
       not a  not b  not c
    a    0.0    0.5    0.5
    b    0.5    0.0    0.5
    c    0.5    0.5    0.0
    """
    pd = import_extra("pandas", "data", "label_sets")
    allowed = {label: list(classes) for label, classes in sets.items()}
    classes = np.unique(np.array([one for some in allowed.values() for one in some]))
    labels = np.unique(np.array(list(allowed)))
    table = pd.DataFrame(0.0, index=classes, columns=labels)
    for label, some in allowed.items():
        table.loc[some, label] = 1.0
    return table.div(table.sum(axis=1), axis=0)


def random_confusion(
    n_classes: int, *, strength: float = 1.0, random_state: Seed = None
) -> FloatArray:
    """Draw a random invertible confusion matrix.

    A matrix M with uniform entries, rows divided by their sums, is redrawn until it is invertible,
    as in the toy experiments of Louche and Ralaivola. Labels through M are right with probability
    1/Q on average, which is very noisy. For less noise, `strength` mixes M with the identity: in
    ``(1 - strength) * I + strength * M``, labels are wrong with probability
    ``strength * (1 - 1/Q)`` on average over draws.

    Parameters
    ----------
    n_classes : number of classes Q, at least 2
    strength : 0 for no noise, 1 for M itself
    random_state : seed of the draw, which gives the same M for every strength, up to redraws

    Examples
    --------
    >>> from unconfused.noise import random_confusion
    >>> random_confusion(3, strength=0.3, random_state=0).round(2)
    array([[0.79, 0.11, 0.1 ],
           [0.1 , 0.78, 0.12],
           [0.06, 0.12, 0.83]])
    """
    n_classes = check_count(n_classes, "n_classes", 2)
    strength = check_share(strength, "strength")
    rng = make_random_state(random_state)
    while True:
        entries = rng.random_sample((n_classes, n_classes))
        mixed = scale_noise(entries / entries.sum(axis=1, keepdims=True), strength)
        if np.linalg.matrix_rank(mixed) == n_classes:
            return mixed


def drift_family(
    reference: ArrayLike | int,
    n_steps: int = 20,
    *,
    reference_step: int = 10,
    random_state: Seed = None,
) -> FloatArray:
    """Family of confusion matrices from the identity to a reference matrix M and beyond.

    Member i (from 1 to `n_steps`) is ``I + i (M - I) / reference_step`` with negative entries set
    to 0 and rows divided by their sums. Member `reference_step` is M; later ones move more mass off
    the diagonal. The defaults give the family of the toy experiments of Louche and Ralaivola.
    Members are not necessarily invertible.

    Parameters
    ----------
    reference : the matrix M, or a number of classes to draw M with `random_confusion`
    n_steps : number of members
    reference_step : index i of the member that equals M
    random_state : seed, used when the reference is drawn

    Returns
    -------
    (n_steps, n_classes, n_classes), member i at index ``i - 1``

    Examples
    --------
    >>> from unconfused.noise import drift_family
    >>> family = drift_family([[0.7, 0.3], [0.6, 0.4]])
    >>> family.shape
    (20, 2, 2)
    >>> family[[0, 9, 19]].round(2)
    array([[[0.97, 0.03],
            [0.06, 0.94]],
           [[0.7 , 0.3 ],
            [0.6 , 0.4 ]],
           [[0.4 , 0.6 ],
            [1.  , 0.  ]]])
    """
    check_count(n_steps, "n_steps", 1)
    check_count(reference_step, "reference_step", 1)
    if isinstance(reference, Integral):
        matrix = random_confusion(int(reference), random_state=random_state)
    else:
        matrix = check_confusion(reference)
    return np.stack([scale_noise(matrix, i / reference_step) for i in range(1, n_steps + 1)])


def scale_noise(matrix: FloatArray, factor: float) -> FloatArray:
    """Make every mistake `factor` times as frequent; a row cannot err more than always.

    Examples
    --------
    >>> scale_noise(np.array([[0.9, 0.1], [0.5, 0.5]]), 1.2).round(2)
    array([[0.88, 0.12],
           [0.6 , 0.4 ]])
    """
    identity = np.eye(len(matrix))
    clipped = np.maximum(identity + factor * (matrix - identity), 0.0)
    return np.asarray(clipped / clipped.sum(axis=1, keepdims=True))
