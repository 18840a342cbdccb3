"""
The confusion rate instead of the error
=======================================

With imbalanced classes, a model with a low error may ignore the rare ones. With
``class_weight="balanced"`` every true class has the same total weight.
"""

# %%
# Three overlapping classes with 1,200, 240 and 60 rows; a third of the labels are wrong. Weights of
# *true* classes cannot be applied as sample weights, since the true classes are unknown: UMA
# weights its unmixed update vectors, and the likelihood weights its probabilities when it predicts.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import confusion_matrix

from unconfused import UMAClassifier, UnconfusedLogisticRegression, metrics, noise
from unconfused.plot import STYLE

plt.rcParams.update(STYLE)


def uneven(seed):
    """Return rows and their classes."""
    rng = np.random.RandomState(seed)
    truth = np.repeat([0, 1, 2], [1200, 240, 60])
    return rng.randn(len(truth), 10) + 1.5 * np.eye(3, 10)[truth], truth


X, truth = uneven(0)
X_test, truth_test = uneven(1)
C = noise.symmetric(3, 1 / 3)
seen = noise.corrupt_labels(truth, C, random_state=0)

likelihood = UnconfusedLogisticRegression(C, l2=1e-3).fit(X, seen)
predictions = {
    "UMA": UMAClassifier(C).fit(X, seen).predict(X_test),
    "UMA, balanced": UMAClassifier(C, class_weight="balanced").fit(X, seen).predict(X_test),
    "likelihood": likelihood.predict(X_test),
    # No need to fit again: the weights only matter when it predicts.
    "likelihood, balanced": likelihood.set_params(class_weight="balanced").predict(X_test),
}

# %%
# Each matrix shows how the rows of a true class (rows of the matrix) are predicted. Balancing
# lowers the confusion rate, in which classes count equally, and raises the error, in which rows do.

fig, axes = plt.subplots(1, 4, figsize=(10, 3.6), layout="constrained", sharey=True)
for ax, (name, predicted) in zip(axes, predictions.items(), strict=True):
    shares = confusion_matrix(truth_test, predicted, normalize="true")
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), share in np.ndenumerate(shares):
        colour = "white" if share > 0.5 else "black"
        ax.text(column, row, f"{share:.2f}", ha="center", va="center", color=colour)
    error = np.mean(predicted != truth_test)
    rate = metrics.confusion_rate(truth_test, predicted)
    ax.set(title=name, xlabel=f"predicted class\n\nerror {error:.2f}\nconfusion rate {rate:.2f}")
    ax.set(xticks=range(3), yticks=range(3))
    ax.grid(False)
axes[0].set_ylabel("true class")
plt.show()
