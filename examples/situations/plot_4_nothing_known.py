"""
Nothing is known but the labels
===============================

No matrix, no checked rows, one label per row. What can still be said? More than nothing, less
than one would like: the matrix can be guessed while rows mostly carry the right label.
"""

# %%
# We guess at growing noise, and compare with the matrix that made the labels.

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

rates = [0.0, 0.15, 0.3, 0.4, 0.47]
errors = {"believes the labels": [], "guessed C": [], "true C": []}
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
# For a long way the guess is as good as knowing. Towards one half, where the right label is hardly
# the most frequent one of its class any more, the true matrix still helps and the guess breaks
# down. Beyond it nothing in the data says which of two labels is the right one.

fig, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.6), layout="constrained")
left.plot(rates, rates, color=GREY, linestyle=":", label="exact")
left.plot(rates, found, color=BLUE, marker="o", linewidth=2, label="guessed")
left.set(xlabel="wrong labels", ylabel="wrong labels, as guessed", title="How wrong are they?")
left.legend(frameon=False)
for (name, values), colour, mark in zip(errors.items(), (ORANGE, BLUE, GREY), "sod", strict=True):
    right.plot(rates, 100 * np.array(values), color=colour, marker=mark, linewidth=2, label=name)
right.set(xlabel="wrong labels", ylabel="test error, %", title="And what does it cost?")
right.legend(frameon=False)
plt.show()

# %%
# The estimate says by itself what it rests on. The surest next step is to have some rows checked,
# best those that look wrong; the example "Find the wrong labels" does it.

print(guess.caveat)
