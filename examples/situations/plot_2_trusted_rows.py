"""
Someone checked a few rows
==========================

You have no confusion matrix, but an expert has checked some rows. They show how labels go wrong,
and are clean training data themselves. How many are needed?
"""

# %%
# The noise follows a matrix that the learner does not know.

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from unconfused import UnconfusedLogisticRegression, confusion, noise
from unconfused.plot import BLUE, GREY, ORANGE, STYLE, ConfusionEstimateDisplay

plt.rcParams.update(STYLE)

X, truth = load_digits(return_X_y=True)
X, X_test, truth, truth_test = train_test_split(X / 16, truth, random_state=0)
labels = noise.corrupt_labels(truth, noise.pairwise(10, 0.4), random_state=0)

# %%
# Counting 200 checked rows gives a first estimate. Its intervals show how uncertain 20 rows per
# class are.

order = np.random.default_rng(0).permutation(len(X))


def check(n_rows):
    """Return the truth of `n_rows` random rows, and NaN elsewhere."""
    y_true = np.full(len(X), np.nan)
    y_true[order[:n_rows]] = truth[order[:n_rows]]
    return y_true


estimate = confusion.from_trusted(check(200), labels)
low, high = estimate.interval(0.95)
print(estimate)
print(f"0 labelled 1: {estimate.matrix[0, 1]:.2f}, between {low[0, 1]:.2f} and {high[0, 1]:.2f}")
ConfusionEstimateDisplay.from_estimate(estimate)

# %%
# Pass the checked rows as ``y_true``: the matrix is counted and refined with the weights, and
# cross-validation on the checked rows chooses the weight of the others. For comparison, a logistic
# regression on the checked rows alone, and one that trusts all labels.

numbers = [50, 100, 200, 400]
errors = {"checked rows alone": [], "checked and noisy rows": []}
for n_rows in numbers:
    rows = order[:n_rows]
    alone = LogisticRegression(max_iter=1000).fit(X[rows], truth[rows])
    both = UnconfusedLogisticRegression(l2=1e-3, random_state=0)
    both.fit(X, labels, y_true=check(n_rows))
    for name, model in zip(errors, (alone, both), strict=True):
        errors[name].append(100 * (1 - model.score(X_test, truth_test)))
believing = 100 * (1 - LogisticRegression(max_iter=1000).fit(X, labels).score(X_test, truth_test))

fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for (name, values), colour, mark in zip(errors.items(), (GREY, BLUE), "so", strict=True):
    ax.plot(numbers, values, color=colour, marker=mark, linewidth=2, label=name)
ax.axhline(believing, color=ORANGE, linestyle="--", label="noisy labels, trusted")
ax.set_xscale("log", base=2)
ax.set_xticks(numbers, [str(n) for n in numbers])
ax.minorticks_off()
ax.set_ylim(bottom=0)
ax.set(xlabel="rows checked", ylabel="test error, %", title="Checked rows")
ax.legend(frameon=False)
plt.show()
