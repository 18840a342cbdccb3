"""The paper in plain loops: slow, short, to be read beside it, and the oracle for every engine.

Nothing here uses the library. C has rows = true class, columns = observed label. A row is a list of
floats; a label is an index; None stands for "no truth known". Weights are frequencies.
"""

from __future__ import annotations

import numpy as np

TIE = 1e-12


def dot(a, b):
    return float(sum(float(x) * float(y) for x, y in zip(a, b, strict=True)))


def inverse(C):
    """Gauss-Jordan with pivoting, so that not even this is the library's."""
    Q = len(C)
    rows = [[float(v) for v in C[i]] + [float(i == j) for j in range(Q)] for i in range(Q)]
    for c in range(Q):
        pivot = max(range(c, Q), key=lambda r: abs(rows[r][c]))
        rows[c], rows[pivot] = rows[pivot], rows[c]
        rows[c] = [v / rows[c][c] for v in rows[c]]
        for r in range(Q):
            if r != c:
                rows[r] = [a - rows[r][c] * b for a, b in zip(rows[r], rows[c], strict=True)]
    return [row[Q:] for row in rows]


def coefficient(Cinv, y, t, q):
    """How much a row counts as one of class q: through C, or as it is where the truth is known."""
    return Cinv[y][q] if t is None else float(t == q)


def in_region(W, x, p, alpha):
    """Is x in A_p? While W = 0 it is in every one."""
    if not any(v for w in W for v in w):
        return True
    scores = [dot(w, x) for w in W]
    near = 1e-12 * np.sqrt(dot(x, x) * max(dot(w, w) for w in W))
    best = min(r for r in range(len(W)) if scores[r] >= max(scores) - near)
    return best == p and all(scores[p] - scores[k] >= alpha - near for k in range(len(W)) if k != p)


def update_vector(X, y, t, weight, Cinv, region, q):
    n = sum(weight)
    z = [0.0] * len(X[0])
    for i in region:
        c = weight[i] * coefficient(Cinv, y[i], t[i], q) / n
        z = [a + c * float(b) for a, b in zip(z, X[i], strict=True)]
    return z


def prior(y, t, weight, Cinv, Q):
    n = sum(weight)
    share = [
        sum(weight[i] * coefficient(Cinv, y[i], t[i], q) for i in range(len(y))) / n
        for q in range(Q)
    ]
    clipped = [max(s, min(1 / n, 1 / Q)) for s in share]
    return [s / sum(clipped) for s in clipped]


def scores_on(W, z, q):
    """Scores on z; those equal to class q's up to rounding are made equal to it."""
    scores = [dot(w, z) for w in W]
    near = 1e-12 * np.sqrt(dot(z, z) * max(dot(w, w) for w in W))
    return [scores[q] if abs(s - scores[q]) <= near else s for s in scores]


def error_set(W, z, q):
    scores = scores_on(W, z, q)
    return [r for r in range(len(W)) if r != q and scores[r] - scores[q] >= 0]


def steps(rule, W, z, p, q):
    """Return the step sizes tau for a vector z of class q that was taken for p."""
    Q = len(W)
    scores = scores_on(W, z, q)
    errors = error_set(W, z, q)
    tau = [0.0] * Q
    excess = {r: scores[r] - scores[q] for r in errors}
    highest = max((r for r in range(Q) if r != q), key=lambda r: (scores[r], -r))
    if rule == "perceptron":
        tau[p if p in errors else highest] = -1.0
    elif rule == "copa":
        norm, mean = np.sqrt(dot(z, z)), sum(scores) / Q
        for r in errors:
            size = min(1.0, max((scores[r] - mean) / norm + 1 / (Q - 1), 0.0)) / norm
            tau[r], tau[q] = -size, tau[q] + size
        return tau
    elif rule == "uniform" or (rule in ("proportional", "mira") and not sum(excess.values())):
        for r in errors:
            tau[r] = -1.0 / len(errors)
    elif rule == "proportional":
        for r in errors:
            tau[r] = -excess[r] / sum(excess.values())
    elif rule == "mira":
        return mira(scores, q, dot(z, z))
    elif rule == "passive_aggressive":
        norm = np.sqrt(dot(z, z))
        size = min(1.0, (1 - (scores[q] - scores[highest]) / norm) / 2) / norm
        tau[highest], tau[q] = -size, size
        return tau
    tau[q] = 1.0
    return tau


def mira(scores, q, squared_norm):
    """Minimise |W + tau z| under tau_r <= 1[r = q], sum tau = 0, by bisection on the multiplier."""

    def tau_at(level):
        return [min(float(r == q), level - scores[r] / squared_norm) for r in range(len(scores))]

    low = min(scores) / squared_norm - 2.0
    high = max(scores) / squared_norm + 2.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(tau_at(middle)) < 0 else (low, middle)
    return tau_at(high)


