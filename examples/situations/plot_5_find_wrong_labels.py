"""
Find the wrong labels
=====================

You may check a hundred rows and no more. Which ones? Those whose label is most likely wrong, judged
by a model that has not seen them.
"""

# %%
# One label in five is wrong: mostly that of the next digit, sometimes any.

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
# `~unconfused.confusion.rank_label_errors` fits the model on four fifths of the rows and judges the
# last fifth, five times over.

model = UnconfusedLogisticRegression(C, l2=1e-3)
issues = confusion.rank_label_errors(model, X / 16, labels, random_state=0)
print(issues)
print(f"{wrong.sum()} labels are wrong; {issues.expected_errors:.0f} were to be expected")

# %%
# The twelve most suspicious images, each with the label it carries and the one suggested:

fig, axes = plt.subplots(2, 6, figsize=(8.4, 3.7), layout="constrained")
first = issues[:12]
for ax, row, seen, better in zip(
    axes.flat, first.row, first.observed, first.suggested, strict=True
):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set_axis_off()
    ax.set_title(f"label {seen}: rather {better}", loc="center", size=9, weight="normal")
plt.show()

# %%
# Someone who goes through the list finds nearly all wrong labels before reaching a right one; at
# random it would be about one in five.

checked = np.arange(1, len(issues) + 1)
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.plot(checked, np.cumsum(wrong[issues.row]), color=BLUE, linewidth=2, label="in our order")
ax.plot(checked, np.minimum(checked, wrong.sum()), ":", color=GREY, label="the best there is")
ax.plot(checked, checked * wrong.mean(), "--", color=ORANGE, label="in any order")
ax.set(xlabel="rows checked", ylabel="wrong labels found", title="What checking brings")
ax.set_xlim(0, len(issues) / 2)
ax.legend(frameon=False, loc="lower right")
plt.show()
