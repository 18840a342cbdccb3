"""
Several people labelled the rows
================================

Eight volunteers labelled the digits, three per image. Most are careful, one confuses look-alikes,
one answers at random. Their disagreements show who is who.
"""

# %%
# ``votes`` has one row per image and one column per person, with missing entries where someone was
# not asked.

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

careful = [noise.symmetric(10, rate) for rate in (0.1, 0.15, 0.2, 0.25, 0.3, 0.4)]
mixes_up = noise.pairwise(10, 0.8, pairs={1: 7, 7: 1, 3: 8, 8: 3, 4: 9, 9: 4})
anything = noise.symmetric(10, 0.9)
people = [*careful, mixes_up, anything]

rng = np.random.default_rng(0)
answers = [noise.corrupt_labels(truth, C, random_state=n) for n, C in enumerate(people)]
asked = np.argsort(rng.random((len(X), len(people))), axis=1) < 3
votes = np.where(asked, np.column_stack(answers).astype(float), np.nan)

# %%
# `~unconfused.confusion.from_annotators` estimates a confusion matrix for each of them, and the
# true classes, from the votes alone.

crowd = confusion.from_annotators(votes)
true_rates = [np.mean(answer != truth) for answer in answers]

fig, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.2), layout="constrained")
places = np.arange(len(people))
left.barh(places, crowd.annotator_noise_rates, color=BLUE, label="estimated from the votes")
left.plot(true_rates, places, "D", color=ORANGE, label="true")
left.set_yticks(places, [*"ABCDEF", "G (look-alikes)", "H (random)"])
left.invert_yaxis()
left.set(xlabel="share of wrong answers", title="Share of wrong answers by person")
left.legend(frameon=False, loc="upper right")
ConfusionEstimateDisplay(crowd.annotator_matrices[6], classes=range(10)).plot(ax=right)
right.set_title("Estimated matrix of G")
plt.show()

# %%
# A majority vote treats all people alike; the estimate weights them. The learner, given the votes
# as columns of ``y``, uses the images as well.


def majority(row):
    """Return the most frequent answer, the lowest on a tie."""
    return np.bincount(row[~np.isnan(row)].astype(int), minlength=10).argmax()


counted = np.apply_along_axis(majority, 1, votes)
print(f"majority correct:           {np.mean(counted == truth):.1%}")
print(f"weighted consensus correct: {np.mean(crowd.consensus == truth):.1%}")

l2 = 1e-3
plain = LogisticRegression(C=1 / (l2 * len(X)), max_iter=1000)
errors = {
    "majority vote": 1 - plain.fit(X, counted).score(X_test, truth_test),
    "weighted consensus": 1 - plain.fit(X, crowd.consensus).score(X_test, truth_test),
    "learner given the votes": 1
    - UnconfusedLogisticRegression(l2=l2).fit(X, votes).score(X_test, truth_test),
    "clean labels": 1 - plain.fit(X, truth).score(X_test, truth_test),
}
fig, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
bars = ax.barh(list(errors), [100 * e for e in errors.values()], color=[ORANGE, BLUE, BLUE, GREY])
ax.bar_label(bars, fmt="%.1f %%", padding=4)
ax.invert_yaxis()
ax.margins(x=0.15)
ax.set(xlabel="test error of a logistic regression, %", title="Trained on the answers of the crowd")
plt.show()
