"""
The price of an inverse
=======================

UMA inverts the confusion matrix; the likelihood does not. The closer the matrix is to singular, the
more the inverse amplifies sampling errors.
"""

# %%
# Ten digits with pair flips. Near one half, the rows of C are almost linearly dependent: the
# condition number grows, and so does the range of the averaged terms
# (`~unconfused.theory.inflation`).

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
errors = {"UMA, whiten=False": [], "UMA": [], "likelihood": []}
for rate in rates:
    C = noise.pairwise(10, rate)
    models = (
        UMAClassifier(C, init="means", whiten=False),
        UMAClassifier(C),
        UnconfusedLogisticRegression(C, l2=1e-3),
    )
    for name, model in zip(errors, models, strict=True):
        runs = []
        for seed in range(3):
            labels = noise.corrupt_labels(truth, C, random_state=seed)
            runs.append(100 * (1 - model.fit(X, labels).score(X_test, truth_test)))
        errors[name].append(runs)

# %%
# Three draws of the noise each, with their means. Whitened UMA, the default, starts from a linear
# discriminant and shrinks with the noise, which reduces the price considerably.

fig, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.6), layout="constrained")
for (name, runs), colour, mark in zip(errors.items(), (GREY, ORANGE, BLUE), "dso", strict=True):
    left.plot(rates, np.mean(runs, axis=1), color=colour, linewidth=2, label=name)
    left.plot(rates, runs, mark, color=colour, markersize=4, alpha=0.6)
left.set_ylim(bottom=0)
left.set(xlabel="share of wrong labels", ylabel="test error, %", title="Known C")
left.legend(frameon=False)

fine = np.linspace(0, 0.48, 60)
matrices = [noise.pairwise(10, rate) for rate in fine]
right.plot(fine, [np.linalg.cond(C) for C in matrices], color=GREY, label="condition number of C")
right.plot(fine, [theory.inflation(C) for C in matrices], "--", color=BLUE, label="inflation")
right.set_yscale("log")
right.set(xlabel="share of wrong labels", title="Amplification by the inverse")
right.legend(frameon=False)
plt.show()