def choose(criterion, candidates):
    best = max(criterion[pair] for pair in candidates)
    return min(pair for pair in candidates if criterion[pair] >= best * (1 - TIE))


def uma(X, y, C, *, t=None, weight=None, selection="error", rule="perceptron", alpha=0.0,
        tol=1e-6, max_iter=50, W=None, rng=None):  # fmt: skip
    """Algorithm 2. Returns the weights and the pairs, in order."""
    Q = len(C)
    t = [None] * len(X) if t is None else t
    weight = [1.0] * len(X) if weight is None else weight
    W = [[0.0] * len(X[0]) for _ in range(Q)] if W is None else [list(w) for w in W]
    Cinv = inverse(C)
    pi = prior(y, t, weight, Cinv, Q)
    pairs = []
    while len(pairs) < max_iter:
        regions = [[i for i in range(len(X)) if in_region(W, X[i], p, alpha)] for p in range(Q)]
        z = {
            (p, q): update_vector(X, y, t, weight, Cinv, regions[p], q)
            for p in range(Q) for q in range(Q) if p != q
        }  # fmt: skip
        norm = {pair: np.sqrt(dot(z[pair], z[pair])) for pair in z}
        candidates = sorted(pair for pair in z if norm[pair] > tol)
        criterion = {
            pair: norm[pair] / pi[pair[1]] if selection == "confusion" else norm[pair] for pair in z
        }
        chosen = None
        while candidates and chosen is None:
            if selection == "random":
                pair = candidates[rng.randint(len(candidates))]
            else:
                pair = choose(criterion, candidates)
            if error_set(W, z[pair], pair[1]):
                chosen = pair
            candidates.remove(pair)
        if chosen is None:
            break
        p, q = chosen
        tau = steps(rule, W, z[chosen], p, q)
        W = [[a + tau[r] * b for a, b in zip(W[r], z[chosen], strict=True)] for r in range(Q)]
        pairs.append(chosen)
    return np.array(W), pairs


def ultraconservative(X, y, Q, *, rule="perceptron", epochs=1, average=False):
    """Algorithm 1 over the rows in order. Returns weights (or their mean) and mistakes."""
    W = [[0.0] * len(X[0]) for _ in range(Q)]
    total = np.zeros((Q, len(X[0])))
    mistakes = seen = 0
    for _ in range(epochs):
        before = mistakes
        for x, q in zip(X, y, strict=True):
            if error_set(W, x, q):
                mistakes += 1
                scores = [dot(w, x) for w in W]
                rival = max((r for r in range(Q) if r != q), key=lambda r: (scores[r], -r))
                tau = steps(rule, W, x, rival, q)
                W = [
                    [a + tau[r] * float(b) for a, b in zip(W[r], x, strict=True)] for r in range(Q)
                ]
            seen += 1
            total += np.array(W)
        if mistakes == before:
            break
    return (total / seen if average else np.array(W)), mistakes


def noise_tolerant_perceptron(X, y, flip, max_iter, tol):
    """Run the two-class algorithm of Bylander and of Blum et al., written for labels in {-1, +1}.

    `flip[s]` is the chance that a true label s is flipped. Each update adds to w the vector that
    estimates the mean, over all points, of those of one true sign that w misclassifies, turned
    towards that sign. The side with the longer vector goes first; at w = 0, both sides hold all
    points.
    """
    n = len(X)
    w = np.zeros(X.shape[1])
    unit = 1 - flip[1] - flip[-1]
    for _ in range(max_iter):
        side = X @ w > 0
        candidates = []
        for sign in (-1, 1):
            wrong = np.ones(n, bool) if not w.any() else (side != (sign == 1))
            same = y == sign
            share = np.where(same, 1 - flip[-sign], -flip[-sign]) / unit
            candidates.append((sign, (X[wrong] * share[wrong, None]).sum(axis=0) / n))
        candidates = [
            (sign, v) for sign, v in candidates
            if np.linalg.norm(v) > tol and sign * (w @ v) <= 0
        ]  # fmt: skip
        if not candidates:
            break
        longest = max(np.linalg.norm(v) for _, v in candidates)
        tied = [c for c in candidates if np.linalg.norm(c[1]) >= longest * (1 - TIE)]
        # Of tied pairs the lowest (predicted, true) goes first: predicted -1, so truly +1.
        sign, v = max(tied, key=lambda c: c[0])
        w = w + sign * v
    return w
