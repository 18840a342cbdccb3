"""Estimate confusion matrices, and rank rows by how likely their label is wrong."""

from unconfused.confusion._audited import AuditEstimate
from unconfused.confusion.annotators import AnnotatorEstimate, from_annotators
from unconfused.confusion.audit import from_audit
from unconfused.confusion.cross_validated import from_cross_validation
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.confusion.noisy import from_noisy
from unconfused.confusion.probabilities import (
    from_probabilities,
    label_posterior,
    rank_from_probabilities,
)
from unconfused.confusion.ranking import LabelIssues, rank_label_errors
from unconfused.confusion.trusted import from_trusted
from unconfused.confusion.votes import Votes, votes_from_long, votes_from_wide

__all__ = [
    "AnnotatorEstimate",
    "AuditEstimate",
    "ConfusionEstimate",
    "LabelIssues",
    "Votes",
    "from_annotators",
    "from_audit",
    "from_cross_validation",
    "from_noisy",
    "from_probabilities",
    "from_trusted",
    "label_posterior",
    "rank_from_probabilities",
    "rank_label_errors",
    "votes_from_long",
    "votes_from_wide",
]
