"""How far votes, and a model fitted to them, can be believed: judged by votes held out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import softmax

from unconfused._typing import FloatArray
from unconfused.confusion._dawid_skene import Crowd
from unconfused.estimators.annotators.crowd import annotator_matrices

FOLDS = 5
STEPS = 5
"""Turns between truth and matrices after votes were left out."""

LARGEST = 4.0
"""Powers lie between this and its inverse."""

ENOUGH_VOTES = 100
MOST_VOTES = 50_000
"""Held-out votes that the powers are chosen on."""


def vote_powers(crowd: Crowd, probability: FloatArray, matrices: FloatArray) -> tuple[float, float]:
    """Return powers for the model's probabilities and for the evidence of the votes.

    Dawid and Skene's model takes votes for independent given the true class. They are not: some
    rows are hard for everyone, so a few agreeing votes prove less than the model says, and it finds
    too few wrong answers. Votes are therefore left out, the matrices counted again without them,
    and the two powers chosen that predict the votes left out best.

    Parameters
    ----------
    crowd : the votes
    probability : (n, Q), by models that have not seen the row
    matrices : (A, Q, Q), of the annotators
    """
    votes = crowd.indicators.tocoo()
    unknown = crowd.truth[votes.row] < 0
    if unknown.sum() < ENOUGH_VOTES or crowd.n_labels > crowd.n_classes:  # silence is an answer
        return 1.0, 1.0
    rng = np.random.RandomState(0)
    fold = np.where(unknown, rng.randint(FOLDS, size=votes.nnz), -1)
    logs, ones = np.log(np.maximum(probability, 1e-12)), np.ones(crowd.n_classes)
    parts = []
    for one in range(FOLDS):
        kept = fold != one
        cells = (votes.data[kept], (votes.row[kept], votes.col[kept]))
        seen = replace(crowd, indicators=csr_matrix(cells, shape=votes.shape))
        found = matrices
        for _ in range(STEPS):
            posterior = softmax(logs + seen.log_joint(found, ones), axis=1)
            found = annotator_matrices(seen, seen.fix_truth(posterior))
        left = rng.permutation(np.flatnonzero(~kept))[: MOST_VOTES // FOLDS]
        row, (who, what) = votes.row[left], np.divmod(votes.col[left], crowd.n_labels)
        parts.append((logs[row], seen.log_joint(found, ones)[row], found[who, :, what]))
    own, others, chance = (np.concatenate(some) for some in zip(*parts, strict=True))

    def loss(log_powers: FloatArray) -> float:
        model, evidence = np.exp(log_powers)
        posterior = softmax(model * own + evidence * others, axis=1)
        return -float(np.log(np.maximum((posterior * chance).sum(axis=1), 1e-12)).mean())

    limit = np.log(LARGEST)
    bounds = [(-limit, limit)] * 2
    found_powers = minimize(loss, np.zeros(2), method="Nelder-Mead", bounds=bounds)
    model, evidence = np.exp(found_powers.x).tolist()
    return model, evidence
