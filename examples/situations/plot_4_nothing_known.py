"""
Nothing is known but the labels
===============================

No matrix, no checked rows, one label per row. The matrix can still be estimated, as long as most
rows of each class have the right label.
"""

# %%
# Estimate the matrix at growing noise, and compare it with the true one.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from unconfused import UnconfusedLogisticRegression, confusion, noise
from unconfused.plot import BLUE, GREY, ORANGE, STYLE

plt.rcParams.update(STYLE)

X, truth = load_digits(return_X_y=True)
X, X_test, truth, truth_test = train_test_split(X / 16, truth, random_state=0)
l2 = 1e-3
plain = LogisticRegression(C=1 / (l2 * len(X)), max_iter=1000)

rates = [0.0, 0.15, 0.3, 0.4, 0.47, 0.55]
errors = {"labels trusted": [], "estimated C": [], "true C": []}
found = []
for rate in rates:
    C = noise.pairwise(10, rate)
    labels = noise.corrupt_labels(truth, C, random_state=0)
    guess = confusion.from_noisy(X, labels, estimator=plain, cv=3, random_state=0)
    found.append(guess.noise_rate)
    models = plain, *(UnconfusedLogisticRegression(M, l2=l2, refine=False) for M in (guess, C))
    for name, model in zip(errors, models, strict=True):
        errors[name].append(1 - model.fit(X, labels).score(X_test, truth_test))

# %%
# Up to nearly one half the estimate is almost as good as the true matrix. Beyond it, the wrong
# label is more frequent than the right one, and nothing in the data says which is which: the
# estimate fails, while the true matrix still works.

fig, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.6), layout="constrained")
left.plot(rates, rates, color=GREY, linestyle=":", label="exact")
left.plot(rates, found, color=BLUE, marker="o", linewidth=2, label="estimated")
left.set(xlabel="share of wrong labels", ylabel="estimated share", title="Share of wrong labels")
left.legend(frameon=False)
for (name, values), colour, mark in zip(errors.items(), (ORANGE, BLUE, GREY), "sod", strict=True):
    right.plot(rates, 100 * np.array(values), color=colour, marker=mark, linewidth=2, label=name)
right.set(xlabel="share of wrong labels", ylabel="test error, %", title="Error")
right.legend(frameon=False)
plt.show()

# %%
# The estimate comes with a caveat. The best next step is to have some rows checked; see the example
# "Find the wrong labels".

print(guess.caveat)
