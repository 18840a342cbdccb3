"""
Your model is a forest
======================

Linear boundaries are too simple for many data sets. Any scikit-learn classifier can learn through
the confusion matrix.
"""

# %%
# The data are two spirals, with 30 % wrong labels.

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

from unconfused import UnconfusedClassifier, UnconfusedLogisticRegression, noise
from unconfused.plot import BLUE, GREY, ORANGE, STYLE

plt.rcParams.update(STYLE)


def spirals(n_rows, seed):
    """Draw rows of two spirals, one per class."""
    rng = np.random.RandomState(seed)
    truth = rng.randint(0, 2, n_rows)
    turn = 3 * np.pi * np.sqrt(rng.uniform(0.05, 1, n_rows))
    angle = turn + np.pi * truth
    X = np.column_stack([turn * np.cos(angle), turn * np.sin(angle)])
    return X + 0.4 * rng.randn(n_rows, 2), truth


C = np.array([[0.8, 0.2], [0.4, 0.6]])
X, truth = spirals(1200, seed=0)
X_test, truth_test = spirals(3000, seed=1)
labels = noise.corrupt_labels(truth, C, random_state=0)

fig, axes = plt.subplots(1, 2, figsize=(7.2, 3.4), layout="constrained")
for ax, classes, title in zip(axes, (truth, labels), ("the truth", "the labels"), strict=True):
    ax.scatter(*X.T, c=np.where(classes == 1, ORANGE, BLUE), s=6)
    ax.set(title=title, xticks=[], yticks=[])
plt.show()

# %%
# Compare a forest that trusts the labels, a linear model through C, and the forest through C.

forest = ExtraTreesClassifier(100, random_state=0)
models = {
    "forest, noisy labels": forest.fit(X, labels),
    "linear, through C": UnconfusedLogisticRegression(C).fit(X, labels),
    "forest, through C": UnconfusedClassifier(forest, C).fit(X, labels),
}
errors = {name: 1 - model.score(X_test, truth_test) for name, model in models.items()}
errors["forest, clean labels"] = 1 - forest.fit(X, truth).score(X_test, truth_test)

fig, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
colours = [ORANGE, ORANGE, BLUE, GREY]
bars = ax.barh(list(errors), [100 * error for error in errors.values()], color=colours)
ax.bar_label(bars, fmt="%.1f %%", padding=4)
ax.invert_yaxis()
ax.margins(x=0.15)
ax.set(xlabel="error on clean test labels, %", title="A forest through the matrix")
plt.show()

# %%
# Which labels are wrong? Each row is scored by forests that were not trained on it.

model = models["forest, through C"]
wrong = 1 - model.cross_fitted_posterior_[np.arange(len(labels)), labels]
first = np.argsort(-wrong)[:200]
print(f"{np.mean(labels[first] != truth[first]):.0%} of the 200 most suspicious labels are wrong")
print(f"{model.n_fits_} fits of the forest, {model.n_rounds_} rounds")
