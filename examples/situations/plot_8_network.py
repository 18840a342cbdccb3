"""
A network that learns from noisy labels
=======================================

Networks with enough capacity learn the label noise as well. Here a small one is trained on digits
of which 40 % have the label of the next digit, once with cross-entropy and once with
`unconfused.torch.ConfusedCrossEntropy`, the loss through the confusion matrix. (Without PyTorch
the example only shows the matrix.)
"""

# %%
# The network is trained on noisy labels and tested on clean ones.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from unconfused import noise
from unconfused.plot import BLUE, GREY, ORANGE, STYLE, ConfusionEstimateDisplay

plt.rcParams.update(STYLE)

try:
    import torch

    from unconfused.torch import ConfusedCrossEntropy
except ImportError:
    torch = None

X, truth = load_digits(return_X_y=True)
X, X_test, truth, truth_test = train_test_split(X / 16, truth, random_state=0)
C = noise.pairwise(10, 0.4)
labels = noise.corrupt_labels(truth, C, random_state=0)

# %%
# The network scores the true classes, whatever the loss. The loss through C is a drop-in
# replacement: it takes the scores and the labels.


def train(loss, n_epochs=40):
    """Train a network with one hidden layer; return its error on clean rows after every epoch."""
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Linear(64, 100), torch.nn.ReLU(), torch.nn.Linear(100, 10)
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    rows = torch.tensor(X, dtype=torch.float32)
    seen, test = torch.tensor(labels), torch.tensor(X_test, dtype=torch.float32)
    errors = []
    for _ in range(n_epochs):
        for some in torch.randperm(len(rows)).split(64):
            optimizer.zero_grad()
            loss(network(rows[some]), seen[some]).backward()
            optimizer.step()
        with torch.no_grad():
            predicted = network(test).argmax(dim=1).numpy()
        errors.append(np.mean(predicted != truth_test))
    return network, errors


# %%
# With cross-entropy the network learns the noise. Through C, the labels are explained by the
# matrix, and the network learns the digits.

if torch is None:
    ConfusionEstimateDisplay(C, classes=np.arange(10)).plot()
else:
    _, plain = train(torch.nn.CrossEntropyLoss())
    network, through = train(loss := ConfusedCrossEntropy(C))
    print(f"error after training: cross-entropy {plain[-1]:.3f}, through C {through[-1]:.3f}")

    fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
    ax.plot(plain, color=ORANGE, label="cross-entropy")
    ax.plot(through, color=BLUE, label="through the matrix")
    ax.set(xlabel="epoch", ylabel="error on clean rows", ylim=(0, None))
    ax.legend()

# %%
# The posterior of the trained network shows which labels are wrong. (It was trained on these rows;
# for an audit, pass out-of-fold probabilities to `~unconfused.confusion.rank_from_probabilities`.)

if torch is not None:
    with torch.no_grad():
        scores = network(torch.tensor(X, dtype=torch.float32))
        posterior = loss.posterior(scores, torch.tensor(labels)).numpy()
    wrong = 1 - posterior[np.arange(len(labels)), labels]
    suspects = np.argsort(-wrong)[: np.count_nonzero(labels != truth)]
    share = np.mean(labels[suspects] != truth[suspects])
    print(f"precision at the number of wrong labels: {share:.0%}")

    fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
    bins = np.linspace(0, 1, 21)
    ax.hist(wrong[labels == truth], bins, color=GREY, alpha=0.7, label="right labels")
    ax.hist(wrong[labels != truth], bins, color=ORANGE, alpha=0.7, label="wrong labels")
    ax.set(xlabel="probability that the label is wrong", ylabel="rows")
    ax.legend()

plt.show()
