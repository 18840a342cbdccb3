"""A loss for networks that learn from noisy labels: cross-entropy through confusion matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    import torch
except ImportError as error:
    raise ImportError(
        "unconfused.torch needs PyTorch; see https://pytorch.org for how to install it."
    ) from error

from unconfused._matrix_labels import check_confusion

__all__ = ["ConfusedCrossEntropy"]

SMALLEST = 1e-12
"""Smallest chance of a label: its logarithm must be finite."""


class ConfusedCrossEntropy(torch.nn.Module):
    """Cross-entropy of noisy labels, seen through a confusion matrix.

    The network scores the true classes; the loss is the negative log-likelihood of the labels that
    were observed, ``-log sum_q softmax(scores)_q C[q, label]`` (forward correction), computed by
    log-sum-exp. Probabilities of the trained network are those of the true classes.

    Parameters
    ----------
    confusion : array-like of shape (Q, S), or (A, Q, S) for several annotators
        Rows are true classes, columns observed labels. Labels are given as column numbers.
    learn : bool
        Learn the matrices together with the network, starting from the given ones. They are
        parameters of the loss: pass these to the optimizer as well. Entries that start at 0 stay at
        0. The right label should be the likeliest in every row of the given matrices, because
        nothing else shows which class is which.

    Examples
    --------
    >>> import torch
    >>> from unconfused import noise
    >>> from unconfused.torch import ConfusedCrossEntropy
    >>> loss = ConfusedCrossEntropy(noise.symmetric(3, 0.3))
    >>> scores = torch.tensor([[9.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> round(loss(scores, torch.tensor([0, 1])).item(), 3)
    0.728

    The truth counts where it is known, and votes take a matrix per annotator:

    >>> truth = torch.tensor([-1, 2])
    >>> round(loss(scores, torch.tensor([0, 1]), truth).item(), 3)
    0.728
    >>> crowd = ConfusedCrossEntropy([noise.symmetric(3, 0.1), noise.symmetric(3, 0.4)])
    >>> crowd.posterior(scores[1:], torch.tensor([[0, -1]])).numpy().round(2)
    array([[0.9 , 0.05, 0.05]], dtype=float32)
    """

    def __init__(self, confusion: Any, *, learn: bool = False) -> None:
        super().__init__()
        given = confusion if isinstance(confusion, list | tuple) else np.asarray(confusion)
        several = np.ndim(given) == 3
        shape = np.shape(given)[-2:]
        matrices = [check_confusion(one, *shape) for one in (given if several else [given])]
        log_chances = torch.tensor(np.log(np.maximum(np.stack(matrices), SMALLEST)))
        log_chances = log_chances.to(torch.get_default_dtype())
        self.several = several
        if learn:
            self.logits = torch.nn.Parameter(log_chances)
        else:
            self.register_buffer("logits", log_chances)

    @property
    def confusion(self) -> Any:
        """The matrix in use, (Q, S), or those of all annotators, (A, Q, S)."""
        matrices = torch.softmax(self.logits, dim=2)
        return matrices if self.several else matrices[0]

    def forward(self, scores: Any, labels: Any, truth: Any = None, weight: Any = None) -> Any:
        """Return the mean loss.

        Parameters
        ----------
        scores : (n, Q), of the true classes
        labels : (n,), column numbers, or (n, A) with one column per annotator; -1 where missing
        truth : (n,), true classes where known, -1 elsewhere; these rows count with their truth
        weight : (n,), how many rows each stands for
        """
        log_shares = torch.log_softmax(scores, dim=1)
        losses = -torch.logsumexp(log_shares + self._log_chances(labels), dim=1)
        if truth is not None:
            own = log_shares.gather(1, truth.clamp(min=0)[:, None])[:, 0]
            losses = torch.where(truth >= 0, -own, losses)
        return losses.mean() if weight is None else (weight * losses).sum() / weight.sum()

    def posterior(self, scores: Any, labels: Any) -> Any:
        """Return P(true class | row, labels), (n, Q)."""
        return torch.softmax(torch.log_softmax(scores, dim=1) + self._log_chances(labels), dim=1)

    def _log_chances(self, labels: Any) -> Any:
        """Return log P(labels | true class), (n, Q)."""
        votes = labels if self.several else labels[:, None]
        n_annotators, _, n_labels = self.logits.shape
        if votes.ndim != 2 or votes.shape[1] != n_annotators:
            raise ValueError(
                f"labels have shape {tuple(labels.shape)}, but there are {n_annotators} matrices: "
                "pass one column per annotator."
            )
        if votes.numel() and int(votes.max()) >= n_labels:
            raise ValueError(f"labels must be column numbers from 0 to {n_labels - 1}, or -1.")
        by_label = torch.log_softmax(self.logits, dim=2).transpose(1, 2)  # (A, S, Q)
        told = by_label[torch.arange(n_annotators, device=votes.device), votes.clamp(min=0)]
        return torch.where(votes[:, :, None] >= 0, told, 0.0).sum(dim=1)
