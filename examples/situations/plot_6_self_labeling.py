"""
Few labels, many unlabelled rows
================================

Ten images of each digit are labelled, all others are not. A rough classifier can label them. It
makes mistakes, but its confusion matrix can be counted on held-out labelled images.
"""

# %%
# Unlabelled rows are marked by -1, as in scikit-learn.

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from unconfused import SelfLabelingClassifier, UnconfusedLogisticRegression
from unconfused.plot import BLUE, GREY, STYLE, ConfusionEstimateDisplay

plt.rcParams.update(STYLE)

X, truth = load_digits(return_X_y=True)
X = X / 16


def keep_labels(per_class, seed):
    """Return labels with all but `per_class` rows of each class set to -1."""
    rng = np.random.default_rng(seed)
    partly = np.full(len(truth), -1)
    for digit in range(10):
        rows = rng.choice(np.flatnonzero(truth == digit), per_class, replace=False)
        partly[rows] = digit
    return partly


# %%
# A support vector machine with a Gaussian kernel labels the rows, as it can separate classes that a
# linear model cannot. A linear model then learns from all rows, through the confusion matrix of the
# support vector machine.

partly = keep_labels(10, seed=0)
learner = UnconfusedLogisticRegression(noisy_weight=0.3)
model = SelfLabelingClassifier(SVC(C=10), learner, random_state=0).fit(X, partly)
print(model.confusion_)
ConfusionEstimateDisplay.from_estimate(model.confusion_)

# %%
# Errors on the unlabelled images, for five draws of the labelled ones. Each line is one draw.

errors = []
for seed in range(5):
    partly = keep_labels(10, seed)
    known, rest = partly >= 0, partly < 0
    alone = LogisticRegression(max_iter=1000).fit(X[known], partly[known])
    model.fit(X, partly)
    errors.append([1 - m.score(X[rest], truth[rest]) for m in (alone, model)])
errors = 100 * np.array(errors)

fig, ax = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
ax.plot([0, 1], errors.T, color=GREY, marker="o", linewidth=1.2)
ax.plot([0, 1], errors.mean(axis=0), color=BLUE, marker="o", linewidth=3, label="mean")
ax.set_xticks([0, 1], ["linear model,\n100 labels", "linear model,\nwith self-labelled rows"])
ax.set_xlim(-0.35, 1.35)
ax.set_ylim(bottom=0)
ax.set(ylabel="error, %", title="Gain from unlabelled rows")
ax.legend(frameon=False)
plt.show()
print(f"means: {errors.mean(axis=0).round(1)}")
