"""
Unmixing one region
===================

The main idea in one picture. Take the rows for which a classifier predicts the same class. The
counts of their noisy labels are those of their true classes, mixed by the confusion matrix. Its
inverse undoes the mixture.
"""

# %%
# Three classes in the plane, and a matrix that is not symmetric.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from unconfused import noise
from unconfused.plot import BLUE, GREY, ORANGE, STYLE

plt.rcParams.update(STYLE)

C = np.array([[0.7, 0.3, 0.0], [0.1, 0.6, 0.3], [0.0, 0.2, 0.8]])
X, truth = make_blobs(20_000, centers=[[1, 1], [3, 1.5], [2, 3]], cluster_std=1.0, random_state=0)
labels = noise.corrupt_labels(truth, C, random_state=0)

# %%
# Take the rows that a rough classifier predicts to be of class 0: here, those left of a line. How
# many of them are truly of each class? Counting labels gives a wrong answer. If a row with label k
# counts as ``inverse(C)[k, q]`` rows of class q, the counts are right on average over the noise.

region = X[:, 0] < 2.6
inverse = np.linalg.inv(C)
counted = np.bincount(labels[region], minlength=3)
unmixed = counted @ inverse
true = np.bincount(truth[region], minlength=3)

# %%
# The same holds for sums of rows. UMA steps along the mean of the rows in this region that are
# truly of class 1: the update vector of the pair (predicted 0, true 1).

z = inverse[labels[region], 1] @ X[region] / len(X)
mu = X[region & (truth == 1)].sum(axis=0) / len(X)
naive = X[region & (labels == 1)].sum(axis=0) / len(X)

fig, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.8), layout="constrained")
places = np.arange(3)
for shift, (name, values, colour) in enumerate(
    [("labels", counted, ORANGE), ("unmixed", unmixed, BLUE), ("truth", true, GREY)]
):
    left.bar(places + 0.27 * (shift - 1), values, 0.25, color=colour, label=name)
left.set_xticks(places, ["class 0", "class 1", "class 2"])
left.set(ylabel="rows", title="True classes in the region")
left.legend(frameon=False)
for name, vector, colour, width in [
    ("labels", naive, ORANGE, 0.01),
    ("truth", mu, GREY, 0.024),
    ("unmixed", z, BLUE, 0.01),
]:
    right.quiver(
        0, 0, *vector, angles="xy", scale_units="xy", scale=1, color=colour, width=width, label=name
    )
reach = 1.25 * np.abs([mu, naive, z]).max(axis=0)
right.set(xlim=(0, reach[0]), ylim=(0, reach[1]))
right.set(xlabel="feature 0", ylabel="feature 1", title="The update vector of (0, 1)")
right.legend(frameon=False, loc="upper left")
plt.show()
