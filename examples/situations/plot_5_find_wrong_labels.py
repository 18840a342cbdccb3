"""
Find the wrong labels
=====================

You can check only a hundred rows. Choose those whose label is most likely wrong, according to
models that were not trained on them.
"""

# %%
# One label in five is wrong: mostly the next digit, sometimes any other.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from unconfused import UnconfusedLogisticRegression, confusion, noise
from unconfused.plot import BLUE, GREY, ORANGE, STYLE

plt.rcParams.update(STYLE)

X, truth = load_digits(return_X_y=True)
C = 0.5 * noise.symmetric(10, 0.1) + 0.5 * noise.pairwise(10, 0.3)
labels = noise.corrupt_labels(truth, C, random_state=0)
wrong = labels != truth

# %%
# `~unconfused.confusion.rank_label_errors` ranks the rows by cross-validation.

model = UnconfusedLogisticRegression(C, l2=1e-3)
issues = confusion.rank_label_errors(model, X / 16, labels, random_state=0)
print(issues)
print(f"{wrong.sum()} labels are wrong; {issues.expected_errors:.0f} were expected")

# %%
# The twelve most suspicious images, with their label and the suggested one:

fig, axes = plt.subplots(2, 6, figsize=(8.4, 3.7), layout="constrained")
first = issues[:12]
for ax, row, seen, better in zip(
    axes.flat, first.row, first.observed, first.suggested, strict=True
):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set_axis_off()
    ax.set_title(f"label {seen}, suggested {better}", loc="center", size=9, weight="normal")
plt.show()

# %%
# In this order nearly all wrong labels come before the first right one; in random order, about one
# row in five is wrong.

checked = np.arange(1, len(issues) + 1)
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.plot(checked, np.cumsum(wrong[issues.row]), color=BLUE, linewidth=2, label="ranked")
ax.plot(checked, np.minimum(checked, wrong.sum()), ":", color=GREY, label="best possible")
ax.plot(checked, checked * wrong.mean(), "--", color=ORANGE, label="random order")
ax.set(xlabel="rows checked", ylabel="wrong labels found", title="Wrong labels found")
ax.set_xlim(0, len(issues) / 2)
ax.legend(frameon=False, loc="lower right")
plt.show()
