"""
You know how the labels go wrong
================================

An old postcode reader confuses digits that look alike, and you know its confusion matrix. You can
train on its labels only. How much does the matrix help?
"""

# %%
# 40 % of some digits get the label of a look-alike. Rows of the matrix are true digits, columns are
# observed labels, and rows sum to 1.

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from unconfused import UMAClassifier, UnconfusedLogisticRegression, noise
from unconfused.plot import BLUE, GREY, ORANGE, STYLE, ConfusionEstimateDisplay

plt.rcParams.update(STYLE)

look_alikes = {1: 7, 7: 1, 3: 8, 8: 3, 4: 9, 5: 6}
C = noise.pairwise(10, 0.4, pairs=look_alikes)
ConfusionEstimateDisplay(C, classes=range(10)).plot()

# %%
# Corrupt the labels of scikit-learn's digits with it. The truth is used for testing only.

X, truth = load_digits(return_X_y=True)
X, X_test, truth, truth_test = train_test_split(X / 16, truth, random_state=0)
labels = noise.corrupt_labels(truth, C, random_state=0)
print(f"{(labels != truth).mean():.0%} of the training labels are wrong")

# %%
# Two learners that use the matrix, one that trusts the labels, and one with clean labels. All
# logistic regressions have the same penalty.

l2 = 1e-3
plain = LogisticRegression(C=1 / (l2 * len(X)), max_iter=1000)
models = {
    "trusts the labels": plain.fit(X, labels),
    "UMA, through C": UMAClassifier(C).fit(X, labels),
    "likelihood, through C": UnconfusedLogisticRegression(C, l2=l2).fit(X, labels),
}
errors = {name: 1 - model.score(X_test, truth_test) for name, model in models.items()}
errors["clean labels"] = 1 - plain.fit(X, truth).score(X_test, truth_test)

fig, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
bars = ax.barh(list(errors), [100 * e for e in errors.values()], color=[ORANGE, BLUE, BLUE, GREY])
ax.bar_label(bars, fmt="%.1f %%", padding=4)
ax.invert_yaxis()
ax.margins(x=0.15)
ax.set(xlabel="error on clean test labels, %", title="What the matrix is worth")
plt.show()

# %%
# With the matrix, both learners come close to clean labels. This is one draw of the noise and one
# split; for averages see the league.
