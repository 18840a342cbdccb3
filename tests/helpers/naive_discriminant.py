"""Discriminant analysis through C in plain loops: the oracle, without anything of the library.

For a given shrinkage and few features. What label noise does to the covariance within the classes
is corrected one direction at a time.
"""

import numpy as np


def total_covariance(X, weight):
    n, d = sum(weight), len(X[0])
    m = [sum(w * x[j] for w, x in zip(weight, X, strict=True)) / n for j in range(d)]
    S = [[0.0] * d for _ in range(d)]
    for w, x in zip(weight, X, strict=True):
        for a in range(d):
            for b in range(d):
                S[a][b] += w * (x[a] - m[a]) * (x[b] - m[b]) / n
    return np.array(m), np.array(S)


def unmixed(X, y, t, weight, C):
    """Return shares and class means, each row counting by the inverse of C, or by its truth."""
    Cinv, Q, n = np.linalg.inv(C), len(C), sum(weight)
    share, mean = np.zeros(Q), np.zeros((Q, len(X[0])))
    for x, label, truth, w in zip(X, y, t, weight, strict=True):
        for q in range(Q):
            c = w * (Cinv[label, q] if truth is None else float(truth == q))
            share[q] += c / n
            mean[q] += c * np.asarray(x) / n
    return share, mean / share[:, None]


def label_noise(y, t, weight, C):
    """Covariance of the shares that chance in the labels leaves, a class and a label at a time."""
    Cinv, Q, n = np.linalg.inv(C), len(C), sum(weight)
    sources = np.zeros(Q)
    for label, truth, w in zip(y, t, weight, strict=True):
        if truth is None:
            sources += w * Cinv[label]
    noise = np.zeros((Q, Q))
    for s in range(Q):
        for k in range(Q):
            off = Cinv[k] - np.eye(Q)[s]
            noise += max(sources[s], 0.0) * C[s, k] * np.outer(off, off) / n**2
    return noise


def discriminant(X, y, t, weight, C, shrinkage):
    """Return weights and intercepts, (Q, d) and (Q,), centred over the classes."""
    Q, d = len(C), len(X[0])
    m, S = total_covariance(X, weight)
    share, mean = unmixed(X, y, t, weight, C)
    noise = label_noise(y, t, weight, C)
    beyond = share - 1 / Q
    kept = max(0.0, 1 - np.trace(noise) / (beyond @ beyond))
    prior = np.maximum(1 / Q + kept * beyond, min(1 / sum(weight), 1 / Q))
    prior /= prior.sum()
    A = np.array([share[q] * (mean[q] - m) / np.sqrt(prior[q]) for q in range(Q)])
    noise = noise / np.sqrt(np.outer(prior, prior))
    average = np.trace(S) / d
    feigned = np.trace(noise)
    within = (1 + feigned) * average - np.sum(A**2) / d
    within = max(within, min(feigned, 1.0) * average)
    ridged = (1 - shrinkage) * S + shrinkage * within * np.eye(d)
    inverse = (1 - shrinkage) * np.linalg.inv(ridged)
    freedom = np.trace(S @ inverse)
    W, lengths = np.zeros((Q, d)), np.zeros(Q)
    shares, axes = np.linalg.eigh(A @ inverse @ A.T - freedom * noise)
    for explained, axis in zip(np.clip(shares, 0, 1), axes.T, strict=True):
        own = max(axis @ noise @ axis, 0.0)
        error = 2 * np.sqrt(own * explained) + np.sqrt(2 * freedom) * own
        gain = 1 / (1 - explained + 2 * error) / (1 - shrinkage)
        W += gain * np.outer(axis / np.sqrt(prior), axis @ A @ inverse)
        lengths += gain * explained * axis**2 / prior
    b = np.log(prior) - lengths / 2 - W @ m
    return W - W.mean(axis=0), b - b.mean()
