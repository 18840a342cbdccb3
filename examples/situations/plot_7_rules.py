"""
Rules or models labelled the rows
=================================

Ten rules label comments on videos as spam or ham: "it has a link", "it says subscribe". Each labels
few comments and abstains on the others. A rule is an annotator with missing votes. So is a language
model that may refuse to answer; its confidence can be used as the weight of its vote.
"""

# %%
# The data are comments on YouTube (``youtube_spam``) if the data set is available, and generated
# comments otherwise.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from unconfused import confusion, datasets
from unconfused.plot import BLUE, GREY, ORANGE, STYLE

plt.rcParams.update(STYLE)

SPAM = ["subscribe", "channel", "check", "video", "free", "win", "money", "link", "click", "visit"]
HAM = ["song", "love", "music", "voice", "best", "ever", "remember", "listening", "years", "wow"]
RULES = dict.fromkeys(["subscribe", "check", "link", "click", "free"], "spam")
RULES |= dict.fromkeys(["song", "love", "music", "best", "video"], "ham")


def made_up(n_comments, rng):
    """Draw comments of five words, and let every rule speak where its word occurs."""
    truth = rng.choice(["ham", "spam"], n_comments)
    words = {"ham": (HAM, SPAM), "spam": (SPAM, HAM)}
    texts = [
        " ".join(rng.choice(words[label][int(typical)]) for typical in rng.random(5) < 0.25)
        for label in truth
    ]
    votes = [[says if word in text else None for word, says in RULES.items()] for text in texts]
    return np.array(texts), truth, np.array(votes, dtype=object), [f"{word!r}" for word in RULES]


try:
    parts = [datasets.fetch_youtube_spam(subset=part) for part in ("train", "test")]
    train, test = ((part.data, part.target, part.votes, part.annotators) for part in parts)
except FileNotFoundError:
    train, test = (
        made_up(n_comments, np.random.default_rng(n_comments)) for n_comments in (900, 400)
    )

texts, truth, votes, rules = train
spoken = np.array([any(row) for row in votes])
print(f"{len(texts)} comments; all rules abstain on {1 - spoken.mean():.0%} of them")

# %%
# Estimate how good the rules are from their agreement, without any truth. A
# `~unconfused.confusion.Votes` object has their names and, with ``weight=``, the weight of each
# vote. Each of these rules only ever gives one label, so that its silence is informative, too:
# `~unconfused.confusion.from_annotators` uses it.

answers = confusion.votes_from_wide(votes[spoken], annotators=rules)
crowd = confusion.from_annotators(answers)

given = crowd.annotator_counts
estimated = 1 - np.einsum("aqq->a", given) / given.sum(axis=(1, 2))
said = votes[spoken] != None  # noqa: E711 (elementwise)
wrong = said & (votes[spoken] != truth[spoken][:, np.newaxis])

fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
places = np.arange(len(rules))
ax.barh(places, estimated, color=BLUE, label="estimated from the votes")
ax.plot(wrong.sum(axis=0) / said.sum(axis=0), places, "D", color=ORANGE, label="true")
ax.set_yticks(
    places, [f"{name} ({s:.0%})" for name, s in zip(rules, said.mean(axis=0), strict=True)]
)
ax.invert_yaxis()
ax.set(xlabel="share of wrong answers", title="Rules, and the share of comments each labels")
ax.legend(frameon=False)
plt.show()

# %%
# A model trained on the consensus also predicts the comments on which all rules abstain.

vectorizer = TfidfVectorizer(min_df=2, sublinear_tf=True)
X, X_test = vectorizer.fit_transform(texts), vectorizer.transform(test[0])
X = X[spoken]

plain = LogisticRegression(C=10, max_iter=1000)
majority = answers.classes[answers.tally.argmax(axis=1)]
errors = {
    "majority of the rules": 1 - plain.fit(X, majority).score(X_test, test[1]),
    "weighted consensus": 1 - plain.fit(X, crowd.consensus).score(X_test, test[1]),
    "the truth": 1 - plain.fit(X, truth[spoken]).score(X_test, test[1]),
}
print(f"majority correct:           {np.mean(majority == truth[spoken]):.1%}")
print(f"weighted consensus correct: {np.mean(crowd.consensus == truth[spoken]):.1%}")

fig, ax = plt.subplots(figsize=(6.4, 2.2), layout="constrained")
bars = ax.barh(list(errors), [100 * e for e in errors.values()], color=[ORANGE, BLUE, GREY])
ax.bar_label(bars, fmt="%.1f %%", padding=4)
ax.invert_yaxis()
ax.margins(x=0.15)
ax.set(xlabel="test error of a logistic regression, %", title="Trained on the answers of the rules")
plt.show()
