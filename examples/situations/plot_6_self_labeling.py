"""
Few labels, many rows without
=============================

Ten images of each digit have a label, and all others none. A rough classifier can label them; it
errs, but on labelled images it did not see we can count how. That is a confusion matrix.
"""

# %%
# Unlabelled rows are marked -1, as elsewhere in scikit-learn.

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
# A support vector machine labels, and a linear model learns from all rows, through the machine's
# mistakes. It can see what a linear model cannot, so its labels are news to it.

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
ax.set_xticks([0, 1], ["linear model,\n100 labels alone", "linear model,\nself-labelled rows too"])
ax.set_xlim(-0.35, 1.35)
ax.set_ylim(bottom=0)
ax.set(ylabel="error, %", title="What unlabelled rows add")
ax.legend(frameon=False)
plt.show()
print(f"means: {errors.mean(axis=0).round(1)}")
