"""
The price of an inverse
=======================

UMA undoes the confusion matrix; the likelihood never does. When the matrix is hard to invert that
makes all the difference.
"""

# %%
# Ten digits and pair flips of growing rate. Near one half, rows of C become almost combinations
# of each other: the condition number climbs, and what is averaged is stretched by the largest entry
# of the inverse (`~unconfused.theory.inflation`).

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from unconfused import UMAClassifier, UnconfusedLogisticRegression, noise, theory
from unconfused.plot import BLUE, GREY, ORANGE, STYLE

plt.rcParams.update(STYLE)

X, truth = load_digits(return_X_y=True)
X, X_test, truth, truth_test = train_test_split(X / 16, truth, random_state=0)

rates = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.45])
errors = {"UMA, from the means": [], "likelihood": []}
for rate in rates:
    C = noise.pairwise(10, rate)
    models = UMAClassifier(C, init="means"), UnconfusedLogisticRegression(C, l2=1e-3)
    for name, model in zip(errors, models, strict=True):
        runs = []
        for seed in range(3):
            labels = noise.corrupt_labels(truth, C, random_state=seed)
            runs.append(100 * (1 - model.fit(X, labels).score(X_test, truth_test)))
        errors[name].append(runs)

# %%
# Three draws of the noise each; lines are their means.

fig, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.6), layout="constrained")
for (name, runs), colour, mark in zip(errors.items(), (ORANGE, BLUE), "so", strict=True):
    left.plot(rates, np.mean(runs, axis=1), color=colour, linewidth=2, label=name)
    left.plot(rates, runs, mark, color=colour, markersize=4, alpha=0.6)
left.set_ylim(bottom=0)
left.set(xlabel="share of wrong labels", ylabel="test error, %", title="Known C, two learners")
left.legend(frameon=False)

fine = np.linspace(0, 0.48, 60)
matrices = [noise.pairwise(10, rate) for rate in fine]
right.plot(fine, [np.linalg.cond(C) for C in matrices], color=GREY, label="condition number of C")
right.plot(fine, [theory.inflation(C) for C in matrices], "--", color=BLUE, label="inflation")
right.set_yscale("log")
right.set(xlabel="share of wrong labels", title="What the inverse multiplies")
right.legend(frameon=False)
plt.show()
