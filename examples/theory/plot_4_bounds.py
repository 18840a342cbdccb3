"""
Bounds and observed values
==========================

The guarantees hold for any data, so they allow for the worst case. Here they are compared with
what is observed on one problem.
"""

# %%
# Four classes on the circle, separable with a given margin. On clean labels the Perceptron makes at
# most 2 R² / θ² updates.

import matplotlib.pyplot as plt
import numpy as np

from unconfused import UltraconservativeClassifier, datasets, noise, theory
from unconfused.plot import BLUE, GREY, ORANGE, STYLE

plt.rcParams.update(STYLE)

angles = 2 * np.pi * np.arange(4) / 4
centres = np.column_stack([np.cos(angles), np.sin(angles)])

margins, bounds, updates = [], [], []
for gap in (0.02, 0.05, 0.1, 0.2, 0.4):
    X, y = datasets.make_circle(1000, weights=centres, margin=gap, random_state=0)
    margins.append(theory.margin(centres, X, y))
    bounds.append(theory.mistake_bound(margins[-1], theory.radius(X)))
    clf = UltraconservativeClassifier(fit_intercept=False, max_iter=1000, random_state=0).fit(X, y)
    updates.append(clf.n_mistakes_)

# %%
# How many rows make every update vector accurate to 0.1? The bound grows with the square of the
# inflation, and is far above the observed deviation of one update vector. Both fall with about the
# square root of n.

C = np.array([[0.8, 0.2], [0.3, 0.7]])
inverse = np.linalg.inv(C)
rng = np.random.default_rng(0)
sizes = np.array([100, 300, 1000, 3000, 10000])
seen = []
for n in sizes:
    runs = []
    for _ in range(20):
        angle = rng.uniform(0, 2 * np.pi, n)
        X = np.column_stack([np.cos(angle), np.sin(angle)])
        truth = (X[:, 0] > 0).astype(int)
        labels = noise.corrupt_labels(truth, C, random_state=rng, classes=[0, 1])
        region = X[:, 1] > 0
        z = inverse[labels[region], 1] @ X[region] / n
        mu = np.array([1.0, 1.0]) / (2 * np.pi)  # of the quarter circle, exactly
        runs.append(np.linalg.norm(z - mu))
    seen.append(np.mean(runs))

promised = np.geomspace(0.05, 1.0, 30)
print(f"{theory.sample_size(0.1, 0.05, 2, 2, confusion=C):,} rows for 0.1, by the bound")
needed = [theory.sample_size(eps, 0.05, 2, 2, confusion=C) for eps in promised]

fig, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.7), layout="constrained")
left.loglog(margins, bounds, color=GREY, linewidth=2, label="bound, 2 R² / θ²")
left.loglog(margins, updates, "o-", color=BLUE, label="updates made")
left.set(xlabel="margin θ", ylabel="updates", title="Mistakes")
left.set_xticks(margins, [f"{margin:.2f}" for margin in margins])
left.minorticks_off()
left.legend(frameon=False)
right.loglog(needed, promised, color=GREY, linewidth=2, label="bound for all pairs, 95 %")
right.loglog(sizes, seen, "o-", color=ORANGE, label="one vector, mean of 20 draws")
right.set(xlabel="rows", ylabel="deviation", title="Sample size")
right.set_ylim(bottom=0.002)
right.legend(frameon=False, loc="lower right")
plt.show()
