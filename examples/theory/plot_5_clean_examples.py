"""
Update vectors as clean examples
================================

UMA's update vectors estimate sums of rows of one true class. The paper concludes that any learner
could be trained on them as if they were clean examples. Here it is a linear SVM.
"""

# %%
# With ``keep_updates=True`` the vectors are kept as ``updates_``, and ``history_["true"]`` has
# their classes. The SVM gets them at unit length, weighted by their norm: a vector that represents
# few rows is mostly sampling noise.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from unconfused import UMAClassifier, noise
from unconfused.kernels import kernel_projection
from unconfused.plot import BLUE, GREY, ORANGE, STYLE

plt.rcParams.update(STYLE)

X, truth = load_digits(return_X_y=True)
X, X_test, truth, truth_test = train_test_split(X / 16, truth, random_state=0)
projection = kernel_projection(200, random_state=0).fit(X)
X, X_test = projection.transform(X), projection.transform(X_test)


def svm_on_updates(uma):
    """Train an SVM on the update vectors of a fitted UMA."""
    norms = uma.history_["norm"]
    svm = LinearSVC(C=10, random_state=0)
    rows, classes = normalize(uma.updates_), uma.history_["true"]
    return svm.fit(rows, classes, sample_weight=norms / norms.mean())


cases = {
    "pair flips 0.3": noise.pairwise(10, 0.3),
    "pair flips 0.45": noise.pairwise(10, 0.45),
    "symmetric 0.5": noise.symmetric(10, 0.5),
}
errors = {"SVM, noisy labels": [], "UMA": [], "SVM, UMA's update vectors": []}
for C in cases.values():
    runs = []
    for seed in range(3):
        seen = noise.corrupt_labels(truth, C, random_state=seed)
        uma = UMAClassifier(C, init="zero", keep_updates=True).fit(X, seen)
        models = LinearSVC(random_state=0).fit(X, seen), uma, svm_on_updates(uma)
        runs.append([100 * (1 - model.score(X_test, truth_test)) for model in models])
    for name, values in zip(errors, np.transpose(runs), strict=True):
        errors[name].append(values)
clean = 100 * (1 - LinearSVC(random_state=0).fit(X, truth).score(X_test, truth_test))

# %%
# Three draws of the noise each. UMA itself is the better use of its update vectors: a few dozen
# vectors show where the class means are, but not where the rows near the boundaries are.

fig, ax = plt.subplots(figsize=(7.2, 3.8), layout="constrained")
places = np.arange(len(cases))
looks = zip((-0.27, 0, 0.27), errors.items(), (GREY, BLUE, ORANGE), strict=True)
for shift, (name, runs), colour in looks:
    ax.bar(places + shift, np.mean(runs, axis=1), 0.25, color=colour, label=name)
    for place, values in zip(places + shift, runs, strict=True):
        ax.plot([place] * len(values), values, "k.", markersize=4)
ax.axhline(clean, color="k", linestyle=":", linewidth=1, label="SVM, clean labels")
ax.set_xticks(places, cases)
ax.set(ylabel="test error, %", title="A linear SVM on UMA's update vectors")
ax.legend(frameon=False)
plt.show()
