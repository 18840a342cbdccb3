"""
Regions on a circle
===================

The rows are points on a circle, and each class is an arc. A part of every class has the label of
the next one. What happens to the regions of a classifier that ignores this?
"""

# %%
# Classes lose labels to their neighbour in one direction only, so boundaries are shifted.

import matplotlib.pyplot as plt
import numpy as np

from unconfused import UMAClassifier, datasets, noise
from unconfused.plot import STYLE, ConvergenceDisplay, RegionsDisplay

plt.rcParams.update(STYLE)

directions = 2 * np.pi * np.arange(6) / 6
centres = np.column_stack([np.cos(directions), np.sin(directions)])
X, truth = datasets.make_circle(4000, weights=centres, random_state=0)
C = noise.pairwise(6, 0.4)
labels = noise.corrupt_labels(truth, C, random_state=0)

# %%
# With ``whiten=False`` this is UMA as in the paper, started at zero. Without a matrix it is a batch
# Perceptron that trusts the labels. With the matrix it estimates the true classes in each region.
# Points are coloured by their *label* in the first panel, and by their true class in the others.

believing = UMAClassifier(whiten=False, fit_intercept=False).fit(X, labels)
seeing = UMAClassifier(C, init="zero", whiten=False, fit_intercept=False).fit(X, labels)

fig, axes = plt.subplots(1, 3, figsize=(10.8, 3.9), layout="constrained")
some = slice(0, 400)
RegionsDisplay.from_estimator(believing, X[some], labels[some], ax=axes[0])
RegionsDisplay.from_estimator(believing, X[some], truth[some], ax=axes[1])
RegionsDisplay.from_estimator(seeing, X[some], truth[some], ax=axes[2])
titles = (
    "Observed labels",
    f"Labels trusted: {1 - believing.score(X, truth):.0%} wrong",
    f"Unmixed by C: {1 - seeing.score(X, truth):.0%} wrong",
)
for ax, title in zip(axes, titles, strict=True):
    ax.set_title(title)
plt.show()

# %%
# Each update uses the pair of classes with the longest update vector. Training stops when no pair
# is statistically significant, as later updates would learn the noise.

ConvergenceDisplay.from_estimator(seeing)
print(f"{seeing.n_iter_} updates; {seeing.stopped_}")
